import {
	execute,
	OwnWorld,
	type Said,
	type SaidExecution,
} from '../support/simulation/ownWorld.cts';
import type { Hand } from '../support/simulation/world/hand.cts';
import { itemNumberOf } from '../support/simulation/world/history.cts';

// A service that carries polls, but refuses creates: as many runs as the key may have are used up.
const SECOND = 1_000;
const DAY_MS = 86_400_000;

/** Refuses the creates of an execution's items from this one on, asking to back off for so many seconds. */
const refusing = (
	first: number,
	retryAfter: string | undefined,
	{ kinds = ['create'], of = 0 }: { kinds?: string[]; of?: number } = {},
): Hand => ({
	respond: ({ kind, tag, execution }) =>
		kinds.includes(kind) && execution.index === of && itemNumberOf(tag!) >= first
			? { statusCode: 429, ...(retryAfter && { headers: { 'retry-after': retryAfter } }) }
			: undefined,
});

/** How long after the ends of runs their results were noticed, in ms, ascending. */
const latenessOf = (world: OwnWorld): number[] =>
	world.runs
		.map(({ id, endsAt }) => {
			const seen = world.requests.find(({ runId, said }) => runId === id && said === 'finished');
			return seen!.answeredAt - endsAt;
		})
		.sort((one, other) => one - other);

const trips: Said = { service: { tripMs: [100, 300] }, onError: 'continueRegularOutput' };

test.each([undefined, '20', '60', '120'])(
	'runs are polled and their results noticed meanwhile, also for others with the key (Retry-After: %s)',
	async (retryAfter) => {
		const world = new OwnWorld({
			...trips,
			count: 3,
			runOf: () => ({ durationMs: 60 * SECOND }),
			hand: refusing(1, retryAfter),
			beside: [
				{ startsAtMs: 30 * SECOND, operation: 'get', runOf: () => ({ durationMs: 40 * SECOND }) },
			],
		});
		const { jsons } = await world.execute();
		expect(jsons[0]).toMatchObject({ status: 'succeeded' });
		const pauseMs = Number(retryAfter ?? 10) * SECOND;
		const seen = world.requests.find(
			({ said, execution }) => said === 'finished' && execution.index === 0,
		);
		expect(seen!.answeredAt).toBeLessThan(60 * SECOND + 4 * pauseMs);
		expect(world.seen(1).jsons).toMatchObject([{ status: 'succeeded' }]);
		expect(world.seen(1).ms).toBeLessThan(40 * SECOND + 2 * pauseMs);
	},
);

test('so are those beside dry runs, which the service carries', async () => {
	const runOf = (item: number) => ({ durationMs: (100 + 10 * item) * SECOND });
	const long: Said = { ...trips, options: { timeout: 7_200 } };
	const world = new OwnWorld({
		...long,
		count: 20,
		service: { tripMs: [20, 80], quota: { runs: 10 } },
		runOf,
		beside: [
			{ ...long, count: 30, startsAtMs: 10, runOf: () => runOf(0) },
			{ operation: 'dryRun', count: 60, startsAtMs: 10 },
		],
	});
	await world.execute();
	const lateness = latenessOf(world);
	expect(lateness[lateness.length >> 1]).toBeLessThan(10 * SECOND);
	expect(lateness.at(-1)).toBeLessThan(100 * SECOND);
});

test('so is the run of a wait that is stored from the start', async () => {
	const world = new OwnWorld({
		...trips,
		count: 3,
		options: { timeout: 3_000 },
		runOf: () => ({ durationMs: 60 * SECOND }),
		hand: refusing(1, '100'),
		beside: [
			{
				operation: 'get',
				options: { whereToWait: 'stored' },
				runOf: () => ({ durationMs: 90 * SECOND }),
			},
		],
	});
	await world.execute();
	expect(world.seen(1).jsons).toMatchObject([{ status: 'succeeded' }]);
	// After the first pause, and not after the second one.
	expect(world.seen(1).ms).toBeLessThan(120 * SECOND);
});

test.each([undefined, '60'])(
	'at the time limit, too, a poll has its answer (Retry-After: %s)',
	async (retryAfter) => {
		const { jsons } = await execute({
			...trips,
			count: 3,
			options: { timeout: 600 },
			runOf: () => ({ durationMs: 590 * SECOND }),
			hand: refusing(1, retryAfter),
		});
		expect(jsons[0]).toMatchObject({ status: 'succeeded' });
	},
);

// With one poll for each pause, lateness would be ten to thirty times as long.
test.each([1, 20])(
	'a budget that is used up leaves the other runs their polls (%d items beyond it)',
	async (beyond) => {
		const world = new OwnWorld({
			...trips,
			count: 50 + beyond,
			runOf: (item) => ({ durationMs: (60 + item) * SECOND }),
			hand: refusing(50, '60'),
		});
		const { jsons } = await world.execute();
		expect(jsons.filter(({ status }) => status === 'succeeded')).toHaveLength(50);
		expect(latenessOf(world).at(-1)).toBeLessThan(120 * SECOND);
	},
);

test.each<[string[], SaidExecution]>([
	[['create'], {}],
	[['dryRun'], { options: { checkFirst: true } }],
])('so does that of another execution, whose %j are refused (%j)', async (kinds, other) => {
	const world = new OwnWorld({
		...trips,
		count: 50,
		runOf: (item) => ({ durationMs: (60 + item) * SECOND }),
		hand: refusing(0, '60', { kinds, of: 1 }),
		beside: [{ startsAtMs: 30 * SECOND, count: 20, onError: 'continueRegularOutput', ...other }],
	});
	const { jsons } = await world.execute();
	expect(jsons.map(({ status }) => status)).toEqual(Array(50).fill('succeeded'));
	expect(latenessOf(world).at(-1)).toBeLessThan(180 * SECOND);
});

test('one run at a time: each item has its result', async () => {
	const { jsons } = await execute({
		count: 4,
		service: { tripMs: [100, 300], quota: { runs: 1 } },
		onError: 'continueRegularOutput',
		options: { timeout: 600 },
		runOf: () => ({ durationMs: 595 * SECOND }),
	});
	expect(jsons.map(({ status }) => status)).toEqual(Array(4).fill('succeeded'));
});

test.each(['60', '300'])(
	'a create is given up after a day (Retry-After: %s)',
	async (retryAfter) => {
		const { ms, world } = await execute({
			...trips,
			options: { timeout: 0 },
			hand: refusing(0, retryAfter),
		});
		expect(ms).toBeGreaterThanOrEqual(DAY_MS);
		expect(ms).toBeLessThan(DAY_MS + 600 * SECOND);
		expect(world.runs).toEqual([]);
	},
);

test('long waits are stored, also where each answer asks to back off for a second', async () => {
	const { parks } = await execute({
		count: 10,
		service: { tripMs: [100, 900], odd: { share: 1, retryAfter: '1' } },
		options: { timeout: 0 },
		runOf: (item) => ({ durationMs: (3_600 + item * 60) * SECOND }),
	});
	expect(parks[0]!.at).toBeLessThan(400 * SECOND);
});

test('with few runs at a time, it takes some pauses to tell a limit of runs from one of requests', async () => {
	const { jsons, world } = await execute({
		...trips,
		count: 10,
		service: { tripMs: [100, 300], quota: { runs: 3, retryAfter: '60' } },
		runOf: () => ({ durationMs: 60 * SECOND }),
	});
	expect(jsons.map(({ status }) => status)).toEqual(Array(10).fill('succeeded'));
	expect(latenessOf(world).at(-1)).toBeLessThan(300 * SECOND);
	const refused = world.requests.filter(({ status }) => status === 429).length;
	expect(refused).toBeLessThan(20 + 0.3 * 10);
});

test.each([
	[30, 10, 60, '20'],
	[300, 10, 60, '20'],
	[300, 10, 60, '60'],
	[300, 10, 60, '120'],
	[100, 20, 300, '60'],
])(
	'%d items, %d runs of %d s at a time (Retry-After: %s): results are noticed, and little is refused',
	async (count, runs, durationS, retryAfter) => {
		const { jsons, world } = await execute({
			...trips,
			count,
			service: { tripMs: [100, 300], quota: { runs, retryAfter } },
			runOf: (item) => ({ durationMs: durationS * (1 + (item % 7) / 10) * SECOND }),
		});
		expect(jsons.map(({ status }) => status)).toEqual(Array(count).fill('succeeded'));
		const lateness = latenessOf(world);
		// With one poll for each pause, the median would be ten to thirty times as long.
		expect(lateness[count / 2]).toBeLessThan(Number(retryAfter) * SECOND);
		expect(lateness.at(-1)).toBeLessThan((120 + 3 * Number(retryAfter)) * SECOND);
		const refused = world.requests.filter(({ status }) => status === 429).length;
		expect(refused).toBeLessThan(20 + 0.3 * count);
	},
);

test.each([
	[300, 10, 60],
	[300, 3, 60],
	[100, 20, 300],
])(
	'%d items, %d runs of %d s at a time, without Retry-After: results are noticed',
	async (...of) => {
		const [count, runs, durationS] = of;
		const { jsons, world } = await execute({
			...trips,
			count,
			service: { tripMs: [100, 300], quota: { runs } },
			runOf: (item) => ({ durationMs: durationS * (1 + (item % 7) / 10) * SECOND }),
		});
		expect(jsons.map(({ status }) => status)).toEqual(Array(count).fill('succeeded'));
		const lateness = latenessOf(world);
		// Where creates and polls share a pace, the median is seven to fifty times as long.
		expect(lateness[count / 2]).toBeLessThan(20 * SECOND);
		expect(lateness.at(-1)).toBeLessThan(120 * SECOND);
	},
);

describe('a create whose answer drips for ever keeps no other back', () => {
	const drips = (until: number) => ({
		kind: 'drips' as const,
		on: 'create' as const,
		untilMs: until,
		share: 1,
		isDone: false,
		status: 0,
	});
	/** Until then, no more runs may be started. */
	const refusingUntil = (fromS: number, untilS: number, first: number): Hand => ({
		respond: ({ kind, tag, sentAt }) =>
			kind === 'create' &&
			itemNumberOf(tag!) >= first &&
			sentAt > fromS * SECOND &&
			sentAt < untilS * SECOND
				? { statusCode: 429, headers: { 'retry-after': '20' } }
				: undefined,
	});
	/** Something that is polled all the while. */
	const polled: SaidExecution = {
		operation: 'get',
		options: { timeout: 7_200, pollInterval: 5 },
		runOf: () => ({ durationMs: 7_000 * SECOND }),
	};

	test('while creates alone are refused', async () => {
		const world = new OwnWorld({
			...trips,
			service: { ...trips.service, faults: [{ ...drips(204 * SECOND), fromMs: 200 * SECOND }] },
			count: 6,
			options: { timeout: 3_000 },
			runOf: () => ({ durationMs: 60 * SECOND }),
			hand: refusingUntil(0, 200, 1),
			beside: [polled],
		});
		const { jsons, ms } = await world.execute();
		expect(jsons.filter(({ status }) => status === 'succeeded').length).toBeGreaterThan(3);
		expect(ms).toBeLessThan(1_000 * SECOND);
	});

	test('nor long before', async () => {
		const world = new OwnWorld({
			...trips,
			service: { ...trips.service, faults: [drips(SECOND)] },
			options: { timeout: 600 },
			hand: refusingUntil(1_000, 1_200, 0),
			beside: [
				polled,
				{
					startsAtMs: 990 * SECOND,
					count: 3,
					onError: 'continueRegularOutput',
					options: { timeout: 3_000, maxConcurrency: 1 },
					runOf: () => ({ durationMs: 15 * SECOND }),
				},
			],
		});
		await world.execute();
		expect(world.seen(2).jsons.map(({ status }) => status)).toEqual(Array(3).fill('succeeded'));
	});
});

test('creates that are refused for their agent alone hold others back for a minute or two, not for hours', async () => {
	const world = new OwnWorld({
		...trips,
		count: 300,
		runOf: () => ({ durationMs: 20 * SECOND }),
		hand: refusing(0, undefined, { of: 1 }),
		beside: [{ count: 5, onError: 'continueRegularOutput', options: { timeout: 3_600 } }],
	});
	const { jsons } = await world.execute();
	expect(jsons.filter(({ status }) => status === 'succeeded')).toHaveLength(300);
	expect(Math.max(...world.requestsOf(0).map(({ answeredAt }) => answeredAt))).toBeLessThan(
		200 * SECOND,
	);
});
