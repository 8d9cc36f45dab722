import type { Answer, AnswerKind } from './answer';

/** What a request is for decides which answers are worth another try. */
export type Purpose = 'read' | 'create' | 'createRetryingServerErrors' | 'firstLook' | 'look';

type Patience = 'untilDeadline' | 'briefly';

/**
 * Which answers are followed by the same request again; all others are final.
 *
 * - A create is repeated only when the first one surely started nothing. The service has no
 *   idempotency key, so a run started twice stays started twice.
 * - A look at a run is repeated until the wait's deadline: transient trouble never ends the wait for
 *   a healthy run. Before the service has shown that run even once, an address that cannot be
 *   reached or trusted, or that answers with somebody else's page or a redirect, is more likely wrong
 *   than in trouble.
 */
const RETRIED: Record<Purpose, Partial<Record<AnswerKind, Patience>>> = {
	read: {
		rateLimited: 'untilDeadline',
		notConnected: 'briefly',
		connectionLost: 'briefly',
		timedOut: 'briefly',
		serverError: 'briefly',
	},
	create: {
		rateLimited: 'untilDeadline',
		notConnected: 'briefly',
	},
	createRetryingServerErrors: {
		rateLimited: 'untilDeadline',
		notConnected: 'briefly',
		serverError: 'briefly',
	},
	firstLook: {
		rateLimited: 'untilDeadline',
		notConnected: 'briefly',
		connectionLost: 'untilDeadline',
		timedOut: 'untilDeadline',
		serverError: 'untilDeadline',
		foreign: 'briefly',
		notSent: 'briefly',
	},
	look: {
		rateLimited: 'untilDeadline',
		notConnected: 'untilDeadline',
		connectionLost: 'untilDeadline',
		timedOut: 'untilDeadline',
		serverError: 'untilDeadline',
		foreign: 'untilDeadline',
		redirect: 'untilDeadline',
		notTrusted: 'untilDeadline',
		notSent: 'briefly',
	},
};

/** For how long a request that no wait's time limit bounds may be repeated, in ms. */
export const READ_PATIENCE_MS = 300_000;

/** The same for a request that a person waits for in the editor, in ms. */
export const EDITOR_PATIENCE_MS = 10_000;

/** How many times a request is sent in all where patience is brief. */
const BRIEF_TRIES = 5;

/** The first and the longest pause between tries, in ms. */
export const backoffRange = { first: 500, longest: 60_000 };

/**
 * Whether the request that got this answer is to be sent again.
 *
 * @param tries how many times it has been sent
 */
export function isRetried(answer: Answer, purpose: Purpose, tries: number): boolean {
	const patience = RETRIED[purpose][answer.kind];
	return patience === 'untilDeadline' || (patience === 'briefly' && tries < BRIEF_TRIES);
}

/**
 * How long to wait before the next try: as long as `Retry-After` asks (seconds or a date, RFC 9110
 * section 10.2.3), else a time that doubles with each try, jittered so that many executions do not
 * come back in step.
 *
 * @param dateMs the present date, in ms
 * @param random a number from 0 to 1
 * @returns ms
 */
export function backoffMs(answer: Answer, tries: number, dateMs: number, random: number): number {
	const asked = answer.retryAfter === undefined ? NaN : readRetryAfter(answer.retryAfter, dateMs);
	if (asked > 0) return asked;
	const full = Math.min(backoffRange.first * 2 ** (tries - 1), backoffRange.longest);
	return full * (0.75 + random / 2);
}

function readRetryAfter(value: string, dateMs: number): number {
	if (/^\d+$/.test(value.trim())) return Number(value) * 1_000;
	return Math.max(0, Date.parse(value) - dateMs);
}
