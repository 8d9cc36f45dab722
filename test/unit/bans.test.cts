import { execute, OwnWorld } from '../support/simulation/ownWorld.cts';
import { ban } from '../support/simulation/world/limiters.cts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

test.each([20, 120])(
	'a limit that refuses until nothing has come for %d s is left by and by',
	async (windowS) => {
		const { world, jsons } = await execute({
			count: 20,
			onError: 'continueRegularOutput',
			options: { timeout: 4 * 3_600 },
			runOf: () => ({ durationMs: 20 * SECOND }),
			service: {
				limiter: { kind: 'ban', limit: 8, windowMs: windowS * SECOND, retryAfter: 'none' },
			},
		});
		expect(jsons.map(({ status }) => status)).toEqual(Array(20).fill('succeeded'));
		expect(world.requests.length).toBeLessThan(250);
		expect(Math.max(...world.requests.map(({ sentAt }) => sentAt))).toBeLessThan(3 * HOUR);
	},
);

test.each<[limit: number, windowS: number, asked: string]>([
	[30, 60, '1'],
	[20, 60, '2'],
	[10, 60, '5'],
	[5, 10, '1'],
])(
	'a limit of %d in %d s that counts what it refuses, and asks for only %s s, is waited out in the end',
	async (limit, windowS, asked) => {
		const limiter = ban(limit, windowS * SECOND);
		const { world, jsons } = await execute({
			count: 60,
			onError: 'continueRegularOutput',
			runOf: () => ({ durationMs: 20 * SECOND }),
			hand: {
				respond: ({ sentAt }) =>
					limiter(sentAt) > 0 ? { statusCode: 429, headers: { 'retry-after': asked } } : undefined,
			},
		});
		expect(jsons.map(({ status }) => status)).toEqual(Array(60).fill('succeeded'));
		expect(world.requests.filter(({ status }) => status === 429).length).toBeLessThan(150);
	},
);

test.each<[retryAfter: 'none' | 'short', windowS: number, most: number]>([
	['none', 10, 150],
	['short', 10, 150],
	['none', 60, 250],
	['short', 60, 250],
])(
	'a limit that counts what it refuses (Retry-After: %s) for %d s is left where round trips take seconds',
	async (retryAfter, windowS, most) => {
		const { world, jsons } = await execute({
			count: 60,
			onError: 'continueRegularOutput',
			runOf: () => ({ durationMs: 20 * SECOND }),
			service: {
				tripMs: [5 * SECOND, 9 * SECOND],
				limiter: { kind: 'ban', limit: 30, windowMs: windowS * SECOND, retryAfter },
			},
		});
		expect(jsons.map(({ status }) => status)).toEqual(Array(60).fill('succeeded'));
		expect(world.requests.filter(({ status }) => status === 429).length).toBeLessThan(most);
	},
);

describe('a limit that refuses for most of an hour, and says nothing', () => {
	const limiter = {
		kind: 'fixed' as const,
		limit: 300,
		windowMs: 3_270 * SECOND,
		retryAfter: 'none' as const,
	};

	test.each([3_240, 3_300, 3_440])('ends no wait at its time limit of %d s', async (timeout) => {
		const { jsons } = await execute({
			count: 10,
			onError: 'continueRegularOutput',
			options: { pollInterval: 10, timeout },
			runOf: () => ({ durationMs: 2_400 * SECOND }),
			service: { limiter },
		});
		expect(jsons.map(({ status }) => status)).toEqual(Array(10).fill('succeeded'));
	});

	test.each([3_280, 3_400])('lets an execution begin after %d s', async (startsS) => {
		const world = new OwnWorld({
			count: 10,
			onError: 'continueRegularOutput',
			options: { pollInterval: 10, timeout: 7_200 },
			runOf: () => ({ durationMs: 6_000 * SECOND }),
			service: { limiter },
			beside: [{ startsAtMs: startsS * SECOND, agentMode: 'name', waits: false }],
		});
		await world.execute();
		expect(world.seen(1).jsons).toMatchObject([{ status: 'pending' }]);
	});
});
