import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { nodeAndMachine, table } from '../hosts/report.cts';
import { CROWD_ITEMS, CROWD_LIMIT, refusedOfLoop, refusedOfThisNode } from './crowd.cts';
import { costOfWaiting, costPerItem, sizeWhileWaiting } from './hosted.cts';
import { inEngine, loads } from './inEngine.cts';
import { limitHeads, limitMisses, limitRows, missHeads } from './limits.cts';
import { anyHeads, anyLengths, knownHeads, knownLengths, waysToPoll } from './lateness.cts';
import { draw, type Line, type Picture } from './pictures.cts';
import {
	distributions,
	ENGINE_MS,
	LATENCY_MS,
	policies,
	simulate,
	LOOP_WAIT_MS,
} from './policies.cts';
import { simulateCell, type CellResult } from '../test/support/simulation/cells.cts';
import { allCells, large, missesOf, summaryHeads, summaryOf } from './simulation.cts';
import { startUp } from './startUp.cts';

const { values } = parseArgs({
	options: {
		quick: { type: 'boolean', default: false },
		/** Measures the limits alone, in a minute. */
		limits: { type: 'boolean', default: false },
	},
});
const { quick } = values;

type Row = Array<string | number>;

async function main(): Promise<void> {
	writeFileSync(path.join(__dirname, 'LIMITS.md'), limits());
	if (values.limits) return;
	const sections = [
		'# Benchmarks',
		`\`npm run bench${quick ? ' -- --quick' : ''}\` ${nodeAndMachine()}, Node.js ${process.versions.node}. One run; compare by ratio.`,
		...(await pictures()),
		await against(),
		await engine(),
		lateness(),
		await atTheLimit(),
		await perItem(),
		await waiting(),
		loading(),
	];
	const results = `${sections.join('\n\n')}\n`;
	if (quick) process.stdout.write(results);
	else writeFileSync(path.join(__dirname, 'RESULTS.md'), results);
}

/** Draws the three pictures that say most, beside the results. */
async function pictures(): Promise<string[]> {
	say('Pictures');
	const series = async (ys: number[], of: (x: number) => number | Promise<number>) => {
		const points: Line['points'] = [];
		for (const x of ys) points.push([x, await of(x)]);
		return points;
	};
	const wall: Line[] = [];
	for (const [name, policy] of Object.entries(policies)) {
		const ofRuns = distributions['2 s each']!;
		const points = await series([1, 3, 10, 30, 100, 300, 1_000], async (count) => {
			return (await simulate(policy, ofRuns(count))).wallMs / 1_000;
		});
		wall.push({ name, points });
	}
	const late: Line[] = [];
	for (const [name, meanLateness] of Object.entries(waysToPoll)) {
		const lengths = [2, 5, 10, 30, 60, 300, 1_800, 3_600, 28_800];
		late.push({ name, points: await series(lengths, (length) => 100 * meanLateness(length)) });
	}
	const crowd = [1, 2, 5, 10, 20, 50];
	const refused: Line[] = [
		{
			name: 'This node',
			points: await series(crowd, async (count) => 100 * (await refusedOfThisNode(count))),
		},
		{
			name: "A loop of n8n's own nodes, Retry On Fail",
			points: await series(crowd, async (count) => 100 * (await refusedOfLoop(count))),
		},
	];
	const all: Record<string, Picture> = {
		'wall-time': {
			title: 'Runs of 2 s: until all results are there',
			x: 'Items',
			y: 'Seconds',
			yIsLog: true,
			lines: wall,
		},
		lateness: {
			title: "From a run's end until it is seen, on average",
			x: 'Seconds that a run takes, give or take 10%',
			y: '% of the run',
			yIsLog: true,
			lines: late,
		},
		refused: {
			title: `${CROWD_ITEMS} items each, one key, ${CROWD_LIMIT} requests a second`,
			x: 'Executions at a time',
			y: '% of requests refused',
			lines: refused,
		},
	};
	return Object.entries(all).map(([name, picture]) => {
		if (!quick) writeFileSync(path.join(__dirname, `${name}.svg`), draw(picture));
		return `![${picture.title}](${name}.svg)`;
	});
}

async function engine(): Promise<string> {
	say("In n8n's engine");
	const rows: Row[] = [];
	for (const load of loads) {
		const first = await inEngine(load);
		const second = await inEngine(load);
		const requests = Math.max(first.requests, second.requests);
		const refused = Math.max(first.refused, second.refused);
		rows.push([
			load.what,
			seconds(first.seconds * 1_000),
			seconds(second.seconds * 1_000),
			requests,
			refused,
		]);
	}
	return `## In n8n's engine

The node in n8n-core's engine, over HTTP, against the sandbox in the same process; each twice, in an agent that is known from the second on.

${table(['Load', 'First (s)', 'Second (s)', 'Requests', 'Refused'], rows)}`;
}

function lateness(): string {
	say('Lateness');
	return `## Lateness

The schedule alone, by arithmetic. The sixth run of an agent of which five are known, by its length and spread; requests with the create:

${table(knownHeads, knownLengths(quick ? 200 : 5_000))}

Runs of any length, one after the other, with a latency of ${LATENCY_MS} ms; before, the median of the latest 25 decided:

${table(anyHeads, anyLengths(quick ? 1_000 : 20_000))}`;
}

async function against(): Promise<string> {
	say('Policies');
	const rows: Row[] = [];
	for (const [distribution, make] of Object.entries(distributions)) {
		for (const count of quick ? [1, 10, 100] : [1, 10, 100, 1_000]) {
			const durations = make(count);
			for (const [name, policy] of Object.entries(policies)) {
				const result = await simulate(policy, durations);
				rows.push([
					distribution,
					count,
					name,
					seconds(result.wallMs),
					result.requestsPerRun.toFixed(1),
					percent(result.meanLateness),
					percent(result.worstLateness),
				]);
			}
		}
	}
	return `## Against what a user would pick instead

On virtual time, with the node itself, its waits in memory, and the other policies written down from their public source: a request takes ${LATENCY_MS} ms, n8n itself carries one each ${ENGINE_MS} ms, the service has no limit, the loop of n8n's own nodes waits ${LOOP_WAIT_MS / 1_000} s. Lateness is the time from a run's end until it is seen, as a share of the run's time; runs under 5 s are polled each second, so for them it may be more than 20%. The loop starts all items at once, and n8n's Wait node stores nothing under 65 s.

${table(['Runs', 'Items', 'Policy', 'Wall time (s)', 'Requests a run', 'Mean lateness', 'Worst'], rows)}`;
}

async function atTheLimit(): Promise<string> {
	say('The limit');
	const results: CellResult[] = [];
	for (const cell of allCells()) {
		const count = cell.items * cell.executions;
		// The largest take long, so of them there are those with the middle round trip only.
		if (quick ? count > 100 : count > 2_000 && cell.roundTripMs !== 50) continue;
		results.push(await simulateCell(cell));
	}
	const misses = missesOf(results);
	return `## Against the limit

The node itself on virtual time, runs of 2 s, executions that begin at the same moment and use one key, against limiters as services have them, with and without Retry-After, and round trips of 5, 50 and 200 ms: ${results.length} cells (\`bench/simulation.cts\`). The least is the time of a client that sends evenly at the limiter's rate, and polls each run once, when it has ended. Here are the ${large(results).length} cells of 100 items or more. The target: 1.3 times the least time, and 5% or 25 requests refused.

${table(summaryHeads, summaryOf(results))}

${misses.length} cells miss it:

${table(['Cell', 'What it came to', 'Why'], misses)}

[Limits of 10 and 60 s, and stray refusals](LIMITS.md) are measured apart.`;
}

function limits(): string {
	say('Limits that services have');
	return `# Limits that services have

\`npm run bench -- --limits\` ${nodeAndMachine()}, Node.js ${process.versions.node}.

Simulated: clients that always have a request to send, for ten minutes, with a round trip of 50 ms where no other is named. The worst of three seeds. This node's own pace, beside the adaptive retry mode of the AWS SDKs and octokit's plugins for throttling and retries, both written down from their public source. 'Carried' is the share of the limit that was used; it may exceed 1, since a window or a bucket is full at first. 'Silence' is the longest time in which nothing was carried, after the first window. AWS' mode does not heed Retry-After, and octokit's has ten requests under way at the most.

${table(limitHeads, limitRows())}

## What this node misses

The targets: 0.85 of the limit carried (0.75 of what is offered with stray refusals), 5% refused, and no silence of more than 5 s with Retry-After or 15 s without.

${table(missHeads, limitMisses())}
`;
}

async function perItem(): Promise<string> {
	say('Cost per item');
	const costs = await costPerItem(quick ? [100] : [100, 1_000, 10_000]);
	return `## Cost per item, without waiting

Creates in a real n8n 2, started anew for each, against the sandbox on the same machine: this node with Max Concurrency 50, whose pacing starts at 80 requests a second, and n8n's HTTP Request with a batch size of 50, which sends on without waiting for answers.

${table(
	['Node', 'Items', 'Time (s)', 'Items a second', 'Peak memory of n8n (MB)'],
	costs.map(({ node, items, seconds: s, peakMb }) => [
		node,
		items,
		s.toFixed(1),
		Math.round(items / s),
		Math.round(peakMb),
	]),
)}`;
}

async function waiting(): Promise<string> {
	say('Cost of waiting');
	const costs = quick ? await costOfWaiting([20], 3, 3) : await costOfWaiting([200, 500], 30, 60);
	const sizes = await sizeWhileWaiting(1_000);
	return `## Cost of waiting

A real n8n 2 for each, with so many executions of one waiting run each, none of which is polled while it is parked: memory (VmRSS) before the first of them and while all wait, and CPU time while all wait. Each: what one takes more.

${table(
	['Waiting', 'Executions', 'Before (MB)', 'Memory (MB)', 'Each (MB)', 'CPU in a minute (s)'],
	costs.map(({ waiting: where, executions, beforeMb, memoryMb, cpuS }) => [
		where,
		executions,
		Math.round(beforeMb),
		Math.round(memoryMb),
		((memoryMb - beforeMb) / executions).toFixed(2),
		cpuS.toFixed(1),
	]),
)}

What n8n's database holds of one execution in which all of its items wait: all of it, with the webhook's rows and the items made of them, and what the node remembers, as JSON.

${table(
	['Waiting', 'Items', 'Execution (kB)', "Of it the node's memory (kB)"],
	sizes.map(({ waiting: where, items, dataBytes, memoryBytes }) => [
		where,
		items,
		Math.round(dataBytes / 1_000),
		Math.round(memoryBytes / 1_000),
	]),
)}`;
}

function loading(): string {
	say('Start-up');
	return `## Start-up

Loading all nodes and credentials of a package into a fresh Node.js, after n8n-workflow: median of 11, with the least and the most.

${table(
	['Package', 'Packed (kB)', 'Load (ms)', 'Least', 'Most'],
	startUp().map(({ name, packedKb, loadMs }) => {
		const sorted = [...loadMs].sort((a, b) => a - b);
		const at = (index: number) => sorted.at(index)!.toFixed(1);
		return [name, packedKb.toFixed(1), at(sorted.length >> 1), at(0), at(-1)];
	}),
)}`;
}

function seconds(ms: number): string {
	return (ms / 1_000).toFixed(1);
}

function percent(share: number): string {
	return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)}%`;
}

function say(what: string): void {
	process.stderr.write(`${what}\n`);
}

void main();
