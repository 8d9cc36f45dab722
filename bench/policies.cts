import { clock } from '../nodes/AgentInvocation/clock.ts';
import { execute, type Said, type Send } from '../test/support/simulation/ownWorld.cts';
import { randomFrom } from '../test/support/simulation/world/random.cts';

/** How long a request takes here, in ms. */
export const LATENCY_MS = 50;
/** What a request costs n8n itself, in ms, as the table 'Cost per item' shows: some 400 a second. */
export const ENGINE_MS = 2.5;
/** The Wait node's delay in the loop of n8n's own nodes, in ms. */
export const LOOP_WAIT_MS = 5_000;

/** A way to run all items, as a world executes it. */
type Policy = Pick<Said, 'options' | 'instead'>;

/** The node itself, with waits in memory, where n8n's own times play no part. */
const thisNode: Policy = { options: { timeout: 0, whereToWait: 'memory' } };

/** Starts the run of an item and gives its ID. */
async function createRun(send: Send, tag: string): Promise<string> {
	const body = { parameter_bindings: [{ name: 'tag', value: tag }] };
	const response = await send('POST', '/agents/1/runs', body);
	return (JSON.parse(response.body) as { run_id: string }).run_id;
}

/** Whether a run has finished. */
async function pollRun(send: Send, runId: string): Promise<boolean> {
	const response = await send('GET', `/agents/1/runs/${runId}`);
	return (JSON.parse(response.body) as { status: string }).status === 'succeeded';
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
const loopOfNodes: Policy = {
	async instead(send, tags) {
		let left = await Promise.all(tags.map((tag) => createRun(send, tag)));
		while (left.length > 0) {
			await clock.sleep(LOOP_WAIT_MS);
			const over = await Promise.all(left.map((runId) => pollRun(send, runId)));
			left = left.filter((_, index) => !over[index]);
		}
	},
};

/** What a user would pick, by how it is done. */
export const policies: Record<string, Policy> = {
	'This node': thisNode,
	'HTTP Request, Wait 5 s, If, in a loop': loopOfNodes,
	'One item at a time, a poll each second (Apify)': oneByOne(1_000),
	'One item at a time, a poll each 5 s (Databricks)': oneByOne(5_000),
};

/** What a policy does with runs of these durations (in ms), on virtual time. */
export async function simulate(policy: Policy, durations: number[]) {
	const { world, items, ms } = await execute({
		count: durations.length,
		runOf: (item) => ({ durationMs: durations[item]! }),
		service: { tripMs: [LATENCY_MS, LATENCY_MS] },
		hand: { costMs: ENGINE_MS },
		...policy,
	});
	if (items.length !== durations.length) throw new Error(`${items.length} outputs`);
	const seenAt = new Map(
		world.requests
			.filter(({ said }) => said === 'finished')
			.map(({ runId, answeredAt }) => [runId, answeredAt]),
	);
	const shares = world.runs.map(({ id, createdAt, endsAt }) => {
		return (seenAt.get(id)! - endsAt) / (endsAt - createdAt);
	});
	return {
		wallMs: ms,
		requestsPerRun: world.requests.length / durations.length,
		meanLateness: shares.reduce((sum, share) => sum + share, 0) / shares.length,
		worstLateness: Math.max(...shares),
	};
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
