import { parseArgs } from 'node:util';

import { SimulatedHost } from '../test/unit/simulatedHost.cts';
import { SimulatedService } from '../test/unit/simulatedService.cts';
import { limiters, type Limiter } from './limiters.cts';
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
 * The least time for any client: it knows the limiter and sends each request at the first moment at which
 * it is carried, all creates before the polls, and one poll for each run, when that has ended.
 */
function leastMsOf(cell: Cell): number {
	const limiter = limiterOf(cell);
	const count = cell.items * cell.executions;
	let now = 0;
	const send = (from: number) => {
		now = Math.max(now, from);
		for (let wait = limiter(now); wait > 0; wait = limiter(now)) now += Math.max(wait, 1e-6);
		return now;
	};
	const createdAt = Array.from({ length: count }, () => send(0));
	for (const at of createdAt) send(at + Math.max(RUN_MS, cell.roundTripMs));
	return now + cell.roundTripMs;
}

async function main(): Promise<void> {
	const { values } = parseArgs({
		options: { cell: { type: 'string', multiple: true, default: [] }, most: { type: 'string' } },
	});
	const most = Number(values.most ?? Infinity);
	const cells = allCells().filter(
		(cell) =>
			cell.items * cell.executions <= most &&
			values.cell.every((words) => describe(cell).includes(words)),
	);
	const began = process.hrtime.bigint();
	let missed = 0;
	const by: Record<
		string,
		{ ratio: number; share: number; n: number; missed: number; sum: number }
	> = {};
	for (const cell of cells) {
		const result = await simulateCell(cell);
		const big = cell.items * cell.executions >= 100;
		const ok = isWithinTarget(result);
		if (big && !ok) missed++;
		const key = `${cell.limiter ?? 'none'} ${cell.rate}`;
		if (big) {
			const e = (by[key] ??= { ratio: 0, share: 0, n: 0, missed: 0, sum: 0 });
			e.ratio = Math.max(e.ratio, result.ratio);
			e.sum += result.ratio;
			e.n++;
			if (!ok) e.missed++;
			if (result.refused > 25) e.share = Math.max(e.share, result.refusedShare);
		}
		if (process.env.V || (big && !ok))
			process.stdout.write(
				`${describe(cell).padEnd(80)} ${(result.wallMs / 1_000).toFixed(2)} ${(result.leastMs / 1_000).toFixed(2)} ${result.ratio.toFixed(2)} ${result.requests} ${result.refused} ${(result.refusedShare * 100).toFixed(1)}% ${ok ? '' : 'MISS'}\n`,
			);
	}
	for (const [k, e] of Object.entries(by))
		console.log(
			k.padEnd(45),
			'worst',
			e.ratio.toFixed(2),
			'mean',
			(e.sum / e.n).toFixed(3),
			'share',
			(e.share * 100).toFixed(1),
			'missed',
			e.missed,
			'/',
			e.n,
		);
	const s = Number(process.hrtime.bigint() - began) / 1e9;
	process.stdout.write(`${cells.length} cells, ${missed} missed, ${s.toFixed(1)} s\n`);
}

if (require.main === module) void main();
