import { SECOND, WINDOWS_MS } from './paceTuning';

/** A time in which the service refuses. Moments are those of the clock, in ms. */
export interface RefusalPeriod {
	/** When its first refused request was sent. */
	from: number;
	/** Until when it is known to have lasted. */
	until: number;
	/** For how long requests were sent before it, in ms. */
	ranMs: number;
}

/**
 * The window that a limit probably has, in ms: the shortest usual one that is not shorter than what was seen of it,
 * or else what was seen. The window may have begun long before.
 */
export function wholeWindow(seenMs: number): number {
	// `Retry-After` is in whole seconds, so a little more than the window may be seen.
	return Object.values(WINDOWS_MS).find((ms) => seenMs <= ms + SECOND) ?? seenMs;
}
