import { N8N_REQUEST_MS } from '../test/support/simulation/cells.cts';
import type { Line, Picture } from './draw.cts';
import { waysToPoll } from './lateness.cts';
import {
	distributions,
	LATENCY_MS,
	LOOP_WAIT_MS,
	loopOfNodes,
	policies,
	simulate,
	thisNode,
	type Policy,
} from './policies.cts';

/** The pictures, by the names of their files. */
export const pictures: Record<string, () => Promise<Picture>> = {
	'wall-time': wallTime,
	lateness,
	refused,
};

/** Two lines of each way, with what it comes to at these x. */
async function measure<Way>(
	ways: Record<string, Way>,
	xs: number[],
	of: (way: Way, x: number) => [number, number] | Promise<[number, number]>,
): Promise<[Line[], Line[]]> {
	const [first, second]: [Line[], Line[]] = [[], []];
	for (const [name, way] of Object.entries(ways)) {
		const ys: Array<[number, number]> = [];
		for (const x of xs) ys.push(await of(way, x));
		first.push({ name, points: xs.map((x, index) => [x, ys[index]![0]]) });
		second.push({ name, points: xs.map((x, index) => [x, ys[index]![1]]) });
	}
	return [first, second];
}

async function wallTime(): Promise<Picture> {
	const counts = [1, 3, 10, 30, 100, 300, 1_000];
	const ofRuns = distributions['2 s each']!;
	const [seconds, requests] = await measure(policies, counts, async (policy, count) => {
		const { wallMs, requestsPerRun } = await simulate(policy, { durations: ofRuns(count) });
		return [wallMs / 1_000, requestsPerRun];
	});
	return {
		title: 'Many items: how long they take, and how many requests',
		subtitle: `Simulated: each run takes 2 s, each request ${LATENCY_MS} ms and n8n ${N8N_REQUEST_MS} ms; no rate limit`,
		x: 'Items',
		panels: [
			{ y: 'Time until all results are there (s)', yIsLog: true, lines: seconds },
			{ y: 'Requests per run', lines: requests },
		],
	};
}

async function lateness(): Promise<Picture> {
	const lengths = [2, 5, 10, 30, 60, 300, 1_800, 3_600, 28_800];
	const [late, requests] = await measure(waysToPoll, lengths, (poll, length) => {
		const { share, requests: count } = poll(length);
		return [100 * share, count];
	});
	return {
		title: 'How late a result is noticed, and how many requests',
		subtitle: `Simulated: the schedule alone, runs of each length ±10%, a request takes ${LATENCY_MS} ms; averages`,
		x: 'How long a run takes (s)',
		panels: [
			{ y: "Lateness (% of the run's time)", yIsLog: true, lines: late },
			{ y: 'Requests per run', yIsLog: true, lines: requests },
		],
	};
}

/** Items of each execution of a crowd. */
const CROWD_ITEMS = 10;
/** Requests a second that the service carries for a crowd. */
const CROWD_LIMIT = 20;

async function refused(): Promise<Picture> {
	const ways: Record<string, Policy> = {
		'This node': thisNode,
		'HTTP Request, Wait 5 s, If, in a loop, with each refused request sent again after 1 s':
			loopOfNodes(LOOP_WAIT_MS),
	};
	const durations = distributions['2 s each']!(CROWD_ITEMS);
	const limiter = {
		kind: 'fixed' as const,
		limit: CROWD_LIMIT,
		windowMs: 1_000,
		retryAfter: 'none' as const,
	};
	const [shares, seconds] = await measure(ways, [1, 2, 5, 10, 20, 50], async (way, executions) => {
		const result = await simulate(way, { durations, executions, limiter });
		return [(100 * result.refused) / result.requests, result.wallMs / 1_000];
	});
	return {
		title: `Executions at once with one API key and ${CROWD_LIMIT} requests a second`,
		subtitle: `Simulated: each execution has ${CROWD_ITEMS} items, each run takes 2 s; a refusal does not say when to come back`,
		x: 'Executions at once',
		panels: [
			{ y: 'Requests that are refused (%)', lines: shares },
			{ y: 'Time until all results are there (s)', yIsLog: true, lines: seconds },
		],
	};
}
