import { parseArgs } from 'node:util';

import {
	describe,
	isWithinTarget,
	simulateCell,
	type Cell,
	type CellResult,
} from '../test/support/simulation/cells.cts';
import { limiters } from '../test/support/simulation/world/limiters.cts';

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
