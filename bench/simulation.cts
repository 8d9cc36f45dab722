import { parseArgs } from 'node:util';

import { SimulatedHost } from '../test/support/simulation/simulatedHost.cts';
import { SimulatedService } from '../test/support/simulation/simulatedService.cts';
import { limiters, type Limiter } from '../test/support/simulation/world/limiters.cts';
import { onVirtualTime } from './virtualTime.cts';

/** How long each run takes, in ms. */
const RUN_MS = 2_000;

/** One simulation: executions that begin at the same moment and use one API key. */
export interface Cell {
	/** A name in `limiters`; undefined for a service without a limit. */
	limiter: string | undefined;
	/** Requests a second that it carries. */
	rate: number;
	/** Whether a refusal says when to come back, in whole seconds. */
	saysRetryAfter: boolean;
	roundTripMs: number;
	/** Of each execution. */
	items: number;
	executions: number;
}

export interface CellResult extends Cell {
	wallMs: number;
	leastMs: number;
	/** Of the wall time to the least. */
	ratio: number;
	requests: number;
	refused: number;
	refusedShare: number;
}

/** All combinations, those with most requests last. */
export function allCells(): Cell[] {
	const cells: Cell[] = [];
	for (const items of [10, 100, 1_000]) {
		for (const executions of [1, 20]) {
			for (const roundTripMs of [5, 50, 200]) {
				const load = { roundTripMs, items, executions };
				cells.push({ limiter: undefined, rate: Infinity, saysRetryAfter: false, ...load });
				for (const limiter of Object.keys(limiters)) {
					for (const rate of [5, 20, 100]) {
						for (const saysRetryAfter of [true, false]) {
							cells.push({ limiter, rate, saysRetryAfter, ...load });
						}
					}
				}
			}
		}
	}
	return cells.sort((a, b) => a.items * a.executions - b.items * b.executions);
}

/** What the node itself does in a cell, on virtual time. */
export async function simulateCell(cell: Cell): Promise<CellResult> {
	const { saysRetryAfter, roundTripMs, items, executions } = cell;
	const service = new SimulatedService({
		runOf: () => ({ durationMs: RUN_MS }),
		latencyMs: roundTripMs,
		limiter: limiterOf(cell),
		saysRetryAfter,
	});
	const hosts = Array.from({ length: executions }, () => {
		const options = { timeout: 0, maxConcurrency: 1_000 };
		return new SimulatedHost({ service, count: items, options });
	});
	for (const host of hosts) host.apiKey = hosts[0]!.apiKey;
	const { result: outputs, ms: wallMs } = await onVirtualTime(
		async () => await Promise.all(hosts.map((host) => host.run())),
	);
	const succeeded = outputs.flat().filter(({ json }) => json.status === 'succeeded').length;
	if (succeeded !== items * executions || service.created.length !== succeeded) {
		throw new Error(`${describe(cell)}: ${succeeded} succeeded of ${service.created.length}`);
	}
	const leastMs = leastMsOf(cell);
	const requests = service.requests.length;
	const refused = service.requests.filter((request) => request.refused).length;
	const ratio = wallMs / leastMs;
	return { ...cell, wallMs, leastMs, ratio, requests, refused, refusedShare: refused / requests };
}

/** Whether a cell is within the target: 1.3 times the least time, 5 % refused or 25 requests. */
export function isWithinTarget({ ratio, refused, refusedShare }: CellResult): boolean {
	return ratio <= 1.3 && (refusedShare <= 0.05 || refused <= 25);
}

export function describe({ limiter, rate, saysRetryAfter, ...load }: Cell): string {
	const { roundTripMs, items, executions } = load;
	const limit = limiter
		? `${limiter}, ${rate}/s, ${saysRetryAfter ? 'with' : 'no'} Retry-After`
		: 'no limit';
	return `${limit}, ${roundTripMs} ms, ${executions} × ${items}`;
}

function limiterOf({ limiter, rate }: Cell): Limiter {
	return limiter === undefined ? () => 0 : limiters[limiter]!(rate);
}

/**
 * The least time for a client that sends evenly at the limiter's rate: all creates, then one poll for each
 * run, when it has ended. One that uses a limiter's burst can take less.
 */
function leastMsOf({ limiter, rate, roundTripMs, items, executions }: Cell): number {
	const last = items * executions - 1;
	const apartMs = limiter === undefined ? 0 : 1_000 / rate;
	const lastCreateMs = last * apartMs;
	const lastPollMs = Math.max(lastCreateMs + RUN_MS, (2 * last + 1) * apartMs);
	return lastPollMs + roundTripMs;
}

/** Why a cell misses the target: no client can know the limiter before it is refused. */
function reasonOf({ limiter, leastMs, ratio, saysRetryAfter }: CellResult): string {
	if (limiter === undefined)
		return 'it cannot know that there is no limit, so the rate grows step by step';
	if (ratio <= 1.3) return 'refused are those under way when the first refusals came';
	if (leastMs < 5_000) return 'over so soon that finding the limit takes a large part of it';
	return saysRetryAfter
		? 'two or three pauses, of whole seconds, until the limit was known'
		: 'two or three pauses until the limit was known';
}

/** The results that the target is about. */
export function large(results: CellResult[]): CellResult[] {
	return results.filter(({ items, executions }) => items * executions >= 100);
}

/** By rate and limiter, over the cells of 100 items or more: the worst of each, and how many miss. */
export function summaryOf(results: CellResult[]): Array<Array<string | number>> {
	const groups = new Map<string, CellResult[]>();
	for (const result of large(results)) {
		const name = JSON.stringify([result.rate, result.limiter ?? 'none']);
		groups.set(name, [...(groups.get(name) ?? []), result]);
	}
	return [...groups.values()].map((group) => {
		const { rate, limiter = 'none' } = group[0]!;
		const worst = (of: (result: CellResult) => number) => Math.max(...group.map(of));
		return [
			rate === Infinity ? '' : rate,
			limiter,
			group.length,
			worst(({ ratio }) => ratio).toFixed(2),
			(group.reduce((sum, { ratio }) => sum + ratio, 0) / group.length).toFixed(2),
			`${(worst(({ refusedShare }) => refusedShare) * 100).toFixed(1)}%`,
			worst(({ refused }) => refused),
			group.filter((result) => !isWithinTarget(result)).length,
		];
	});
}

export const summaryHeads = [
	'Limit (1/s)',
	'Limiter',
	'Cells',
	'Worst ratio',
	'Mean ratio',
	'Worst refused share',
	'Most refused',
	'Cells that miss',
];

/** The cells that miss the target, each with what it came to and why. */
export function missesOf(results: CellResult[]): string[][] {
	return large(results)
		.filter((result) => !isWithinTarget(result))
		.map((result) => [describe(result), figuresOf(result), reasonOf(result)]);
}

function figuresOf({ wallMs, leastMs, ratio, requests, refused }: CellResult): string {
	const seconds = `${(wallMs / 1_000).toFixed(1)} s, ${ratio.toFixed(2)} times ${(leastMs / 1_000).toFixed(1)} s`;
	return `${seconds}, ${refused} of ${requests} refused`;
}

/** `--cell` chooses those whose name has these words, `--most` those of so many items in all. */
async function main(): Promise<void> {
	const { values } = parseArgs({
		options: { cell: { type: 'string', multiple: true, default: [] }, most: { type: 'string' } },
	});
	const most = Number(values.most ?? Infinity);
	const results: CellResult[] = [];
	for (const cell of allCells()) {
		if (cell.items * cell.executions > most) continue;
		if (!values.cell.every((words) => describe(cell).includes(words))) continue;
		const result = await simulateCell(cell);
		results.push(result);
		say(`${describe(cell)}: ${figuresOf(result)}`);
	}
	say('');
	for (const row of [summaryHeads, ...summaryOf(results)]) say(row.join(' | '));
	say('');
	for (const miss of missesOf(results)) say(miss.join('; '));
}

function say(line: string): void {
	process.stdout.write(`${line}\n`);
}

if (require.main === module) void main();
