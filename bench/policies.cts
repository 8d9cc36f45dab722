import { install } from '@sinonjs/fake-timers';

import type { Answer } from '../nodes/AgentInvocation/service/answer.ts';
import type { ServiceRequest } from '../nodes/AgentInvocation/service/endpoints.ts';
import type { Service } from '../nodes/AgentInvocation/service/service.ts';
import { systemClock as clock } from '../nodes/AgentInvocation/clock.ts';
import { Gate } from '../nodes/AgentInvocation/service/rateLimiter.ts';
import { createAndWait } from '../test/unit/createAndWait.cts';

/** How long a request takes here, in ms. */
export const LATENCY_MS = 50;
/** The Wait node's delay in the loop of n8n's own nodes, in ms. */
export const LOOP_WAIT_MS = 5_000;

/** A service whose runs take as long as they are told. */
class Simulation {
	requests = 0;

	refused = 0;

	private second = -1;

	private inSecond = 0;

	/** For each item, how long after its run's end it was seen, in ms. */
	readonly lateMs: number[] = [];

	private readonly createdAt: number[] = [];

	/** @param limit requests that the service carries each second; only `asService` keeps to it */
	constructor(
		private readonly durations: number[],
		private readonly limit: number,
	) {}

	get count(): number {
		return this.durations.length;
	}

	async create(item: number): Promise<void> {
		this.requests++;
		this.createdAt[item] = clock.now();
		await clock.sleep(LATENCY_MS);
	}

	/** Whether the item's run has finished. */
	async look(item: number): Promise<boolean> {
		this.requests++;
		const age = clock.now() - this.createdAt[item]!;
		const isOver = age >= this.durations[item]!;
		await clock.sleep(LATENCY_MS);
		if (isOver) this.lateMs[item] = age + LATENCY_MS - this.durations[item]!;
		return isOver;
	}

	private isRefused(): boolean {
		const second = Math.floor(clock.now() / 1_000);
		if (second !== this.second) [this.second, this.inSecond] = [second, 0];
		const isRefused = ++this.inSecond > this.limit;
		if (isRefused) this.refused++;
		return isRefused;
	}

	/** The same as the node sees it. */
	asService(): Service {
		const send = async ({ method, path, body }: ServiceRequest<unknown>): Promise<Answer> => {
			if (this.isRefused()) return { kind: 'rateLimited', status: 429, retryAfter: '1' };
			if (method === 'POST') {
				const [binding] = body?.parameter_bindings as Array<{ value: string }>;
				await this.create(Number(binding?.value));
				return ok({ run_id: binding?.value, status: 'pending' });
			}
			const item = Number(path.split('/').at(-1));
			const isOver = await this.look(item);
			const created = this.createdAt[item]!;
			return ok({
				run_id: String(item),
				status: isOver ? 'succeeded' : 'running',
				created_at: new Date(created).toISOString(),
				completed_at: isOver ? new Date(created + this.durations[item]!).toISOString() : null,
			});
		};
		return { baseUrl: '', gate: new Gate(clock), send } as Service;
	}
}

function ok(body: unknown): Answer {
	return { kind: 'ok', status: 200, body };
}

type Policy = (simulation: Simulation) => Promise<void>;

/** This package's own code: batch, gate, schedule and learned durations. */
export function thisNode(concurrency: number): Policy {
	return async (simulation) => {
		await createAndWait(simulation.asService(), simulation.count, concurrency);
	};
}

/** One item after the other: create, then look at a fixed interval until it has finished. */
function oneByOne(intervalMs: number): Policy {
	return async (simulation) => {
		for (let item = 0; item < simulation.count; item++) {
			await simulation.create(item);
			while (!(await simulation.look(item))) await clock.sleep(intervalMs);
		}
	};
}

/** HTTP Request creates all, then Wait, HTTP Request and If go round with those that have not finished. */
const loopOfNodes: Policy = async (simulation) => {
	let left = Array.from({ length: simulation.count }, (_, item) => item);
	await Promise.all(left.map((item) => simulation.create(item)));
	while (left.length > 0) {
		await clock.sleep(LOOP_WAIT_MS);
		const over = await Promise.all(left.map((item) => simulation.look(item)));
		left = left.filter((_, index) => !over[index]);
	}
};

/** What a user would pick, by how it is done. */
export const policies: Record<string, Policy> = {
	'This node, Max Concurrency 10': thisNode(10),
	'This node, Max Concurrency 100': thisNode(100),
	'HTTP Request, Wait 5 s, If, in a loop': loopOfNodes,
	'One item at a time, a look each second (Apify)': oneByOne(1_000),
	'One item at a time, a look each 5 s (Databricks)': oneByOne(5_000),
};

/** What a policy does with runs of these durations (in ms), on virtual time. */
export async function simulate(policy: Policy, durations: number[], limit = Infinity) {
	const fake = install({ now: 0, toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
	// Node.js waits 1 ms where it is asked for less; the clock would not move on.
	const turn = globalThis.setTimeout;
	globalThis.setTimeout = ((run: () => void, ms = 0) =>
		turn(run, Math.max(ms, 1))) as typeof setTimeout;
	try {
		const simulation = new Simulation(durations, limit);
		let isOver = false;
		const work = policy(simulation).then(() => (isOver = true));
		while (!isOver) await fake.nextAsync();
		await work;
		const shares = simulation.lateMs.map((late, item) => late / durations[item]!);
		return {
			wallMs: fake.now,
			requests: simulation.requests,
			refused: simulation.refused,
			requestsPerRun: simulation.requests / durations.length,
			meanLateness: shares.reduce((sum, share) => sum + share, 0) / shares.length,
			worstLateness: Math.max(...shares),
		};
	} finally {
		fake.uninstall();
	}
}

/**
 * The least that any policy needs: one create and one look a run, the runs side by side as far as the
 * concurrency allows, taken up in order.
 *
 * @returns ms
 */
export function leastWallMs(durations: number[], concurrency: number): number {
	const free = new Array<number>(Math.min(concurrency, durations.length)).fill(0);
	for (const duration of durations) {
		const first = free.indexOf(Math.min(...free));
		free[first] = free[first]! + Math.max(duration, LATENCY_MS) + LATENCY_MS;
	}
	return Math.max(...free);
}

/** Random numbers that are the same each time. */
function randomFrom(seed: number): () => number {
	let state = seed;
	return () => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
}

/** How long runs take, in ms. */
export const distributions: Record<string, (count: number) => number[]> = {
	'2 s each': (count) => new Array<number>(count).fill(2_000),
	'log-normal, median 45 s, 95 % under 10 min': (count) => {
		const random = randomFrom(7);
		// 95 % of a normal distribution lie under 1.645 standard deviations.
		const sigma = Math.log(600 / 45) / 1.645;
		return Array.from({ length: count }, () => {
			const normal = Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());
			return 45_000 * Math.exp(sigma * normal);
		});
	},
	'bimodal, 3 s or 5 min': (count) => {
		const random = randomFrom(11);
		return Array.from({ length: count }, () => (random() < 0.7 ? 3_000 : 300_000));
	},
};
