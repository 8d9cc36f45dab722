import { execute } from '../support/simulation/ownWorld.cts';

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
