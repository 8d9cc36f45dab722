import fc from 'fast-check';
import type { IDataObject } from 'n8n-workflow';

import { slidingWindow } from '../support/simulation/world/limiters.cts';
import { durationsOf } from '../../nodes/AgentInvocation/waiting/durations.ts';
import { SimulatedHost } from '../support/simulation/simulatedHost.cts';
import {
	lostConnection,
	SimulatedService,
	type Behaviour,
} from '../support/simulation/simulatedService.cts';

// The node as it ships, against a service that refuses more than it carries, on virtual time.
beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

interface Load extends Omit<Behaviour, 'runOf' | 'trouble'> {
	/** Of each item's run, in ms. */
	durations: number[];
	concurrency: number;
	/** Of the polls, from 0 to 1, how many meet a lost connection or a 503. */
	troubleShare?: number;
	seed?: number;
}

async function work({ durations, concurrency, troubleShare = 0, seed = 1, ...behaviour }: Load) {
	let state = seed;
	// A linear congruential generator, so that a failing case can be repeated.
	const random = () => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
	const service = new SimulatedService({
		...behaviour,
		runOf: (item) => ({ durationMs: durations[item]! }),
		trouble({ isCreate }) {
			if (isCreate || random() >= troubleShare) return undefined;
			return random() < 0.5 ? lostConnection() : { statusCode: 503 };
		},
	});
	const options = { maxConcurrency: concurrency, timeout: 0 };
	const host = new SimulatedHost({ service, count: durations.length, options });
	const began = performance.now();
	const items = await host.execute();
	const outputs = items.map(({ json }) => json.output);
	return { host, outputs, service, ms: performance.now() - began };
}

const anyLoad: fc.Arbitrary<Load> = fc.record({
	durations: fc.array(fc.integer({ min: 0, max: 1_200_000 }), { minLength: 1, maxLength: 30 }),
	concurrency: fc.integer({ min: 1, max: 30 }),
	limit: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constant(Infinity)),
	windowMs: fc.constantFrom(1_000, 10_000, 60_000),
	saysRetryAfter: fc.boolean(),
	latencyMs: fc.integer({ min: 0, max: 2_000 }),
	troubleShare: fc.double({ min: 0, max: 0.6, noNaN: true }),
	seed: fc.nat(),
});

test('whatever the durations, the limit and the trouble: never twice, never lost, order kept', async () => {
	let rests = 0;
	await fc.assert(
		fc.asyncProperty(anyLoad, async (load) => {
			const { outputs, service, host } = await work(load);
			expect(outputs).toEqual(load.durations.map((_, index) => String(index)));
			const items = service.created.map(({ item }) => item);
			expect([...items].sort((a, b) => a - b)).toEqual([...load.durations.keys()]);
			rests += host.rests.length;
		}),
		{ numRuns: 60 },
	);
	// Some of them were stored in between.
	expect(rests).toBeGreaterThan(10);
}, 240_000);

test.each([
	{ saysRetryAfter: true, windowMs: 1_000, limit: 20 },
	{ saysRetryAfter: false, windowMs: 1_000, limit: 20 },
	{ saysRetryAfter: true, windowMs: 10_000, limit: 100 },
])('under %j fewer than 5 %% of 1,000 items’ requests are refused', async (limits) => {
	const durations = Array.from({ length: 1_000 }, (_, index) => 1_000 + ((index * 7_919) % 20_000));
	const { service, outputs } = await work({
		durations,
		concurrency: 100,
		latencyMs: 50,
		...limits,
	});
	expect(outputs).toEqual(durations.map((_, index) => String(index)));
	const refused = service.requests.filter((request) => request.refused).length;
	expect(refused / service.requests.length).toBeLessThan(0.05);
});

test('creates have two of three turns, so that the last run of a batch starts before most polls are carried', async () => {
	const { service } = await work({
		durations: Array.from({ length: 100 }, () => 5_000),
		concurrency: 100,
		limit: 10,
		saysRetryAfter: true,
		latencyMs: 20,
	});
	const times = service.created.map(({ at }) => at);
	// 100 creates at 10 a second, and half as many polls.
	expect(Math.max(...times) - Math.min(...times)).toBeLessThan(1.2 * 15_000);
});

describe('many items at a slow service', () => {
	const slow = { limiter: slidingWindow(10), saysRetryAfter: true, latencyMs: 50 };
	const execute = async (count: number, behaviour: Partial<Behaviour>, more: IDataObject) => {
		const options = { ...more };
		const service = new SimulatedService({
			runOf: () => ({ durationMs: 10_000 }),
			...slow,
			...behaviour,
		});
		const node = { onError: 'continueRegularOutput' } as const;
		const host = new SimulatedHost({ service, count, options, node, parameters: more });
		return { service, items: await host.execute() };
	};

	test('runs are seen while others are still created, before their time limit', async () => {
		const { items, service } = await execute(1_000, {}, { timeout: 60 });
		expect(service.created.length).toBeGreaterThan(990);
		const failed = items.filter(({ json }) => json.status !== 'succeeded');
		// A create, or the poll at a time limit, may meet the rate limit.
		expect(failed.length).toBeLessThanOrEqual(10);
	});

	test('no item fails because others are queued before it', async () => {
		const { items, service } = await execute(
			800,
			{ limiter: slidingWindow(2) },
			{ waitForCompletion: false },
		);
		expect(service.created).toHaveLength(800);
		expect(items.map(({ json }) => json.error)).toEqual(new Array(800).fill(undefined));
	});

	test('runs that fail show that it does not go well, output or not', async () => {
		const { service } = await execute(
			60,
			{ limiter: slidingWindow(1_000), runOf: () => ({ durationMs: 1_000, status: 'failed' }) },
			{ onUnsuccessfulRun: 'output' },
		);
		const first = service.created[0]!.at;
		// Ten at a time, of which the first have been seen by then.
		expect(service.created.filter(({ at }) => at < first + 2_000)).toHaveLength(20);
		expect(service.created).toHaveLength(60);
	});
});

test('100 runs of 2 s side by side take hardly longer than one, on the virtual clock', async () => {
	const one = await work({ durations: [2_000], concurrency: 100, latencyMs: 20 });
	const durations = Array.from({ length: 100 }, () => 2_000);
	const many = await work({ durations, concurrency: 100, latencyMs: 20 });
	expect(many.service.created).toHaveLength(100);
	expect(many.ms).toBeLessThan(2.5 * one.ms);
});

test('200 items against 20 requests a second take at most 1.3 times the least time', async () => {
	const { service, ms } = await work({
		durations: Array.from({ length: 200 }, () => 500),
		concurrency: 50,
		limit: 20,
		saysRetryAfter: true,
		latencyMs: 20,
	});
	const carried = service.requests.filter(({ refused }) => !refused).length;
	expect(ms).toBeLessThan(1.3 * (carried / 20) * 1_000);
});

describe('learned durations', () => {
	const load = (durations: number[]): Load => ({ durations, concurrency: 1 });

	test('save polls and lateness where runs take equally long', async () => {
		const alone = await work(load([47_000]));
		const late = alone.ms - 47_000;
		const many = await work(load(Array.from({ length: 11 }, () => 47_000)));
		expect(many.ms - 11 * 47_000).toBeLessThan(late + 10 * 0.03 * 47_000);
		expect(many.service.requests.length).toBeLessThan(3 * alone.service.requests.length);
	});

	test('never make a poll later than 20 %, or for runs shorter than any before, 65 s', async () => {
		await fc.assert(
			fc.asyncProperty(
				fc.array(fc.integer({ min: 100, max: 200_000 }), { minLength: 2, maxLength: 12 }),
				async (durations) => {
					const { ms } = await work(load(durations));
					const bound = durations.reduce((sum, duration, index) => {
						const isShortest = index > 0 && duration < Math.min(...durations.slice(0, index));
						return sum + duration + Math.max(isShortest ? 65_000 : 1_000, duration * 0.2) + 1;
					}, 0);
					expect(ms).toBeLessThanOrEqual(bound);
				},
			),
		);
	});

	/** Runs the node once for each duration, each in an execution of its own; gives the last one. */
	async function executions(durations: number[], betweenMs = 0) {
		const service = (durationMs: number) =>
			new SimulatedService({ runOf: () => ({ durationMs }), latencyMs: 50 });
		const first = new SimulatedHost({ service: service(0), count: 1 });
		let last = { host: first, service: service(0), ms: 0 };
		for (const durationMs of durations) {
			const own = service(durationMs);
			const host = new SimulatedHost({ service: own, count: 1, options: { timeout: 0 } });
			host.credential = first.credential;
			await jest.advanceTimersByTimeAsync(betweenMs);
			durationsOf('https://other.example.com/api/v1', 1);
			const began = performance.now();
			await host.execute();
			last = { host, service: own, ms: performance.now() - began };
		}
		return last;
	}

	test('serve another execution: the sixth run of a length takes few requests and is seen soon', async () => {
		const { service, ms } = await executions([60_000, 61_000, 58_000, 62_000, 59_000, 60_500]);
		expect(service.requests.length).toBeLessThanOrEqual(4);
		expect(ms).toBeLessThan(60_500 * 1.03);
	});

	test('are known the day after, whatever was executed since', async () => {
		const alone = await executions([60_000]);
		const { service } = await executions([60_000, 60_000, 60_000], 24 * 3_600_000);
		expect(alone.service.requests.length).toBeGreaterThan(15);
		expect(service.requests.length).toBeLessThanOrEqual(4);
	});

	test('let an agent that takes minutes park at once', async () => {
		const { host, service } = await executions([600_000, 600_000]);
		const [first] = host.rests;
		expect(first?.forMs).toBeGreaterThanOrEqual(64_000);
		expect(service.polledAt[0]).toBeGreaterThanOrEqual(65_000);
	});
});
