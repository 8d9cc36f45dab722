import type { Clock } from '../clock';
import type { Answer } from '../service/answer';
import { getRun } from '../service/endpoints';
import { backoffMs, isRetried, retryAfterMs } from '../service/retryPolicy';
import { sendOnce } from '../service/sendWithRetry';
import { requestTimeouts, type Service } from '../service/service';
import { isFinished, type Run } from '../service/types';
import { durationsOf } from './durations';
import { delayAfterTrouble, delayBeforeNextPoll, SHORTEST_STORED_DELAY_MS } from './schedule';
import type { WaitOptions } from './waitOptions';

/** How long after its creation a run that the service does not know yet is polled all the same, in ms. */
export const NOT_FOUND_GRACE_MS = 10_000;

/** The longest pause of all requests that a poll waits out, in ms; in a longer one it is put off. */
const LONGEST_PAUSE_MS = 10_000;

/** A run that is waited for. Times are those of the clock, in ms. */
export interface Wait {
	agentId: number;
	runId: string;
	/** When the run was created, or the waiting began. */
	startedAt: number;
	options: WaitOptions;
	/** Where it really waits: not every option is possible everywhere. */
	where: WaitOptions['whereToWait'];
	/** When the time limit is reached; Infinity when there is none. */
	deadline: number;
	/** What the service has answered about the run so far; absent when it was not asked yet. */
	lastSeen?: Run;
	/** How many polls in a row have met trouble. */
	troubles: number;
	/** Whether an earlier attempt of the node has started the run, and this one has not seen it yet. */
	isEarlier: boolean;
	/** When to poll next. */
	dueAt: number;
	/** Whether the delay until then is long enough for n8n to store the execution. */
	isLong: boolean;
}

/**
 * What a poll tells.
 *
 * - `finished`: the run is succeeded, failed or cancelled (or unknown, with `completed_at` set).
 * - `timeLimit`: it goes on at the service. `answer` is the trouble that the last poll met, if any.
 * - `rejected`: the service does not show the run, and polling again would not help.
 * - `waiting`: the wait goes on.
 * - `stopped`: the signal came.
 */
export type Poll =
	| { is: 'finished'; run: Run }
	| { is: 'timeLimit'; lastSeen?: Run | undefined; answer?: Answer }
	| { is: 'rejected'; answer: Answer }
	| { is: 'waiting'; wait: Wait }
	| { is: 'stopped' };

/**
 * Begins a wait that is due after its first delay, or at once.
 *
 * @param isDueNow whether the run may have finished already
 */
export function beginWait(
	wait: Omit<Wait, 'dueAt' | 'isLong' | 'troubles'>,
	baseUrl: string,
	clock: Clock,
	isDueNow: boolean,
): Wait {
	const begun = { ...wait, troubles: 0, dueAt: clock.now(), isLong: false };
	return isDueNow ? begun : dueAfter(begun, scheduledDelay(begun, baseUrl, clock), clock);
}

/**
 * Polls a run once. Trouble in passing puts the next poll off, and the last one is at the time limit
 * itself.
 */
export async function pollRun(
	service: Service,
	wait: Wait,
	{ clock, signal }: { clock: Clock; signal?: AbortSignal },
): Promise<Poll> {
	const { agentId, runId, deadline } = wait;
	const request = {
		...getRun(agentId, runId),
		...(wait.isLong && wait.troubles === 0 && shortPoll()),
	};
	const answer = await sendOnce(service, request, {
		clock,
		deadline,
		sendsAtDeadline: true,
		longestPauseMs: LONGEST_PAUSE_MS,
		...(signal && { signal }),
	});
	if (signal?.aborted || answer.kind === 'cancelled') return { is: 'stopped' };

	const timeIsUp = clock.now() >= deadline;
	if (answer.kind === 'ok' && answer.body) {
		const run = answer.body;
		if (isFinished(run)) {
			durationsOf(service.baseUrl, agentId).learn(run);
			return { is: 'finished', run };
		}
		if (timeIsUp) return { is: 'timeLimit', lastSeen: run };
		const seen = { ...wait, lastSeen: run, troubles: 0, isEarlier: false };
		const asked = retryAfterMs(answer, clock.date());
		const delay = Math.max(scheduledDelay(seen, service.baseUrl, clock), asked);
		return { is: 'waiting', wait: dueAfter(seen, delay, clock) };
	}

	if (isNotThereYet(answer, wait, clock.now()) && !timeIsUp) {
		const delay = scheduledDelay(wait, service.baseUrl, clock);
		return { is: 'waiting', wait: dueAfter(wait, delay, clock) };
	}
	const troubles = wait.troubles + 1;
	const purpose = wait.lastSeen === undefined ? 'firstPoll' : 'poll';
	if (isRetried(answer, purpose, troubles)) {
		if (timeIsUp) return { is: 'timeLimit', lastSeen: wait.lastSeen, answer };
		const met = { ...wait, troubles };
		const delay = troubleDelay(met, answer, service, clock);
		return { is: 'waiting', wait: dueAfter(met, delay, clock) };
	}
	return { is: 'rejected', answer };
}

function shortPoll() {
	return { timeoutMs: requestTimeouts.shortPoll };
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
		expectedMs: durationsOf(baseUrl, wait.agentId).expect(),
	});
}

function troubleDelay(wait: Wait, answer: Answer, service: Service, clock: Clock): number {
	const scheduled = scheduledDelay(wait, service.baseUrl, clock);
	// The limiter knows for how long a rate limit holds.
	if (answer.kind === 'rateLimited' || answer.kind === 'late') {
		return Math.max(service.limiter.pausedUntil - clock.now(), leastDelayMs(wait));
	}
	const date = clock.date();
	const backoff = backoffMs(answer, wait.troubles, date, Math.random());
	const delay = delayAfterTrouble(wait.troubles, scheduled, backoff);
	return Math.max(delay, retryAfterMs(answer, date));
}

function dueAfter(wait: Wait, delay: number, clock: Clock): Wait {
	const left = wait.deadline - clock.now();
	const isLong = Math.min(delay, left) >= SHORTEST_STORED_DELAY_MS;
	return { ...wait, dueAt: clock.now() + Math.min(delay, left), isLong };
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
