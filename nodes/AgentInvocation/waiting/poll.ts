import type { Clock } from '../clock';
import type { Answer } from '../service/answer';
import { getRun } from '../service/endpoints';
import { explainAnswer } from '../service/explainAnswer';
import {
	backoffMs,
	isRetried,
	isRetriedBriefly,
	READ_PATIENCE_MS,
	retryAfterMs,
} from '../service/retryPolicy';
import { isFinished } from '../service/runStatus';
import { sendOnce } from '../service/sendWithRetry';
import { requestTimeouts, type Service } from '../service/service';
import { durationsOf } from './durations';
import type { Step, Wait } from '../itemState';
import { noAnswer, resultOf, timeIsUp } from './output';
import { delayAfterTrouble, delayBeforeNextPoll, SHORTEST_STORED_DELAY_MS } from './schedule';

/** How long after its creation a run that the service does not know yet is polled all the same, in ms. */
export const NOT_FOUND_GRACE_MS = 10_000;

/**
 * For how long a poll is repeated that gets no answer at the time limit, in ms. One that the service has put
 * off is made later, within {@link READ_PATIENCE_MS}.
 */
const GRACE_MS = 60_000;

/**
 * How many times the rate limit may refuse a poll after the time limit while others are carried. It does so
 * now and then to each of a crowd; those that are put off with the one that is refused are not refused.
 */
const MOST_REFUSALS = 8;

/** The longest pause of all requests that a poll waits out, in ms; in a longer one it is put off. */
const LONGEST_PAUSE_MS = 10_000;

/**
 * Begins a wait that is due after its first delay, or at once.
 *
 * @param isDueNow whether the run may have finished already
 * @param asked for how long the answer to its creation asks clients to back off, in ms
 */
export function beginWait(
	wait: Omit<Wait, 'dueAt' | 'isLong' | 'troubles' | 'doubts'>,
	baseUrl: string,
	clock: Clock,
	isDueNow: boolean,
	asked = 0,
): Wait {
	const begun = { ...wait, troubles: 0, doubts: 0, dueAt: clock.now(), isLong: false };
	const delay = isDueNow ? 0 : scheduledDelay(begun, baseUrl, clock);
	return dueAfter(begun, delay, asked, clock);
}

/**
 * Polls a run once. A temporary failure puts the next poll off. Only an answer to a poll that was sent at
 * or after the time limit can say that the run has not finished in time; what gets no answer then is
 * repeated for {@link GRACE_MS}. What the service does not show, and would not another time, fails the item.
 */
export async function pollRun(
	service: Service,
	wait: Wait,
	{ clock, signal }: { clock: Clock; signal?: AbortSignal },
): Promise<Step> {
	const { agentId, runId, deadline, latestAt } = wait;
	const { baseUrl } = service;
	const isShort = wait.isLong && wait.troubles === 0;
	const request = {
		...getRun(agentId, runId),
		...(isShort && { timeoutMs: requestTimeouts.shortPoll }),
	};
	const since = clock.now();
	const answer = await sendOnce(service, request, {
		clock,
		since: Math.max(since, deadline),
		patienceMs: GRACE_MS,
		longestPauseMs: LONGEST_PAUSE_MS,
		deadline: latestAt,
		...(signal && { signal }),
	});
	if (signal?.aborted || answer.kind === 'cancelled') return { is: 'stopped' };

	const asked = isLimited(answer) ? 0 : retryAfterMs(answer, clock.date());
	const waiting = (next: Wait, delay: number): Step => ({
		is: 'waiting',
		wait: dueAfter(next, delay, asked, clock),
	});
	if (answer.kind === 'ok' && answer.body) {
		const run = answer.body;
		if (isFinished(run)) {
			durationsOf(baseUrl, agentId).learn(run);
			return resultOf(run, wait, wait.options);
		}
		const seen = { ...wait, lastSeen: run, troubles: 0, isEarlier: false };
		if ((answer.sentAt ?? 0) >= deadline) return timeIsUp(seen);
		return waiting(seen, scheduledDelay(seen, baseUrl, clock));
	}
	const isToCome = isNotThereYet(answer, wait, clock.now());
	if (isToCome && since < deadline) return waiting(wait, scheduledDelay(wait, baseUrl, clock));
	const failure = explainAnswer(answer, { agentId, runId, baseUrl });
	const purpose = wait.lastSeen === undefined ? 'firstPoll' : 'poll';
	const doubts = wait.doubts + (isRetriedBriefly(answer, purpose) ? 1 : 0);
	if (!isToCome && !isRetried(answer, purpose, doubts)) return { is: 'failed', failure };
	const met: Wait = { ...wait, troubles: wait.troubles + 1, doubts };
	if (since >= deadline && met.graceFrom === undefined) {
		// It is too short to be stored, and too precious for the long pauses of a long trouble.
		Object.assign(met, { graceFrom: since, where: 'memory', troubles: 1 });
	}
	if (met.graceFrom !== undefined && answer.kind === 'rateLimited') {
		met.refusals = (met.refusals ?? 0) + 1;
	}
	const now = clock.now();
	const delay = troubleDelay(met, answer, service, clock);
	const isOver = isGraceOver(met, answer, service, now, now + Math.max(delay, asked));
	return isOver ? noAnswer(met, failure) : waiting(met, delay);
}

/**
 * While others with the same API key are served, a rate limit is not the end: its turn comes as well, unless
 * it is this very request that the service refuses, again and again.
 */
function isGraceOver(
	{ graceFrom, refusals = 0, latestAt }: Wait,
	answer: Answer,
	{ limiter }: Service,
	now: number,
	nextAt: number,
): boolean {
	if (graceFrom === undefined) return false;
	const hasTurn = isLimited(answer) && refusals < MOST_REFUSALS;
	const from = hasTurn ? Math.max(graceFrom, limiter.carriedAt) : graceFrom;
	return now >= from + GRACE_MS || nextAt > from + READ_PATIENCE_MS || nextAt >= latestAt;
}

/** Whether a rate limit is in the way: the limiter knows for how long. */
function isLimited({ kind }: Answer): boolean {
	return kind === 'rateLimited' || kind === 'late';
}

/** A wait that is stored from the start has no delay that n8n does not store. */
function leastDelayMs({ where }: Wait): number {
	return where === 'stored' ? SHORTEST_STORED_DELAY_MS : 0;
}

function scheduledDelay(wait: Wait, baseUrl: string, clock: Clock): number {
	return delayBeforeNextPoll({
		waitedMs: clock.now() - wait.startedAt,
		pollIntervalMs: wait.options.pollIntervalMs,
		leastMs: leastDelayMs(wait),
		endsMs: durationsOf(baseUrl, wait.agentId).endsMs,
	});
}

function troubleDelay(wait: Wait, answer: Answer, service: Service, clock: Clock): number {
	const scheduled = scheduledDelay(wait, service.baseUrl, clock);
	if (isLimited(answer)) {
		return Math.max(service.limiter.pausedUntil - clock.now(), leastDelayMs(wait));
	}
	const backoff = backoffMs(answer, wait.troubles, clock.date(), Math.random());
	const isGrace = wait.graceFrom !== undefined;
	return isGrace ? backoff : delayAfterTrouble(wait.troubles, scheduled, backoff);
}

/**
 * The last poll before the time limit is at the limit itself. A wait that the service has put off is not
 * polled earlier so that others can be stored.
 *
 * @param asked for how long the service asks clients to back off, in ms
 */
function dueAfter(wait: Wait, delay: number, asked: number, clock: Clock): Wait {
	const now = clock.now();
	const untilLimit = wait.graceFrom === undefined ? Math.max(wait.deadline - now, 0) : Infinity;
	const left = Math.min(Math.max(delay, asked), untilLimit);
	const isLong = left >= SHORTEST_STORED_DELAY_MS && asked === 0;
	return { ...wait, dueAt: now + left, isLong };
}

/** A run that was just created may not be known yet to the part of the service that is asked. */
function isNotThereYet({ serviceError }: Answer, wait: Wait, now: number): boolean {
	if (wait.lastSeen === undefined || serviceError?.code !== 'run_not_found') return false;
	return now - wait.startedAt < NOT_FOUND_GRACE_MS;
}
