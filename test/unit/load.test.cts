import fc from 'fast-check';

import { execute, OwnWorld, type Said } from '../support/simulation/ownWorld.cts';
import type { FaultSpec, LimiterSpec } from '../support/simulation/world/world.cts';

// The node as it ships, against a service that refuses more than it carries, on virtual time.
const SECOND = 1_000;

interface Load {
	/** Of each item's run, in ms. */
	durations: number[];
	concurrency?: number;
	limiter?: LimiterSpec;
	tripMs?: number;
	/** Of the polls, from 0 to 1, how many meet a lost connection or a 503. */
	faultShare?: number;
	seed?: number;
}

async function work({ durations, faultShare = 0, tripMs = 0, ...load }: Load) {
	const { concurrency = 1, limiter, seed = 1 } = load;
	const fault = { on: 'poll', share: faultShare / 2, isDone: true, status: 503 } as const;
	const faults: FaultSpec[] = [
		{ ...fault, kind: 'reset' },
		{ ...fault, kind: 'serverError' },
	];
	const seen = await execute({
		count: durations.length,
		runOf: (item) => ({ durationMs: durations[item]! }),
		options: { maxConcurrency: concurrency, timeout: 0 },
		service: { tripMs: [tripMs, tripMs], faults, ...(limiter && { limiter }) },
		seed,
	});
	return { ...seen, outputs: seen.jsons.map(({ output }) => output) };
}

const limited = (
	limit: number,
	windowMs = SECOND,
	retryAfter: LimiterSpec['retryAfter'] = 'seconds',
	kind: LimiterSpec['kind'] = 'fixed',
): LimiterSpec => ({ kind, limit, windowMs, retryAfter });

const refusedOf = ({ requests }: OwnWorld) =>
	requests.filter(({ status }) => status === 429).length;

const anyLoad: fc.Arbitrary<Load> = fc.record({
	durations: fc.array(fc.integer({ min: 0, max: 1_200_000 }), { minLength: 1, maxLength: 30 }),
	concurrency: fc.integer({ min: 1, max: 30 }),
	limiter: fc
		.tuple(
			fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constant(1_000_000)),
			fc.constantFrom(SECOND, 10 * SECOND, 60 * SECOND),
			fc.constantFrom('seconds', 'none'),
		)
		.map((limits) => limited(...limits)),
	tripMs: fc.integer({ min: 0, max: 2_000 }),
	faultShare: fc.double({ min: 0, max: 0.6, noNaN: true }),
	seed: fc.nat(),
});

test('whatever the durations, the limit and the faults: never twice, never lost, order kept', async () => {
	let parked = 0;
	await fc.assert(
		fc.asyncProperty(anyLoad, async (load) => {
			const { outputs, world, parks } = await work(load);
			expect(outputs).toEqual(load.durations.map((_, index) => String(index)));
			expect([...world.started].sort((a, b) => a - b)).toEqual([...load.durations.keys()]);
			parked += parks.length;
		}),
		{ numRuns: 30 },
	);
	// Some of them were stored in between.
	expect(parked).toBeGreaterThan(10);
}, 240_000);

test.each([limited(20), limited(20, SECOND, 'none'), limited(100, 10 * SECOND)])(
	'under %j fewer than 5 %% of 1,000 items’ requests are refused',
	async (limiter) => {
		const durations = Array.from({ length: 1_000 }, (_, at) => 1_000 + ((at * 7_919) % 20_000));
		const { world, outputs } = await work({ durations, concurrency: 100, tripMs: 50, limiter });
		expect(outputs).toEqual(durations.map((_, index) => String(index)));
		expect(refusedOf(world) / world.requests.length).toBeLessThan(0.05);
	},
);

const alike = (count: number, ms: number) => new Array<number>(count).fill(ms);

test('creates have two of three turns, so that the last run of a batch starts before most polls are carried', async () => {
	const load = { concurrency: 100, limiter: limited(10), tripMs: 20 };
	const { world } = await work({ durations: alike(100, 5_000), ...load });
	const times = world.runs.map(({ createdAt }) => createdAt);
	// 100 creates at 10 a second, and half as many polls.
	expect(Math.max(...times) - Math.min(...times)).toBeLessThan(1.2 * 15_000);
});

describe('many items at a slow service', () => {
	const slow = (perSecond: number, said: Said) =>
		execute({
			runOf: () => ({ durationMs: 10_000 }),
			onError: 'continueRegularOutput',
			service: { tripMs: [50, 50], limiter: limited(perSecond, SECOND, 'seconds', 'sliding') },
			...said,
		});

	test('runs are seen while others are still created, before their time limit', async () => {
		const { jsons, world } = await slow(10, { count: 1_000, options: { timeout: 60 } });
		expect(world.runs.length).toBeGreaterThan(990);
		// A create, or the poll at a time limit, may meet the rate limit.
		expect(jsons.filter(({ status }) => status !== 'succeeded').length).toBeLessThanOrEqual(10);
	});

	test('no item fails because others are queued before it', async () => {
		const { jsons, world } = await slow(2, { count: 800, waits: false });
		expect(world.runs).toHaveLength(800);
		expect(jsons.filter(({ error }) => error)).toEqual([]);
	});

	test('runs that fail show that it does not go well, output or not', async () => {
		const { world } = await slow(1_000, {
			count: 60,
			runOf: () => ({ durationMs: 1_000, end: 'failed', shown: {} }),
			options: { onUnsuccessfulRun: 'output' },
		});
		const first = world.runs[0]!.createdAt;
		// Ten at a time, of which the first have been seen by then.
		expect(world.runs.filter(({ createdAt }) => createdAt < first + 2_000)).toHaveLength(20);
		expect(world.runs).toHaveLength(60);
	});
});

test('100 runs of 2 s side by side take hardly longer than one, on the virtual clock', async () => {
	const one = await work({ durations: [2_000], concurrency: 100, tripMs: 20 });
	const many = await work({ durations: alike(100, 2_000), concurrency: 100, tripMs: 20 });
	expect(many.world.runs).toHaveLength(100);
	expect(many.ms).toBeLessThan(2.5 * one.ms);
});

test('200 items against 20 requests a second take at most 1.3 times the least time', async () => {
	const load = { concurrency: 50, limiter: limited(20), tripMs: 20 };
	const { world, ms } = await work({ durations: alike(200, 500), ...load });
	const carried = world.requests.length - refusedOf(world);
	expect(ms).toBeLessThan(1.3 * (carried / 20) * 1_000);
});

describe('learned durations', () => {
	test('save polls and lateness where runs take equally long', async () => {
		const alone = await work({ durations: [47_000] });
		const late = alone.ms - 47_000;
		const many = await work({ durations: alike(11, 47_000) });
		expect(many.ms - 11 * 47_000).toBeLessThan(late + 10 * 0.03 * 47_000);
		expect(many.world.requests.length).toBeLessThan(3 * alone.world.requests.length);
	});

	test('never make a poll later than 20 %, or for runs shorter than any before, 65 s', async () => {
		await fc.assert(
			fc.asyncProperty(
				fc.array(fc.integer({ min: 100, max: 200_000 }), { minLength: 2, maxLength: 12 }),
				async (durations) => {
					const { ms } = await work({ durations });
					const bound = durations.reduce((sum, duration, index) => {
						const isShortest = index > 0 && duration < Math.min(...durations.slice(0, index));
						return sum + duration + Math.max(isShortest ? 65_000 : 1_000, duration * 0.2) + 1;
					}, 0);
					expect(ms).toBeLessThanOrEqual(bound);
				},
			),
			{ numRuns: 50 },
		);
	});

	/**
	 * Executes the node once for each duration, one execution after the other; gives the last one.
	 *
	 * @param other the number of the execution that runs another agent
	 */
	async function executions(durations: number[], apartMs = 1_000_000, other = -1) {
		const [first, ...beside] = durations.map((durationMs, number) => ({
			startsAtMs: number * apartMs,
			runOf: () => ({ durationMs }),
			options: { timeout: 0 },
		}));
		const service = { tripMs: [50, 50] as [number, number], agents: ['Reporter', 'Other'] };
		const world = new OwnWorld({ ...first!, beside, service });
		for (const item of world.world.executions[other]?.items ?? []) item.agent = 1;
		await world.execute();
		const last = durations.length - 1;
		const requests = world.requestsOf(last);
		const firstPoll = requests.find(({ kind }) => kind === 'poll')!;
		const firstPollMs = firstPoll.sentAt - world.runsOf(last)[0]!.createdAt;
		return { ...world.seen(last), requests, firstPollMs };
	}

	test('serve another execution: the sixth run of a length takes few requests and is seen soon', async () => {
		const { requests, ms } = await executions([60_000, 61_000, 58_000, 62_000, 59_000, 60_500]);
		expect(requests.length).toBeLessThanOrEqual(4);
		expect(ms).toBeLessThan(60_500 * 1.03);
	});

	test('are known the day after, whatever was executed since', async () => {
		const alone = await executions([60_000]);
		const known = await executions(alike(4, 60_000), 24 * 3_600_000, 2);
		expect(alone.requests.length).toBeGreaterThan(15);
		expect(known.requests.length).toBeLessThanOrEqual(4);
	});

	test('let an agent that takes minutes park at once', async () => {
		const { parks, firstPollMs } = await executions([600_000, 600_000]);
		expect(parks[0]!.until - parks[0]!.at).toBeGreaterThanOrEqual(64_000);
		expect(firstPollMs).toBeGreaterThanOrEqual(65_000 - 100);
	});
});
