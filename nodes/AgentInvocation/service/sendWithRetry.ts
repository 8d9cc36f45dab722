import { clock, orAborted, within } from '../clock';
import type { Answer } from './answer';
import type { Purpose } from './answerKinds';
import type { ServiceRequest } from './endpoints';
import type { Priority } from './pacesByPriority';
import type { Patience } from './rateLimiter';
import {
	backoffMs,
	isRetried,
	isRetriedBriefly,
	LONGEST_REFUSED_CREATE_MS,
	refusedBackoffMs,
	UNREACHED_MS,
} from './retryPolicy';
import { requestTimeouts, type Service } from './service';

const OVERDUE: Answer<never> = { kind: 'timedOut', reason: 'The answer was not complete in time' };

/**
 * Sends a request once, when its turn has come.
 *
 * For a POST that is under way, signal and deadline are ignored and the answer awaited: it may name a run. (If
 * the execution itself is cancelled, n8n's request helper ends the request.)
 *
 * @returns the answer; `aborted` if the signal came first, `late` if the patience ended first
 */
export async function sendOnce<T>(
	service: Service,
	request: ServiceRequest<T>,
	patience: Patience,
): Promise<Answer<T>> {
	const { limiter } = service;
	const { signal, deadline = Infinity } = patience;
	const priority = priorityOf(request);
	const turn = await limiter.admit({ owner: service.owner, priority, ...patience });
	if (turn === 'aborted') return { kind: 'aborted' };
	if (turn === 'late') return { ...limiter.refusalOf(priority), kind: 'late' };

	// The limiter recognizes the request by this moment, so it is noted before the credential is read, which may take long.
	const turnAt = clock.now();
	await within(deadline - clock.now(), orAborted(service.renew(), signal));
	const sentAt = clock.now();
	if (turn === 'released') return await sendOnce(service, request, patience);
	if (service.limiter !== limiter || signal?.aborted || sentAt >= deadline) {
		// It waited under the previous key, was aborted, or is too late by now.
		limiter.learn(priority, { kind: 'notSent' }, turnAt);
		return await sendOnce(service, request, patience);
	}
	const usualMs = request.timeoutMs ?? requestTimeouts[request.method];
	const leftMs = request.method === 'POST' ? Infinity : Math.ceil(deadline - sentAt);
	const timeoutMs = Math.min(usualMs, leftMs);
	// n8n's own timeout starts again with each byte that arrives, so a slow trickle of an answer would never end.
	const sending = within(
		request.longestMs ?? 2 * usualMs,
		service.send({ ...request, timeoutMs }),
	).then((answer = OVERDUE) => {
		// Once for each turn, even if nobody waits for the answer any more.
		limiter.learn(priority, answer, turnAt, request.path);
		return { ...answer, sentAt };
	});
	if (request.method === 'POST') return await sending;
	const answer = await within(leftMs, orAborted(sending, signal));
	return answer ?? (signal?.aborted ? { kind: 'aborted' } : OVERDUE);
}

/**
 * Sends a request again for as long as its purpose (`answerKinds.ts`) and the patience allow.
 *
 * @returns the last answer; its kind is `aborted` when the signal came first
 */
export async function sendWithRetry<T>(
	service: Service,
	request: ServiceRequest<T>,
	purpose: Purpose,
	given: Omit<Patience, 'since'>,
): Promise<Answer<T>> {
	const patience = { since: clock.now(), ...given };
	const { patienceMs, deadline = Infinity, signal } = patience;
	const longestRefusedMs = request.startsRun ? LONGEST_REFUSED_CREATE_MS : patienceMs;
	let last: Answer<T> | undefined;
	let briefAnswers = 0;
	let refusals = 0;
	let failures = 0;
	/** For how long it has backed off from refusals; what it waits for its turn behind others is no refusal. */
	let refusedMs = 0;
	/** The same for failures, with the requests themselves. */
	let failedMs = 0;
	for (;;) {
		const answer = await sendOnce(service, request, patience);
		// The answer before it says more about the cause.
		if (answer.kind === 'late') return last ?? answer;
		last = answer;
		// An address that has answered before is right, and probably away for minutes at most. Nothing was started.
		const isKnown = answer.kind === 'notConnected' && service.limiter.answeredAt > -Infinity;
		const isAway = request.startsRun && isKnown && failedMs < UNREACHED_MS;
		if (isRetriedBriefly(answer, purpose)) briefAnswers++;
		if (!isAway && !isRetried(answer, purpose, briefAnswers)) return answer;
		if (answer.kind === 'rateLimited') {
			const leftMs = Math.max(service.limiter.givesUpAt(patience) - clock.now(), 0);
			const pauseMs = Math.min(refusedBackoffMs(++refusals), leftMs);
			if (refusedMs > longestRefusedMs) return answer;
			const pausedMs = service.limiter.pausedUntilFor(priorityOf(request)) - clock.now();
			refusedMs += Math.max(pauseMs, Math.min(pausedMs, leftMs));
			await clock.sleep(pauseMs, signal);
			continue;
		}
		const now = clock.now();
		const pauseMs = backoffMs(answer, ++failures);
		failedMs += now - (answer.sentAt ?? now) + pauseMs;
		if (failedMs > patienceMs || now + pauseMs > deadline) return answer;
		await clock.sleep(pauseMs, signal);
	}
}

function priorityOf({ method, startsRun }: ServiceRequest<unknown>): Priority {
	if (method !== 'POST') return 'poll';
	return startsRun ? 'create' : 'dryRun';
}
