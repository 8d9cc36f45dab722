import { clock } from '../nodes/AgentInvocation/clock.ts';
import { N8N_REQUEST_MS } from '../test/support/simulation/cells.cts';
import { OwnWorld, type Said, type Send } from '../test/support/simulation/ownWorld.cts';
import { NodeCode } from '../test/support/simulation/world/nodeCode.cts';
import { randomFrom } from '../test/support/simulation/world/random.cts';
import type { LimiterSpec } from '../test/support/simulation/world/world.cts';

/** How long a request takes here, in ms. */
export const LATENCY_MS = 50;
/** The Wait node's delay in the loop of n8n's own nodes, in ms. */
export const LOOP_WAIT_MS = 5_000;
/** After how long n8n's Retry On Fail sends a refused request again, in ms. */
const RETRY_MS = 1_000;

/** The node's source. Each world loads it again, so that it knows nothing of another one. */
const source = new NodeCode();

/** A version of n8n-workflow, which tells the node that it may ask n8n to store an execution. */
const HOST_VERSION = '2.41.0';

/** A way to run all items, as a world executes it. */
export type Policy = Pick<Said, 'options' | 'instead'>;

/** The node itself, without a time limit. */
export const thisNode: Policy = { options: { timeout: 0 } };

/** The same with its waits in memory, where n8n's own times play no part. */
const inMemory: Policy = { options: { ...thisNode.options, whereToWait: 'memory' } };

/** Sends a request until the rate limit lets it through. */
async function ask(send: Send, ...request: Parameters<Send>): Promise<Record<string, string>> {
	for (;;) {
		const { statusCode, body } = await send(...request);
		if (statusCode !== 429) return JSON.parse(body) as Record<string, string>;
		await clock.sleep(RETRY_MS);
	}
}

/** Starts the run of an item and gives its ID. */
async function createRun(send: Send, tag: string): Promise<string> {
	const body = { parameter_bindings: [{ name: 'tag', value: tag }] };
	return (await ask(send, 'POST', '/agents/1/runs', body)).run_id!;
}

/** Whether a run has finished. */
async function pollRun(send: Send, runId: string): Promise<boolean> {
	return (await ask(send, 'GET', `/agents/1/runs/${runId}`)).status === 'succeeded';
}

/** One item after the other: create, then poll at a fixed interval until it has finished. */
const oneByOne = (intervalMs: number): Policy => ({
	async instead(send, tags) {
		for (const tag of tags) {
			const runId = await createRun(send, tag);
			while (!(await pollRun(send, runId))) await clock.sleep(intervalMs);
		}
	},
});

/** HTTP Request creates all, then Wait, HTTP Request and If go round with those that have not finished. */
export const loopOfNodes = (waitMs: number): Policy => ({
	async instead(send, tags) {
		let left = await Promise.all(tags.map((tag) => createRun(send, tag)));
		while (left.length > 0) {
			await clock.sleep(waitMs);
			const over = await Promise.all(left.map((runId) => pollRun(send, runId)));
			left = left.filter((_, index) => !over[index]);
		}
	},
});

/** What a user would pick, by how it is done. */
export const policies: Record<string, Policy> = {
	'This node': inMemory,
	'HTTP Request, Wait 5 s, If, in a loop': loopOfNodes(LOOP_WAIT_MS),
	'One item at a time, a poll each second (Apify)': oneByOne(1_000),
	'One item at a time, a poll each 5 s (Databricks)': oneByOne(5_000),
};

/** What is to be done: executions that begin at the same moment and use one API key. */
export interface Load {
	/** How long the runs of each execution take, in ms. */
	durations: number[];
	executions?: number;
	/** How long earlier runs of the agent took, which the node knows, in ms. */
	known?: number[];
	limiter?: LimiterSpec;
}

/** When the executions begin if earlier runs are known, in ms: all of those have ended. */
const AFTER_KNOWN_MS = 3_600_000;

/** What a policy does with a load, on virtual time. */
export async function simulate(policy: Policy, load: Load) {
	const { durations, executions = 1, known = [], limiter } = load;
	const of = (runs: number[], startsAtMs: number): Said => ({
		...policy,
		startsAtMs,
		count: runs.length,
		runOf: (item) => ({ durationMs: runs[item]! }),
	});
	const measured = of(durations, known.length > 0 ? AFTER_KNOWN_MS : 0);
	const [first, ...beside] = [
		...(known.length > 0 ? [of(known, 0)] : []),
		...new Array<Said>(executions).fill(measured),
	];
	const world = new OwnWorld({
		...first,
		beside,
		service: { tripMs: [LATENCY_MS, LATENCY_MS], ...(limiter && { limiter }) },
		hand: { costMs: N8N_REQUEST_MS },
		load: () => source.load(HOST_VERSION),
	});
	await world.execute();
	const from = beside.length + 1 - executions;
	const ends = Array.from({ length: executions }, (_, index) => world.seen(from + index));
	const outputs = ends.reduce((sum, { items }) => sum + items.length, 0);
	const runs = world.runs.filter(({ createdAt }) => createdAt >= measured.startsAtMs!);
	if (outputs !== durations.length * executions || runs.length !== outputs) {
		throw new Error(`${outputs} outputs of ${runs.length} runs`);
	}
	const requests = world.requests.filter(({ execution }) => execution.index >= from);
	const seenAt = new Map(
		requests
			.filter(({ said }) => said === 'finished')
			.map(({ runId, answeredAt }) => [runId, answeredAt]),
	);
	const shares = runs.map(
		({ id, createdAt, endsAt }) => (seenAt.get(id)! - endsAt) / (endsAt - createdAt),
	);
	return {
		wallMs: Math.max(...ends.map(({ ms }) => ms)),
		requests: requests.length,
		requestsPerRun: requests.length / runs.length,
		/** How often n8n stored an execution while it waited. */
		parks: ends.reduce((sum, { parks }) => sum + parks.length, 0),
		refused: requests.filter(({ status }) => status === 429).length,
		meanLateness: shares.reduce((sum, share) => sum + share, 0) / shares.length,
		worstLateness: Math.max(...shares),
	};
}

/** So many runs of this length, each up to 10 % shorter or longer. */
export function about(ms: number, count: number): number[] {
	const random = randomFrom(7);
	return Array.from({ length: count }, () => ms * (0.9 + 0.2 * random()));
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
