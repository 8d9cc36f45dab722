import fc from 'fast-check';

import type { Answer } from '../../nodes/AgentInvocation/api/answer.ts';
import type { ServiceRequest } from '../../nodes/AgentInvocation/api/endpoints.ts';
import type { Service } from '../../nodes/AgentInvocation/api/service.ts';
import { systemClock as clock } from '../../nodes/AgentInvocation/waiting/clock.ts';
import { Gate } from '../../nodes/AgentInvocation/waiting/gate.ts';
import { createAndWait } from './createAndWait.cts';
import { settle } from './virtualTime.cts';

// A whole batch through gate, retries, schedule and learning against a simulated service that refuses
// more than it carries, on virtual time.
beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

interface Load {
	/** Of each item's run, in ms. */
	durations: number[];
	concurrency: number;
	/** Requests that the service carries in each window; Infinity for all. */
	limit: number;
	windowMs: number;
	/** What a refusal says: the rest of the window in whole seconds, or nothing. */
	saysRetryAfter: boolean;
	/** How long the service takes to answer, in ms. */
	latencyMs: number;
	/** Of the looks, from 0 to 1, how many meet a lost connection or a 503. */
	troubleShare: number;
	seed: number;
}

class SimulatedService {
	readonly created: Array<{ item: number; at: number }> = [];

	requests = 0;

	refused = 0;

	private window = -1;

	private inWindow = 0;

	private random: () => number;

	constructor(private readonly load: Load) {
		let state = load.seed;
		// A linear congruential generator, so that a failing case can be repeated.
		this.random = () => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
	}

	async send(request: ServiceRequest<unknown>): Promise<Answer> {
		this.requests++;
		const answer = this.answer(request);
		await clock.sleep(this.load.latencyMs);
		return answer;
	}

	private answer({ method, path, body }: ServiceRequest<unknown>): Answer {
		const { limit, windowMs, saysRetryAfter, troubleShare, durations } = this.load;
		const now = clock.now();
		const window = Math.floor(now / windowMs);
		if (window !== this.window) [this.window, this.inWindow] = [window, 0];
		if (++this.inWindow > limit) {
			this.refused++;
			const left = Math.ceil(((window + 1) * windowMs - now) / 1_000);
			return {
				kind: 'rateLimited',
				status: 429,
				...(saysRetryAfter && { retryAfter: String(left) }),
			};
		}
		if (method === 'POST') {
			const [binding] = body?.parameter_bindings as Array<{ value: string }>;
			this.created.push({ item: Number(binding?.value), at: now });
			return ok({ run_id: String(this.created.length - 1), status: 'pending' });
		}
		if (this.random() < troubleShare) {
			return { kind: this.random() < 0.5 ? 'connectionLost' : 'serverError' };
		}
		const runId = path.split('/').at(-1)!;
		const run = this.created[Number(runId)]!;
		const isOver = now - run.at >= durations[run.item]!;
		return ok({
			run_id: runId,
			status: isOver ? 'succeeded' : 'running',
			created_at: new Date(run.at).toISOString(),
			completed_at: isOver ? new Date(run.at + durations[run.item]!).toISOString() : null,
			...(isOver && { output: String(run.item) }),
		});
	}
}

function ok(body: unknown): Answer {
	return { kind: 'ok', status: 200, body };
}

/** Creates and waits for all, as the node does. */
async function work(load: Load) {
	const simulated = new SimulatedService(load);
	const service = {
		gate: new Gate(clock),
		baseUrl: '',
		send: async (request: ServiceRequest<unknown>) => await simulated.send(request),
	} as Service;
	const began = clock.now();
	const outputs = await settle(createAndWait(service, load.durations.length, load.concurrency));
	return { outputs, simulated, ms: clock.now() - began };
}

const anyLoad: fc.Arbitrary<Load> = fc.record({
	durations: fc.array(fc.integer({ min: 0, max: 120_000 }), { minLength: 1, maxLength: 30 }),
	concurrency: fc.integer({ min: 1, max: 30 }),
	limit: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constant(Infinity)),
	windowMs: fc.constantFrom(1_000, 10_000, 60_000),
	saysRetryAfter: fc.boolean(),
	latencyMs: fc.integer({ min: 0, max: 2_000 }),
	troubleShare: fc.double({ min: 0, max: 0.6, noNaN: true }),
	seed: fc.nat(),
});

test('whatever the durations, the limit and the trouble: never twice, never lost, order kept', async () => {
	await fc.assert(
		fc.asyncProperty(anyLoad, async (load) => {
			const { outputs, simulated } = await work(load);
			expect(outputs).toEqual(load.durations.map((_, index) => String(index)));
			const items = simulated.created.map(({ item }) => item);
			expect([...items].sort((a, b) => a - b)).toEqual([...load.durations.keys()]);
		}),
		{ numRuns: 60 },
	);
}, 120_000);

test.each([
	{ saysRetryAfter: true, windowMs: 1_000, limit: 20 },
	{ saysRetryAfter: false, windowMs: 1_000, limit: 20 },
	{ saysRetryAfter: true, windowMs: 10_000, limit: 100 },
])('under %j fewer than 5 %% of 1,000 items’ requests are refused', async (limits) => {
	const { simulated, outputs } = await work({
		durations: Array.from({ length: 1_000 }, (_, index) => 1_000 + ((index * 7_919) % 20_000)),
		concurrency: 100,
		latencyMs: 50,
		troubleShare: 0,
		seed: 1,
		...limits,
	});
	expect(outputs.filter((output) => output === false)).toEqual([]);
	expect(simulated.refused / simulated.requests).toBeLessThan(0.05);
});

test('creates go first, so that the last run of a batch starts before most looks are carried', async () => {
	const { simulated } = await work({
		durations: Array.from({ length: 100 }, () => 5_000),
		concurrency: 100,
		limit: 10,
		windowMs: 1_000,
		saysRetryAfter: true,
		latencyMs: 20,
		troubleShare: 0,
		seed: 1,
	});
	const lastCreate = Math.max(...simulated.created.map(({ at }) => at));
	const firstCreate = Math.min(...simulated.created.map(({ at }) => at));
	// 100 creates at 10 a second.
	expect(lastCreate - firstCreate).toBeLessThan(1.4 * 10_000);
});

describe('learned durations', () => {
	const load = (durations: number[]): Load => ({
		durations,
		concurrency: 1,
		limit: Infinity,
		windowMs: 1_000,
		saysRetryAfter: false,
		latencyMs: 0,
		troubleShare: 0,
		seed: 1,
	});

	test('save looks and lateness where runs take equally long', async () => {
		const alone = await work(load([47_000]));
		const late = alone.ms - 47_000;
		const many = await work(load(Array.from({ length: 11 }, () => 47_000)));
		expect(many.ms - 11 * 47_000).toBeLessThan(late + 10 * 100);
	});

	test('never make a look later than without them', async () => {
		await fc.assert(
			fc.asyncProperty(
				fc.array(fc.integer({ min: 100, max: 200_000 }), { minLength: 2, maxLength: 12 }),
				async (durations) => {
					const { ms } = await work(load(durations));
					const bound = durations.reduce((sum, d) => sum + d + Math.max(1_000, d * 0.2) + 1, 0);
					expect(ms).toBeLessThanOrEqual(bound);
				},
			),
		);
	});
});
