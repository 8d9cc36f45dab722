import { clock } from '../nodes/AgentInvocation/clock.ts';
import { simulateCell } from '../test/support/simulation/cells.cts';
import { execute, type Said, type Send } from '../test/support/simulation/ownWorld.cts';
import { LATENCY_MS, LOOP_WAIT_MS } from './policies.cts';

/** Of each execution. */
export const CROWD_ITEMS = 10;
/** Requests a second that the service carries. */
export const CROWD_LIMIT = 20;
/** After how long n8n's Retry On Fail sends a request again, in ms. */
const RETRY_MS = 1_000;

/** What executions that begin at the same moment and use one key have refused, as a share of their requests. */
export async function refusedOfThisNode(executions: number): Promise<number> {
	const { refusedShare } = await simulateCell({
		limiter: 'fixed window',
		rate: CROWD_LIMIT,
		saysRetryAfter: true,
		roundTripMs: LATENCY_MS,
		items: CROWD_ITEMS,
		executions,
	});
	return refusedShare;
}

/** The same of a loop of n8n's own nodes, with Retry On Fail until each request is carried. */
export async function refusedOfLoop(executions: number): Promise<number> {
	const body = (tag: string) => ({ parameter_bindings: [{ name: 'tag', value: tag }] });
	const loop: Said = {
		count: CROWD_ITEMS,
		async instead(once, tags) {
			const send = async (...request: Parameters<Send>) => {
				for (;;) {
					const response = await once(...request);
					if (response.statusCode !== 429) {
						return JSON.parse(response.body) as Record<string, string>;
					}
					await clock.sleep(RETRY_MS);
				}
			};
			const create = async (tag: string) =>
				(await send('POST', '/agents/1/runs', body(tag))).run_id!;
			let left = await Promise.all(tags.map(create));
			while (left.length > 0) {
				await clock.sleep(LOOP_WAIT_MS);
				const seen = await Promise.all(
					left.map(async (runId) => (await send('GET', `/agents/1/runs/${runId}`)).status),
				);
				left = left.filter((_, index) => seen[index] !== 'succeeded');
			}
		},
	};
	const { world } = await execute({
		...loop,
		beside: new Array<Said>(executions - 1).fill(loop),
		service: {
			tripMs: [LATENCY_MS, LATENCY_MS],
			limiter: { kind: 'fixed', limit: CROWD_LIMIT, windowMs: 1_000, retryAfter: 'none' },
		},
	});
	return world.requests.filter(({ status }) => status === 429).length / world.requests.length;
}
