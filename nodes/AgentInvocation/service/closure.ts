export const SECOND = 1_000;

/** A time in which the service refuses. Moments are those of the clock, in ms. */
export interface Closure {
	/** When its first refused request was sent. */
	from: number;
	/** Until when it is known to have lasted. */
	until: number;
	/** For how long requests were sent before it, in ms. */
	ranMs: number;
}

/** The times that limits of a longer time than a second are usually about, in ms. */
const WINDOWS_MS = [10 * SECOND, 60 * SECOND];

/**
 * The time that a limit is about, by what was seen of it first: for how long requests were sent, and then
 * refused, in ms. The window may have begun long before.
 */
export function wholeWindow(seenMs: number): number {
	// Whole seconds are asked for, so a little more than the window may be seen.
	return WINDOWS_MS.find((ms) => seenMs <= ms + SECOND) ?? seenMs;
}
