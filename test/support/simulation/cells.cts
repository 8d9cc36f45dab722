import { OwnWorld } from './ownWorld.cts';
import { limiters, type Limiter } from './world/limiters.cts';

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

/** What the node itself does in a cell, on virtual time. */
export async function simulateCell(cell: Cell): Promise<CellResult> {
	const { saysRetryAfter, roundTripMs, items, executions } = cell;
	const options = { timeout: 0, maxConcurrency: 1_000 };
	const one = { count: items, options, runOf: () => ({ durationMs: RUN_MS }) };
	const world = new OwnWorld({
		...one,
		beside: new Array<typeof one>(executions - 1).fill(one),
		service: { tripMs: [roundTripMs, roundTripMs] },
		hand: {
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
