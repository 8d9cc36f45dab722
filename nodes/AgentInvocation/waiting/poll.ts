import { clock } from '../clock';
import { failed, toBegin, type Item, type Wait, type Waiting } from '../item';
import type { Answer } from '../service/answer';
import { getRun } from '../service/endpoints';
import { explainAnswer } from '../service/explainAnswer';
import {
	backoffMs,
	isRefusedOrLate,
	isRetried,
	isRetriedBriefly,
	READ_PATIENCE_MS,
	refusedBackoffMs,
	retryAfterMs,
} from '../service/retryPolicy';
import { hasSucceeded, isFinished } from '../service/runStatus';
import { sendOnce } from '../service/sendWithRetry';
import { requestTimeouts, type Service } from '../service/service';
import type { Run } from '../service/types';
import { durationsOf } from './durations';
import { noAnswer, resultOf, timeIsUp } from './output';
import { storableDelayAfterFailure, TRIAL_MS } from './schedule';
import { dueAfter, leastDelayMs, limitOf, scheduledDelay, type Pass } from './wait';

/** For how long after a wait's beginning a `run_not_found` may be premature, in ms, if the service has shown the run. */
const NOT_FOUND_GRACE_MS = 10_000;

/**
 * How long a poll at the time limit is repeated if it gets no answer, in ms. If the service has put it off,
 * it is made later, within {@link READ_PATIENCE_MS}.
 */
const GRACE_MS = 60_000;

/** How much of the time between a wait's end and the workflow's own timeout its last poll may take, in ms. */
const LAST_POLL_MS = 20_000;

/**
 * How many 429s a poll may get after the time limit while other requests are carried. With many polls, each
 * gets one now and then. A poll that only waits because of another one's 429 has not got one.
 */
const MOST_REFUSALS = 8;

/** A pause of all requests that is longer than this, in ms, is not waited out: the poll is put off. */
const LONGEST_PAUSE_MS = 10_000;

/** How long before the end of such a pause the poll comes back, in ms, so that it has its turn before creates. */
const BEFORE_PAUSE_ENDS_MS = 5_000;

/** How many times at most the time for a poll's answer is doubled: once for each failure before it. */
const MOST_DOUBLINGS = 2;

/** What a poll needs. */
interface Polling extends Pass {
	service: Service;
	signal: AbortSignal;
}

/**
 * Polls an item's run once. After a temporary failure, the next poll is put off.
 *
 * Only an answer to a poll that was sent at or after the time limit can show that the run has not finished in
 * time. If such a poll gets no answer, it is repeated for {@link GRACE_MS}.
 *
 * A failure that another poll would meet as well fails the item. If an earlier attempt's run turns out to
 * have failed or to be gone, its item is begun again.
 */
export async function pollRun(item: Waiting, polling: Polling): Promise<Item> {
	const { service, time, latestEndOn, signal } = polling;
	const { run, wait } = item;
	const timeoutMs = wait.mayBeEarly ? requestTimeouts.shortPoll : requestTimeouts.GET;
	// A long output may take long to arrive.
	const longestMs = 2 * timeoutMs * 2 ** Math.min(wait.failuresInARow, MOST_DOUBLINGS);
	const request = { ...getRun(run.agentId, run.runId), timeoutMs, longestMs };
	const polledOn = time.date();
	const answer = await sendOnce(service, request, {
		since: Math.max(clock.now(), time.momentOf(limitOf(wait, polling))),
		patienceMs: GRACE_MS,
		longestPauseMs: LONGEST_PAUSE_MS,
		deadline: time.momentOf(latestEndOn + LAST_POLL_MS),
		signal,
	});
	if (signal.aborted || answer.kind === 'cancelled') return item;
	return answer.body
		? afterSeeing(item, answer, answer.body, polling)
		: afterFailing(item, answer, polling, polledOn);
}

function afterSeeing(item: Waiting, answer: Answer, seen: Run, pass: Pass): Item {
	const { run, wait } = item;
	if (isFinished(seen)) {
		const mostMs = wait.isOfNewRun ? pass.time.date() - wait.beganOn : Infinity;
		durationsOf(run).learn(seen, mostMs);
		const result = resultOf(item, seen, wait.options);
		const hasFailed = result.is === 'failed' && !hasSucceeded(seen);
		return wait.mayBeginAgain && hasFailed ? toBegin(item.earlier) : result;
	}
	const limitOn = limitOf(wait, pass);
	const sentOn = pass.time.dateOf(answer.sentAt ?? 0);
	if (sentOn >= limitOn) return timeIsUp(item, seen, limitOn);
	const isFresh = Math.round(sentOn - wait.beganOn) < TRIAL_MS;
	const next = {
		...item,
		wait: {
			...wait,
			isOnTrial: wait.isOnTrial && isFresh,
			mayBeginAgain: undefined,
			wasSeen: true,
			failuresInARow: 0,
			briefAnswers: 0,
		},
	};
	return dueAfter(next, scheduledDelay(next, pass), retryAfterMs(answer), pass);
}

function afterFailing(item: Waiting, answer: Answer, polling: Polling, polledOn: number): Item {
	const { run, wait } = item;
	const limitOn = limitOf(wait, polling);
	const isAtLimit = polledOn >= limitOn;
	// For a 429, the limiter already keeps all requests waiting as long as the service asks.
	const askedMs = isRefusedOrLate(answer) ? 0 : retryAfterMs(answer);
	const isUnknown = isUnknownYet(answer, wait, polling);
	if (isUnknown && !isAtLimit)
		return dueAfter(item, scheduledDelay(item, polling), askedMs, polling);
	const failure = explainAnswer(answer, { agentId: run.agentId, baseUrl: run.baseUrl });
	const purpose = wait.wasSeen ? 'poll' : 'firstPoll';
	const isBrief = isRetriedBriefly(answer, purpose);
	const briefAnswers = wait.briefAnswers + (isBrief ? 1 : 0);
	if (!isUnknown && !isRetried(answer, purpose, briefAnswers)) {
		const isGone = failure.details.code === 'run_not_found';
		if (!wait.mayBeginAgain || !isGone) return failed(item, failure);
		const { earlier = [], ...own } = item;
		return toBegin([{ ...own, isGone: true }, ...earlier]);
	}
	const met: Wait = { ...wait, failuresInARow: wait.failuresInARow + 1, briefAnswers };
	if (isAtLimit && met.graceBeganOn === undefined) {
		// This time is too short to store the execution, and for the long pauses that come after many failures.
		met.graceBeganOn = polledOn;
		met.where = 'memory';
		met.failuresInARow = 1;
	}
	if (isAtLimit && answer.kind === 'rateLimited') met.refusals = (met.refusals ?? 0) + 1;
	const next: Waiting = { ...item, wait: met };
	const delay = delayAfterFailing(next, answer, polling);
	if (met.graceBeganOn !== undefined && isRefusedOrLate(answer)) {
		met.heldMs = (met.heldMs ?? 0) + Math.max(delay, askedMs);
	}
	return isGraceOver(met, answer, Math.max(delay, askedMs), polling)
		? noAnswer(next, failure, limitOn)
		: dueAfter(next, delay, askedMs, polling);
}

/**
 * Whether a poll at the time limit is not repeated any more: after the grace; if a rate limit delays its turn, not until
 * {@link READ_PATIENCE_MS} after the service last answered anything; in any case when the workflow's own timeout comes. A poll
 * that was itself refused {@link MOST_REFUSALS} times has had its turn.
 */
function isGraceOver(
	{ graceBeganOn, refusals = 0, heldMs = 0 }: Wait,
	answer: Answer,
	delay: number,
	{ service: { limiter }, time, latestEndOn }: Polling,
): boolean {
	if (graceBeganOn === undefined) return false;
	const hasTurn = isRefusedOrLate(answer) && refusals < MOST_REFUSALS;
	const from = Math.max(time.momentOf(graceBeganOn), hasTurn ? limiter.answeredAt : -Infinity);
	const now = clock.now();
	const nextAt = now + delay;
	const latestAt = time.momentOf(latestEndOn + LAST_POLL_MS);
	const isOver = !hasTurn && now >= from + GRACE_MS + heldMs;
	return isOver || nextAt > from + READ_PATIENCE_MS || nextAt >= latestAt;
}

function delayAfterFailing(item: Waiting, answer: Answer, polling: Polling): number {
	const { limiter } = polling.service;
	const { wait } = item;
	if (isRefusedOrLate(answer)) {
		const pauseMs = limiter.pausedUntilFor('poll') - clock.now() - BEFORE_PAUSE_ENDS_MS;
		// A poll that was not sent need not keep the shortest delay between polls.
		const leastMs = answer.kind === 'late' ? 0 : leastDelayMs(wait);
		return Math.max(pauseMs, refusedBackoffMs(wait.failuresInARow), leastMs);
	}
	const backoff = backoffMs(answer, wait.failuresInARow);
	if (wait.graceBeganOn !== undefined) return backoff;
	return storableDelayAfterFailure(wait.failuresInARow, scheduledDelay(item, polling), backoff);
}

/** Whether a `run_not_found` may be premature: the service has shown the run, and the wait has just begun. */
function isUnknownYet(
	{ serviceError }: Answer,
	{ wasSeen, beganOn }: Wait,
	{ time }: Pass,
): boolean {
	if (!wasSeen || serviceError?.code !== 'run_not_found') return false;
	return time.date() - beganOn < NOT_FOUND_GRACE_MS;
}
