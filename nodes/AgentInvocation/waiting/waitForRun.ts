import type { Answer } from '../api/answer';
import { getRun } from '../api/endpoints';
import { isRetried } from '../api/retryPolicy';
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
}

/**
 * How a wait ended.
 *
 * - `finished`: the run is succeeded, failed or cancelled (or unknown, with `completed_at` set).
 * - `timeLimit`: it goes on at the service. `answer` is the trouble that the last look met, if any.
 * - `rejected`: the service does not show the run, and looking again would not help.
 * - `halted`: the signal came.
 */
export type WaitEnd =
	| { why: 'finished'; run: Run }
	| { why: 'timeLimit'; lastSeen?: Run; answer?: Answer }
	| { why: 'rejected'; answer: Answer }
	| { why: 'halted' };

/**
 * Looks at a run until it has finished or the time is up: soon at first, then at growing delays
 * (`schedule.ts`). The last look is at the time limit itself, never after it.
 */
export async function waitForRun(
	service: Service,
	wait: Wait,
	{ clock, durations, signal }: { clock: Clock; durations: Durations; signal?: AbortSignal },
): Promise<WaitEnd> {
	const deadline = wait.timeoutMs > 0 ? wait.startedAt + wait.timeoutMs : Infinity;
	const request = getRun(wait.agentId, wait.runId);
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
			await clock.sleep(Math.min(delay, deadline - now), signal);
			if (signal?.aborted) return { why: 'halted' };
		}

		const purpose = lastSeen === undefined ? 'firstLook' : 'look';
		const answer = await sendPatiently(service, request, purpose, { clock, deadline, signal });
		const timeIsUp = clock.now() >= deadline;
		if (signal?.aborted || answer.kind === 'cancelled') return { why: 'halted' };
		if (answer.kind === 'ok' && answer.body) {
			lastSeen = answer.body;
			if (isFinished(lastSeen)) {
				durations.learn(wait.agentId, lastSeen);
				return { why: 'finished', run: lastSeen };
			}
			if (timeIsUp) return { why: 'timeLimit', lastSeen };
			continue;
		}
		if (timeIsUp && isRetried(answer, purpose, 1)) {
			return { why: 'timeLimit', answer, ...(lastSeen && { lastSeen }) };
		}
		if (timeIsUp || !isNotThereYet(answer, wait, clock.now())) return { why: 'rejected', answer };
	}
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
