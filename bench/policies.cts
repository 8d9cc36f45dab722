import type { IDataObject, IHttpRequestOptions } from 'n8n-workflow';

import { clock } from '../nodes/AgentInvocation/clock.ts';
import { SimulatedHost } from '../test/support/simulation/simulatedHost.cts';
import { SimulatedService } from '../test/support/simulation/simulatedService.cts';
import { onVirtualTime, randomFrom } from './virtualTime.cts';

/** How long a request takes here, in ms. */
export const LATENCY_MS = 50;
/** What a request costs n8n itself, in ms, as the table 'Cost per item' shows: some 400 a second. */
export const ENGINE_MS = 2.5;
/** The Wait node's delay in the loop of n8n's own nodes, in ms. */
export const LOOP_WAIT_MS = 5_000;

/** A service whose runs take as long as they are told, and which notes when their ends are seen. */
class ObservedService extends SimulatedService {
	/** For each item whose run was seen to have ended, how long after that, in ms. */
	readonly lateMs: number[] = [];

	/** @param durations of the items' runs, in ms */
	constructor(readonly durations: number[]) {
		super({ runOf: (item) => ({ durationMs: durations[item]! }), latencyMs: LATENCY_MS });
	}

	private engineFreeAt = 0;

	override async request(options: IHttpRequestOptions) {
		this.engineFreeAt = Math.max(this.engineFreeAt, clock.now()) + ENGINE_MS;
		await clock.sleep(this.engineFreeAt - clock.now());
		const response = await super.request(options);
		if (options.method === 'GET' && response.statusCode === 200) {
			const { status, output } = JSON.parse(response.body) as { status: string; output: string };
			const run = this.created.find(({ item }) => String(item) === output);
			if (status === 'succeeded' && run) {
				this.lateMs[run.item] = clock.now() - run.at - this.durations[run.item]!;
			}
		}
		return response;
	}

	/** Creates an item's run and gives its ID. */
	async createRun(item: number): Promise<string> {
		const body = { parameter_bindings: [{ name: 'item', value: String(item) }] };
		const response = await this.request({ method: 'POST', url: '/agents/1/runs', body });
		return (JSON.parse(response.body) as { run_id: string }).run_id;
	}

	/** Whether a run has finished. */
	async pollRun(runId: string): Promise<boolean> {
		const response = await this.request({ method: 'GET', url: `/agents/1/runs/${runId}` });
		return (JSON.parse(response.body) as { status: string }).status === 'succeeded';
	}
}

type Policy = (service: ObservedService) => Promise<unknown>;

/** The node itself, with waits in memory, where n8n's own times play no part. */
function thisNode(options: IDataObject): Policy {
	return async (service) => {
		const count = service.durations.length;
		const host = new SimulatedHost({
			service,
			count,
			options: { timeout: 0, whereToWait: 'memory', ...options },
		});
		const outputs = await host.run();
		if (outputs.length !== count) throw new Error(`${outputs.length} outputs of ${count} items`);
	};
}

/** One item after the other: create, then poll at a fixed interval until it has finished. */
function oneByOne(intervalMs: number): Policy {
	return async (service) => {
		for (const item of service.durations.keys()) {
			const runId = await service.createRun(item);
			while (!(await service.pollRun(runId))) await clock.sleep(intervalMs);
		}
	};
}

/** HTTP Request creates all, then Wait, HTTP Request and If go round with those that have not finished. */
const loopOfNodes: Policy = async (service) => {
	const items = [...service.durations.keys()];
	let left = await Promise.all(items.map((item) => service.createRun(item)));
	while (left.length > 0) {
		await clock.sleep(LOOP_WAIT_MS);
		const over = await Promise.all(left.map((runId) => service.pollRun(runId)));
		left = left.filter((_, index) => !over[index]);
	}
};

/** What a user would pick, by how it is done. */
export const policies: Record<string, Policy> = {
	'This node': thisNode({}),
	'HTTP Request, Wait 5 s, If, in a loop': loopOfNodes,
	'One item at a time, a poll each second (Apify)': oneByOne(1_000),
	'One item at a time, a poll each 5 s (Databricks)': oneByOne(5_000),
};

/** What a policy does with runs of these durations (in ms), on virtual time. */
export async function simulate(policy: Policy, durations: number[]) {
	const service = new ObservedService(durations);
	const { ms: wallMs } = await onVirtualTime(() => policy(service));
	const shares = service.lateMs.map((late, item) => late / durations[item]!);
	return {
		wallMs,
		requestsPerRun: service.requests.length / durations.length,
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
