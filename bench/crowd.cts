import { clock } from '../nodes/AgentInvocation/clock.ts';
import { SimulatedService } from '../test/support/simulation/simulatedService.cts';
import { fixedWindow } from '../test/support/simulation/world/limiters.cts';
import { LATENCY_MS, LOOP_WAIT_MS } from './policies.cts';
import { simulateCell } from './simulation.cts';
import { onVirtualTime } from './virtualTime.cts';

/** Of each execution. */
export const CROWD_ITEMS = 10;
/** Requests a second that the service carries. */
export const CROWD_LIMIT = 20;
const RUN_MS = 2_000;
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
	const service = new SimulatedService({
		runOf: () => ({ durationMs: RUN_MS }),
		latencyMs: LATENCY_MS,
		limiter: fixedWindow(CROWD_LIMIT),
	});
	const send = async (method: 'GET' | 'POST', url: string, body?: object) => {
		for (;;) {
			const response = await service.request({ method, url, body });
			if (response.statusCode !== 429) return JSON.parse(response.body) as Record<string, string>;
			await clock.sleep(RETRY_MS);
		}
	};
	const loop = async () => {
		const body = { parameter_bindings: [{ name: 'item', value: '0' }] };
		const items = Array.from({ length: CROWD_ITEMS });
		let left = await Promise.all(
			items.map(async () => (await send('POST', '/agents/1/runs', body)).run_id),
		);
		while (left.length > 0) {
			await clock.sleep(LOOP_WAIT_MS);
			const seen = await Promise.all(
				left.map(async (runId) => (await send('GET', `/agents/1/runs/${runId}`)).status),
			);
			left = left.filter((_, index) => seen[index] !== 'succeeded');
		}
	};
	await onVirtualTime(() => Promise.all(Array.from({ length: executions }, loop)));
	return service.requests.filter(({ refused }) => refused).length / service.requests.length;
}
