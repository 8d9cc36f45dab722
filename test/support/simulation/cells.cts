import { AUTOMATIC } from '../../../nodes/AgentInvocation/items/concurrency.ts';
import { OwnWorld } from './ownWorld.cts';
import { limiters, type Limiter } from './world/limiters.cts';

/** How long each run takes, in ms. */
const RUN_MS = 2_000;

/** What a request costs n8n itself, in ms: a real n8n sends some 400 a second (bench/RESULTS.md, 'Cost per item'). */
export const N8N_REQUEST_MS = 2.5;

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
	/** Whether Max Concurrency is left empty, so that ten items are tried first; else it is 1,000. */
	hasTrial?: boolean;
	/** Of all that is left to chance; 1 when absent. */
	seed?: number;
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

/** What the node itself does in a cell, on virtual time. */
export async function simulateCell(cell: Cell): Promise<CellResult> {
	const { saysRetryAfter, roundTripMs, items, executions, hasTrial, seed = 1 } = cell;
	const options = { timeout: 0, ...(!hasTrial && { maxConcurrency: 1_000 }) };
	const one = { count: items, options, runOf: () => ({ durationMs: RUN_MS }) };
	const world = new OwnWorld({
		...one,
		seed,
		beside: new Array<typeof one>(executions - 1).fill(one),
		service: { tripMs: [roundTripMs, roundTripMs] },
		hand: {
			// Where there is a limit, it is lower than what n8n can send.
			...(cell.limiter === undefined && { costMs: N8N_REQUEST_MS }),
			limits: { limiter: limiterOf(cell), retryAfter: saysRetryAfter ? 'seconds' : 'none' },
		},
	});
	await world.execute();
	const ends = Array.from({ length: executions }, (_, index) => world.seen(index));
	const outputs = ends.flatMap(({ jsons }) => jsons);
	const succeeded = outputs.filter(({ status }) => status === 'succeeded').length;
	if (succeeded !== items * executions || world.runs.length !== succeeded) {
		throw new Error(`${describe(cell)}: ${succeeded} succeeded of ${world.runs.length}`);
	}
	const wallMs = Math.max(...ends.map(({ ms }) => ms));
	const leastMs = leastMsOf(cell);
	const requests = world.requests.length;
	const refused = world.requests.filter(({ status }) => status === 429).length;
	const ratio = wallMs / leastMs;
	return { ...cell, wallMs, leastMs, ratio, requests, refused, refusedShare: refused / requests };
}

/** The most that a cell may take, as a multiple of the least. */
export function mostRatio({ limiter }: Cell): number {
	return limiter === undefined ? 1.5 : 1.3;
}

/** Whether a cell is within the target: its multiple of the least time, and 5 % or 25 requests refused. */
export function isWithinTarget(result: CellResult): boolean {
	const { ratio, refused, refusedShare } = result;
	return ratio <= mostRatio(result) && (refusedShare <= 0.05 || refused <= 25);
}

export function describe(cell: Cell): string {
	const { roundTripMs, items, executions } = cell;
	return `${limitOf(cell)}, ${roundTripMs} ms, ${executions} × ${items}`;
}

/** What limits a cell, in words. */
export function limitOf({ limiter, rate, saysRetryAfter, hasTrial }: Cell): string {
	if (limiter === undefined) return `no limit, ${hasTrial ? 'ten items first' : 'all at once'}`;
	return `${limiter}, ${rate}/s, ${saysRetryAfter ? 'with' : 'no'} Retry-After`;
}

function limiterOf({ limiter, rate }: Cell): Limiter {
	return limiter === undefined ? () => 0 : limiters[limiter]!(rate);
}

/**
 * The least time for a client that sends evenly, at the limiter's rate or as fast as n8n can: all creates, then
 * one poll for each run, when it has ended. With a trial, the creates after it begin when one of its runs has
 * been seen to end. One that uses a limiter's burst can take less.
 */
function leastMsOf({ limiter, rate, roundTripMs, items, executions, hasTrial }: Cell): number {
	const apartMs = limiter === undefined ? N8N_REQUEST_MS : 1_000 / rate;
	const evenly = (runs: number) =>
		Math.max((runs - 1) * apartMs + RUN_MS, (2 * runs - 1) * apartMs) + roundTripMs;
	const afterTrial = hasTrial ? (items - AUTOMATIC.onTrial) * executions : 0;
	return afterTrial > 0 ? RUN_MS + roundTripMs + evenly(afterTrial) : evenly(items * executions);
}
