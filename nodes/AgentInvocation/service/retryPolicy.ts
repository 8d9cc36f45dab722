import { clock } from '../clock';
import type { Answer } from './answer';
import { answerKinds, type Purpose } from './answerKinds';

/** How long a create is retried, in ms, if an address that has answered before cannot be reached. */
export const UNREACHED_MS = 120_000;

/** How long a request may be retried, in ms, if no wait's time limit bounds it. */
export const READ_PATIENCE_MS = 300_000;

/** The same for the editor, where a person waits, in ms. */
export const EDITOR_PATIENCE_MS = 10_000;

/**
 * For how long the rate limit may refuse a create, in ms, even if other requests are carried meanwhile: if it limits how
 * many runs are under way, those may take hours.
 */
export const LONGEST_REFUSED_CREATE_MS = 86_400_000;

/**
 * By which factor the pause grows with each failure, and with each refusal by the rate limit. After refusals, a request
 * comes back at most about a sixth of the time too late for which it was refused.
 */
const PAUSE_GROWTH = { failed: 2, refused: 1.2 };

/** How many times in all a request that is retried `briefly` is sent. */
const BRIEF_SENDS = 5;

/** Caps `Retry-After` at an hour, in ms: a mistake must not hold anything for days. */
const LONGEST_RETRY_AFTER_MS = 3_600_000;

/** The longest pause of all requests that the service has not asked for, in ms. */
const LONGEST_OWN_PAUSE_MS = 200_000;

/** From here on, seconds are taken for a date (of 2001 or later), in ms. */
const LEAST_DATE_MS = 1e12;

/** The first and the longest pause before a retry, in ms. */
export const backoffRange = { first: 500, longest: 60_000 };

/**
 * Whether to send the request that got this answer again, by the table in `answerKinds.ts`.
 *
 * @param briefAnswers how many answers that are retried only briefly the request has got, including this one
 */
export function isRetried({ kind }: Answer, purpose: Purpose, briefAnswers: number): boolean {
	const retry = answerKinds[kind].retried[purpose];
	return retry === 'untilDeadline' || (retry === 'briefly' && briefAnswers < BRIEF_SENDS);
}

/** Whether the request that got this answer is sent again only a few times. */
export function isRetriedBriefly({ kind }: Answer, purpose: Purpose): boolean {
	return answerKinds[kind].retried[purpose] === 'briefly';
}

/** Whether the request got a 429, or was not sent because its turn would have come too late. */
export function isRefusedOrLate({ kind }: Answer): boolean {
	return kind === 'rateLimited' || kind === 'late';
}

/**
 * Whether the service seems to be away: nothing has answered, or something in front of it says so (502 and the like, or a 407).
 * A 500 is the service's own.
 */
export function isUnavailable({ kind, status = Infinity }: Answer): boolean {
	return status >= 502 || kind === 'notConnected';
}

/**
 * How long to wait before a request is retried: as long as `Retry-After` asks, and at least a time that doubles with
 * each failure, jittered so that many executions do not come back in step.
 *
 * @returns ms
 */
export function backoffMs(answer: Answer, failures: number): number {
	return Math.max(retryAfterMs(answer), growing(PAUSE_GROWTH.failed, failures));
}

/**
 * How long a request that was refused by a rate limit backs off itself. How long all requests pause, if they
 * do, the limiter knows.
 *
 * @param refusals how many times in a row it was refused
 * @returns ms
 */
export function refusedBackoffMs(refusals: number): number {
	return growing(PAUSE_GROWTH.refused, refusals);
}

/**
 * A pause of all requests that doubles with each one in a row. It may be long, since some limits last until no request
 * has come for a while; but no poll or create is given up for it (see READ_PATIENCE_MS).
 *
 * @returns ms
 */
export function growingPauseMs(pausesInARow: number): number {
	return growing(PAUSE_GROWTH.failed, pausesInARow, LONGEST_OWN_PAUSE_MS);
}

function growing(factor: number, times: number, longest = backoffRange.longest): number {
	return jittered(Math.min(backoffRange.first * factor ** (times - 1), longest));
}

/** A pause that is a little shorter or longer, so that many executions do not come back in step. */
export function jittered(ms: number): number {
	return ms * (0.75 + Math.random() / 2);
}

/**
 * How long an answer asks clients to back off: `Retry-After` in seconds or as a date (RFC 9110, section
 * 10.2.3). A date is compared with the service's clock if the answer has its time, else with n8n's; the two
 * may differ.
 *
 * @returns ms, {@link LONGEST_RETRY_AFTER_MS} at most; 0 if it asks for nothing
 */
export function retryAfterMs({ retryAfter, date }: Answer): number {
	if (retryAfter === undefined) return 0;
	// Some services send a fraction, and some proxies the header twice ('60, 60').
	const [, seconds] = /^\s*(\d+(?:\.\d+)?)\s*(?:,|$)/.exec(retryAfter) ?? [];
	const sentOn = Date.parse(date ?? '') || clock.date();
	// Without a time of day it is no date, although Date.parse finds one in almost any text with a number.
	// The oldest form of dates names no zone, and means GMT (RFC 9110, section 5.6.7). Others name none by mistake.
	const said = retryAfter.trim();
	const zone = /\s\d{4}$/.test(said) ? ' GMT' : /\dT[\d:.]+$/.test(said) ? 'Z' : '';
	const askedOn = /\d:\d/.test(said) ? Date.parse(said + zone) : NaN;
	const askedMs = Number(seconds) * 1_000;
	// So many seconds are since the epoch.
	const isDate = askedMs > LEAST_DATE_MS;
	const asked = seconds === undefined ? askedOn - sentOn : isDate ? askedMs - sentOn : askedMs;
	// 0 also for what is not a date.
	return Math.min(Math.max(asked, 0), LONGEST_RETRY_AFTER_MS) || 0;
}
