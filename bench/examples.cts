import { table } from '../hosts/report.cts';
import { N8N_REQUEST_MS } from '../test/support/simulation/cells.cts';
import type { LimiterSpec } from '../test/support/simulation/world/world.cts';
import {
	about,
	distributions,
	LATENCY_MS,
	LOOP_WAIT_MS,
	loopOfNodes,
	simulate,
	thisNode,
	type Load,
} from './policies.cts';
import { duration } from './words.cts';

/** What n8n's Wait node needs so that n8n stores the execution, in ms. */
const STORED_WAIT_MS = 65_000;

interface Example extends Load {
	what: string;
	/** Whether n8n stores the execution while it waits. */
	isStored?: boolean;
}

const runsOf2s = distributions['2 s each']!;
const mixed = distributions['log-normal, median 45 s, 95 % under 10 min']!;

/** A service that carries so many requests in any time of this length. */
const carrying = (limit: number, windowMs: number): LimiterSpec => ({
	kind: 'sliding',
	limit,
	windowMs,
	retryAfter: 'none',
});

const examples: Example[] = [
	{ what: '1 item, its run takes 2 s', durations: runsOf2s(1) },
	{ what: '100 items, each run takes 2 s', durations: runsOf2s(100) },
	{ what: '1,000 items, each run takes 2 s', durations: runsOf2s(1_000) },
	{ what: '10 items, each run takes about 45 s', durations: about(45_000, 10) },
	{
		what: '10 items, each run takes about 45 s, like five earlier runs of the agent',
		durations: about(45_000, 10),
		known: about(45_000, 5),
	},
	{
		what: `1,000 items, half of the runs take up to 45 s, the longest ${duration(Math.max(...mixed(1_000)))}`,
		durations: mixed(1_000),
	},
	{
		what: '1 item, its run takes an hour, and n8n stores the execution while it waits',
		durations: [3_600_000],
		isStored: true,
	},
	{
		what: '300 items, each run takes 2 s, limit of 20 requests a second',
		durations: runsOf2s(300),
		limiter: carrying(20, 1_000),
	},
	{
		what: '500 items, each run takes 2 s, limit of 600 requests a minute',
		durations: runsOf2s(500),
		limiter: carrying(600, 60_000),
	},
	{
		what: '20 executions at once with one key, 10 items each, each run takes 2 s, limit of 20 requests a second',
		durations: runsOf2s(10),
		executions: 20,
		limiter: carrying(20, 1_000),
	},
];

/** What the node is for, in ten rows, beside a loop of n8n's own nodes. */
export async function tenRows(): Promise<string> {
	const rows: string[][] = [];
	let [slower, more] = [0, 0];
	for (const { what, isStored = false, ...load } of examples) {
		const own = await simulate(thisNode, load);
		const loop = await simulate(loopOfNodes(isStored ? STORED_WAIT_MS : LOOP_WAIT_MS), load);
		if (isStored && own.parks === 0) throw new Error(`Not stored: ${what}`);
		if (own.wallMs > loop.wallMs) slower++;
		if (own.requests > loop.requests) more++;
		const requests = ({ requests: all, refused }: typeof own) =>
			`${all.toLocaleString('en')}${load.limiter ? `, ${refused.toLocaleString('en')} refused` : ''}`;
		rows.push([what, duration(own.wallMs), duration(loop.wallMs), requests(own), requests(loop)]);
	}
	return `How long it takes until all results are there, and how many requests that needs, with this node and with a loop of n8n's own nodes (HTTP Request, Wait, If). All of it is simulated, on virtual time: a request takes ${LATENCY_MS} ms, and n8n itself takes ${N8N_REQUEST_MS} ms for each.

${table(['What was done', 'This node', "Loop of n8n's nodes", 'Requests, this node', 'Requests, loop'], rows)}

The rows were chosen for what they cover: few items and many, short runs and long ones, an agent whose runs are known and one whose are not, limits per second and per minute, one execution and several with one key. In ${slower} of the ${rows.length} this node takes longer than the loop, and in ${more} it sends more requests.

The node has its default options, except that it has no time limit. The loop waits ${LOOP_WAIT_MS / 1_000} s in each turn, and ${STORED_WAIT_MS / 1_000} s in the row of an hour, since n8n stores no shorter wait. A refusal does not say when to come back. The loop sends each refused request again after a second, as often as it takes. Real loops do worse: n8n's Retry On Fail executes the whole node again, with all of its items, so that runs are started twice, and gives up after five tries.`;
}
