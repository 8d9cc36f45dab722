import type { Answer } from '../api/answer';
import { getRun } from '../api/endpoints';
import { backoffMs, isRetried } from '../api/retryPolicy';
import { sendPatiently } from '../api/sendPatiently';
import type { Service } from '../api/service';
import { isFinished, type Run } from '../api/types';
import type { Clock } from './clock';
import type { Durations } from './durations';
import { delayBeforeNextLook } from './schedule';

/** How long after its creation a run that the service does not know yet is looked for again, in ms. */
export const NOT_FOUND_GRACE_MS = 10_000;

/** A run that is waited for. */
export interface Wait {
	agentId: number;
	runId: string;
	/** What the service has answered about the run so far; absent when it was not asked yet. */
	lastSeen?: Run;
	/** When the run was created, or the waiting began, by the clock. */
	startedAt: number;
	/** How long to wait from `startedAt`, in ms; 0 for no limit. */
	timeoutMs: number;
	/** A fixed delay between looks, in ms; 0 for the automatic one. */
	pollIntervalMs: number;
	/** Whether the time limit is not the user's own, but what is left until the workflow's timeout. */
	endsWithWorkflow?: boolean;
}

/**
 * How a wait ended.
 *
 * - `finished`: the run is succeeded, failed or cancelled (or unknown, with `completed_at` set).
 * - `timeLimit`: it goes on at the service. `answer` is the trouble that the last look met, if any.
 * - `rejected`: the service does not show the run, and looking again would not help.
 * - `parked`: somebody else goes on waiting.
 * - `halted`: the signal came.
 */
export type WaitEnd =
	| { why: 'finished'; run: Run }
	| { why: 'timeLimit'; lastSeen?: Run; answer?: Answer }
	| { why: 'rejected'; answer: Answer }
	| { why: 'parked' }
	| { why: 'halted' };

/** A look after which the wait goes on. `pauseMs` is how long the service asked to be left alone. */
interface Unfinished {
	why: 'unfinished';
	lastSeen?: Run;
	pauseMs: number;
}

/** Passes the time between two looks, in ms, and tells whether somebody else took over the wait meanwhile. */
export type Pause = (ms: number, lastSeen: Run, signal?: AbortSignal) => Promise<'over' | 'parked'>;

function sleepThrough(clock: Clock): Pause {
	return async (ms, _lastSeen, signal) => {
		await clock.sleep(ms, signal);
		return 'over';
	};
}

/** What waiting needs besides the run. */
export interface Waiting {
	clock: Clock;
	durations: Durations;
	/** Sleeps when absent. */
	pause?: Pause;
	signal?: AbortSignal;
}

/**
 * Looks at a run until it has finished or the time is up: soon at first, then at growing delays
 * (`schedule.ts`). The last look is at the time limit itself, never after it.
 */
export async function waitForRun(
	service: Service,
	wait: Wait,
	{ clock, durations, pause = sleepThrough(clock), signal }: Waiting,
): Promise<WaitEnd> {
	const deadline = deadlineOf(wait);
	let lastSeen = wait.lastSeen;
	if (lastSeen && isFinished(lastSeen)) return { why: 'finished', run: lastSeen };

	for (;;) {
		if (lastSeen !== undefined) {
			const now = clock.now();
			const expectedMs = durations.expect(wait.agentId);
			const delay = delayBeforeNextLook({
				waitedMs: now - wait.startedAt,
				pollIntervalMs: wait.pollIntervalMs,
				...(expectedMs !== undefined && { expectedMs }),
			});
			const ms = Math.min(delay, deadline - now);
			if ((await pause(ms, lastSeen, signal)) === 'parked') return { why: 'parked' };
			if (signal?.aborted) return { why: 'halted' };
		}

		const look = await lookAtRun(service, { ...wait, lastSeen }, { clock, signal });
		if (look.why === 'finished') durations.learn(wait.agentId, look.run);
		if (look.why !== 'unfinished') return look;
		lastSeen = look.lastSeen ?? lastSeen;
	}
}

/**
 * Looks at a run once.
 *
 * @param patienceMs for how long trouble in passing is met by looking again; until the time limit when
 *   absent
 */
export async function lookAtRun(
	service: Service,
	wait: Wait,
	{
		clock,
		patienceMs = Infinity,
		signal,
	}: { clock: Clock; patienceMs?: number; signal?: AbortSignal },
): Promise<WaitEnd | Unfinished> {
	const { agentId, runId, lastSeen } = wait;
	const timeLimit = deadlineOf(wait);
	const purpose = lastSeen === undefined ? 'firstLook' : 'look';
	const answer = await sendPatiently(service, getRun(agentId, runId), purpose, {
		clock,
		deadline: Math.min(timeLimit, clock.now() + patienceMs),
		triesAtDeadline: timeLimit <= clock.now() + patienceMs,
		signal,
	});
	if (signal?.aborted || answer.kind === 'cancelled') return { why: 'halted' };

	const timeIsUp = clock.now() >= timeLimit;
	if (answer.kind === 'ok' && answer.body) {
		const run = answer.body;
		if (isFinished(run)) return { why: 'finished', run };
		if (timeIsUp) return { why: 'timeLimit', lastSeen: run };
		return { why: 'unfinished', lastSeen: run, pauseMs: 0 };
	}
	if (timeIsUp) {
		return isRetried(answer, purpose, 1)
			? { why: 'timeLimit', answer, ...(lastSeen && { lastSeen }) }
			: { why: 'rejected', answer };
	}
	// Patience is at its end, but not the time.
	if (isRetried(answer, purpose, Infinity)) {
		return { why: 'unfinished', pauseMs: backoffMs(answer, 1, clock.date(), 0) };
	}
	return isNotThereYet(answer, wait, clock.now())
		? { why: 'unfinished', pauseMs: 0 }
		: { why: 'rejected', answer };
}

/** When a wait's time limit is reached, by the clock; Infinity when it has none. */
export function deadlineOf({ startedAt, timeoutMs }: Wait): number {
	return timeoutMs > 0 ? startedAt + timeoutMs : Infinity;
}

/** A run that was just created may not be known yet to the part of the service that is asked. */
function isNotThereYet(
	{ serviceError }: Answer,
	{ lastSeen, startedAt }: Wait,
	now: number,
): boolean {
	const isOwn = lastSeen !== undefined;
	return isOwn && serviceError?.code === 'run_not_found' && now - startedAt < NOT_FOUND_GRACE_MS;
}
