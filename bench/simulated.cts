import { nodeAndMachine, table } from '../hosts/report.cts';
import { N8N_REQUEST_MS } from '../test/support/simulation/cells.cts';
import { simulateCells } from './inProcesses.cts';
import { anyHeads, anyLengths, knownHeads, knownLengths } from './lateness.cts';
import { limitHeads, limitMisses, limitRows, measureLimits, missHeads } from './limits.cts';
import { distributions, LATENCY_MS, LOOP_WAIT_MS, policies, simulate } from './policies.cts';
import {
	allCells,
	cellMissHeads,
	countMisses,
	large,
	missesOf,
	summaryHeads,
	summaryOf,
} from './simulation.cts';
import { percent } from './words.cts';

// The sections of the results that need no n8n, as Markdown.

/** This node and what a user would pick in its place. */
export async function against(quick: boolean): Promise<string> {
	const rows: Array<Array<string | number>> = [];
	for (const [distribution, make] of Object.entries(distributions)) {
		for (const count of quick ? [1, 10, 100] : [1, 10, 100, 1_000]) {
			const durations = make(count);
			for (const [name, policy] of Object.entries(policies)) {
				const result = await simulate(policy, { durations });
				rows.push([
					distribution,
					count,
					name,
					(result.wallMs / 1_000).toFixed(1),
					result.requestsPerRun.toFixed(1),
					percent(result.meanLateness),
					percent(result.worstLateness),
				]);
			}
		}
	}
	const heads = ['Runs', 'Items', 'Policy', 'Wall time (s)'];
	return `Simulated: the node itself with its waits in memory, and the other policies as their public source has them. A request takes ${LATENCY_MS} ms, and n8n itself ${N8N_REQUEST_MS} ms for each. The service has no limit. The loop of n8n's own nodes starts all items at once and waits ${LOOP_WAIT_MS / 1_000} s in each turn. Lateness is the time from a run's end until it is noticed, as a share of the run's time. A run of under 5 s is polled each second, so it may be noticed more than 20% late.

${table([...heads, 'Requests a run', 'Mean lateness', 'Worst'], rows)}`;
}

/** How late the schedule sees that runs have ended. */
export function lateness(quick: boolean): string {
	return `Simulated: the schedule alone, by arithmetic. First the sixth run of an agent of which five are known, by the length of its runs and their spread. The create counts as a request.

${table(knownHeads, knownLengths(quick ? 200 : 5_000))}

Then runs of any length, one after the other, with a latency of ${LATENCY_MS} ms. In the schedule before, the median of the latest 25 runs decided.

${table(anyHeads, anyLengths(quick ? 1_000 : 20_000))}`;
}

/** The node against limiters of a second, and without a limit. */
export async function atTheLimit(quick: boolean): Promise<string> {
	const cells = allCells().filter(({ items, executions, roundTripMs }) => {
		const count = items * executions;
		// The largest take long, so of them there are those with the middle round trip only.
		return quick ? count <= 100 : count <= 2_000 || roundTripMs === 50;
	});
	const results = await simulateCells(cells);
	return `Simulated: the node itself, runs of 2 s, executions that begin at the same moment and use one key, limiters as services have them, with and without Retry-After, and round trips of 5, 50 and 200 ms. Where there is no limit, n8n itself takes ${N8N_REQUEST_MS} ms for each request. That makes ${results.length} cells (\`bench/simulation.cts\`), of which these tables have the ${large(results).length} with 100 items or more.

The ratio is that of the time to the least possible. The least is the time of a client that sends evenly, at the limiter's rate or, without a limit, a request each ${N8N_REQUEST_MS} ms, and that polls each run once, when it has ended. Where ten items are tried first, as by default, the other items can begin only after 2 s and a round trip, when the first run is seen to have ended; else Max Concurrency is 1,000. The target is a ratio of 1.3, or 1.5 without a limit, and 5% or 25 requests refused.

${table(summaryHeads, summaryOf(results))}

${countMisses(results)} cells miss their target. Those of one limit that have the same reason are one row:

${table(cellMissHeads, missesOf(results))}

[Limits of 10 and 60 s, and refusals at random](LIMITS.md) have a report of their own.`;
}

/** The report on limits that services have. */
export function limits(): string {
	const measured = measureLimits();
	return `# Limits that services have

\`npm run bench -- --limits\` ${nodeAndMachine()}, Node.js ${process.versions.node}.

Simulated: clients that always have a request to send, for ten minutes, with a round trip of 50 ms where no other is named. Each figure is the worst of three seeds. The table compares this node's own pace with the adaptive retry mode of the AWS SDKs and with octokit's plugins for throttling and retries, both rewritten here from their public source. 'Carried' is the share of the limit that was used; it may exceed 1, since a window or a bucket is full at first. 'Silence' is the longest time in which nothing was carried, after the first window. AWS' mode ignores Retry-After, and octokit's plugins have at most ten requests under way.

${table(limitHeads, limitRows(measured))}

## What this node misses

The targets: 0.85 of the limit carried (0.75 of what is offered with stray refusals), 5% refused, and no silence of more than 5 s with Retry-After or 15 s without.

${table(missHeads, limitMisses(measured))}
`;
}
