import type { Answer } from './answer';
import { answerKinds, type Purpose } from './answerKinds';

/** For how long a request that no wait's time limit bounds may be repeated, in ms. */
export const READ_PATIENCE_MS = 300_000;

/** The same for a request that a person waits for in the editor, in ms. */
export const EDITOR_PATIENCE_MS = 10_000;

/** How many times a request is sent in all where patience is brief. */
const BRIEF_ATTEMPTS = 5;

/** Caps `Retry-After` at an hour, in ms: a mistake must not hold anything for days. */
const LONGEST_RETRY_AFTER_MS = 3_600_000;

/** The first and the longest pause between attempts, in ms. */
export const backoffRange = { first: 500, longest: 60_000 };

/**
 * Whether the request that got this answer is to be sent again, by the table in `answerKinds.ts`.
 *
 * @param briefly how many answers it has got, this one included, that are retried only briefly
 */
export function isRetried({ kind }: Answer, purpose: Purpose, briefly: number): boolean {
	const patience = answerKinds[kind].retried[purpose];
	return patience === 'untilDeadline' || (patience === 'briefly' && briefly < BRIEF_ATTEMPTS);
}

/** Whether the request that got this answer is sent again a few times at the most. */
export function isRetriedBriefly({ kind }: Answer, purpose: Purpose): boolean {
	return answerKinds[kind].retried[purpose] === 'briefly';
}

/**
 * How long to wait before the next attempt: as long as `Retry-After` asks, else a time that doubles with
 * each attempt, jittered so that many executions do not come back in step.
 *
 * @returns ms
 */
export function backoffMs(answer: Answer, attempts: number): number {
	const asked = retryAfterMs(answer);
	if (asked > 0) return asked;
	const full = Math.min(backoffRange.first * 2 ** (attempts - 1), backoffRange.longest);
	return full * (0.75 + Math.random() / 2);
}

/**
 * For how long an answer asks clients to back off: `Retry-After` in seconds or as a date (RFC 9110, section
 * 10.2.3). A date is one of the service's clock if the answer tells that, else of n8n's: they need not agree.
 *
 * @returns ms, {@link LONGEST_RETRY_AFTER_MS} at most; 0 when it asks for nothing
 */
export function retryAfterMs({ retryAfter, date }: Answer): number {
	if (retryAfter === undefined) return 0;
	const isSeconds = /^\d+$/.test(retryAfter.trim());
	const sentOn = Date.parse(date ?? '') || Date.now();
	const asked = isSeconds ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - sentOn;
	return Math.min(Math.max(asked, 0), LONGEST_RETRY_AFTER_MS) || 0;
}
