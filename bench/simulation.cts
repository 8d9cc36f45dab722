import { parseArgs } from 'node:util';

import {
	describe,
	isWithinTarget,
	limitOf,
	mostRatio,
	simulateCell,
	type Cell,
	type CellResult,
} from '../test/support/simulation/cells.cts';
import { limiters } from '../test/support/simulation/world/limiters.cts';
import { percent } from './words.cts';

/** All combinations, those with most requests last. */
export function allCells(): Cell[] {
	const cells: Cell[] = [];
	for (const items of [10, 100, 1_000]) {
		for (const executions of [1, 20]) {
			for (const roundTripMs of [5, 50, 200]) {
				const load = { roundTripMs, items, executions };
				const unlimited = { limiter: undefined, rate: Infinity, saysRetryAfter: false, ...load };
				cells.push(unlimited);
				// Ten items are all that a trial has.
				if (items > 10) cells.push({ ...unlimited, hasTrial: true });
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

/** The results that the target is about. */
export function large(results: CellResult[]): CellResult[] {
	return results.filter(({ items, executions }) => items * executions >= 100);
}

/** The results in groups of one name, in the order of their first ones. */
function groups(results: CellResult[], name: (result: CellResult) => string): CellResult[][] {
	const byName = new Map<string, CellResult[]>();
	for (const result of results) {
		const key = name(result);
		byName.set(key, [...(byName.get(key) ?? []), result]);
	}
	return [...byName.values()];
}

export const summaryHeads = [
	'Limit (1/s)',
	'Limiter',
	'Cells',
	'Target ratio',
	'Worst ratio',
	'Mean ratio',
	'Worst refused share',
	'Most refused',
	'Cells that miss',
];

/** By rate and limiter, over the cells of 100 items or more: the worst of each, and how many miss. */
export function summaryOf(results: CellResult[]): Array<Array<string | number>> {
	const name = ({ rate, limiter = '', hasTrial = false }: Cell) => `${rate} ${limiter} ${hasTrial}`;
	return groups(large(results), name).map((group) => {
		const { rate, limiter } = group[0]!;
		const worst = (of: (result: CellResult) => number) => Math.max(...group.map(of));
		return [
			rate === Infinity ? '' : rate,
			limiter ?? limitOf(group[0]!),
			group.length,
			mostRatio(group[0]!),
			worst(({ ratio }) => ratio).toFixed(2),
			(group.reduce((sum, { ratio }) => sum + ratio, 0) / group.length).toFixed(2),
			`${(worst(({ refusedShare }) => refusedShare) * 100).toFixed(1)}%`,
			worst(({ refused }) => refused),
			group.filter((result) => !isWithinTarget(result)).length,
		];
	});
}

/** Why a cell misses its target: the first of these that is so. */
const REASONS: Array<[isIt: (result: CellResult) => boolean, why: string]> = [
	[
		({ limiter }) => limiter === undefined,
		'Nothing says that there is no limit. At most 15 requests are under way, or 80 a second sent, at first; that rate grows by half in a second. A start that is quick enough for these two makes twelve cells with a limit of 20 or 100 a second miss their target',
	],
	[
		(result) => result.ratio <= mostRatio(result),
		'Refused are the requests that were under way when the limit was met, and those that found it',
	],
	[
		({ ratio }) => ratio > 1.7,
		'The first refusals came at once, so the limit was taken for half of what it is or less, and the rate grew slowly from there',
	],
	[
		({ leastMs }) => leastMs < 5_000,
		'Over so soon that finding the limit takes a large part of it',
	],
	[() => true, 'Several pauses, of a second or more each, until the limit was known'],
];

export const cellMissHeads = [
	'Limit',
	'Cells',
	'Executions × items, round trip (ms)',
	'Ratio',
	'Refused',
	'Why',
];

/** The cells that miss their target and why; those of one limit that have the same reason are one row. */
export function missesOf(results: CellResult[]): Array<Array<string | number>> {
	const missed = large(results).filter((result) => !isWithinTarget(result));
	const sorted = REASONS.flatMap(([, why]) => missed.filter((one) => reasonOf(one) === why));
	const name = (one: CellResult) => JSON.stringify([reasonOf(one), limitOf(one)]);
	return groups(sorted, name).map((group) => {
		const loads = groups(group, ({ items, executions }) => `${executions} × ${items}`);
		const range = (of: (result: CellResult) => number, unit: (value: number) => string) => {
			const values = group.map(of);
			const ends = [Math.min(...values), Math.max(...values)].map(unit);
			return [...new Set(ends)].join(' to ');
		};
		return [
			limitOf(group[0]!),
			group.length,
			loads
				.map((load) => {
					const trips = load.map(({ roundTripMs }) => roundTripMs).join(', ');
					return `${load[0]!.executions} × ${load[0]!.items}: ${trips}`;
				})
				.join('; '),
			range(
				({ ratio }) => ratio,
				(ratio) => ratio.toFixed(2),
			),
			`${range(({ refused }) => refused, String)} (${range(({ refusedShare }) => refusedShare, percent)})`,
			reasonOf(group[0]!),
		];
	});
}

function reasonOf(result: CellResult): string {
	return REASONS.find(([isIt]) => isIt(result))![1];
}

/** How many miss. */
export function countMisses(results: CellResult[]): number {
	return large(results).filter((result) => !isWithinTarget(result)).length;
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
		const { wallMs, leastMs, ratio, requests, refused } = result;
		const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
		say(
			`${describe(cell)}: ${seconds(wallMs)}, ${ratio.toFixed(2)} times ${seconds(leastMs)}, ${refused} of ${requests} refused`,
		);
	}
	say('');
	for (const row of [summaryHeads, ...summaryOf(results)]) say(row.join(' | '));
	say('');
	for (const row of [cellMissHeads, ...missesOf(results)]) say(row.join(' | '));
}

function say(line: string): void {
	process.stdout.write(`${line}\n`);
}

if (require.main === module) void main();
