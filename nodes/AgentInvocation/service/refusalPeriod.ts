import {
	ALMOST,
	LEAST_BY_CHANCE,
	RATE_KEPT_MS,
	SECOND,
	STEP_PERIODS,
	WINDOWS_MS,
} from './paceTuning';

/** A time in which the service refuses. Moments are those of the clock, in ms. */
export interface RefusalPeriod {
	/** When its first refused request was sent. */
	from: number;
	/** Until when it is known to have lasted. */
	until: number;
	/**
	 * For how long requests were sent before it, in ms; 0 if it says nothing about the rate, since they were sent seldom or are
	 * refused by chance.
	 */
	ranMs: number;
	/** Whether the service has asked for it, by `Retry-After`. */
	isAsked: boolean;
	/** How many requests were carried before it, since the previous pause. */
	carried: number;
}

/**
 * The window that a limit probably has, in ms: the shortest usual one that is not shorter than what was seen of it,
 * or else what was seen. The window may have begun long before.
 */
export function wholeWindow(seenMs: number): number {
	// `Retry-After` is in whole seconds, so a little more than the window may be seen.
	return Object.values(WINDOWS_MS).find((ms) => seenMs <= ms + SECOND) ?? seenMs;
}

/**
 * How long one step of growth takes, in ms, after a refusal period. A shorter one shortens the steps by little.
 *
 * @param keptMs for how long the rate that was found is kept
 */
export function nextStepMs(stepMs: number, refusedMs: number, keptMs: number): number {
	const mostMs = Math.max(2 * RATE_KEPT_MS, keptMs / 4);
	return Math.min(Math.max(STEP_PERIODS * refusedMs, stepMs * ALMOST, SECOND), mostMs);
}

/** What earlier refusals tell about a new one. */
export class EarlierRefusals {
	/** The latest one that came soon after a pause: when, and how much was carried before it. */
	private soon = { at: -Infinity, carried: 0 };

	/** The latest one that took longer than the windows of usual limits. */
	private long: Pick<RefusalPeriod, 'until' | 'carried'> = { until: -Infinity, carried: 0 };

	noteSoon(at: number, carried: number): void {
		this.soon = { at, carried };
	}

	/** Whether a refusal soon after a pause is like the one before it: then the limit itself has fallen. */
	isRepeated(from: number, carried: number): boolean {
		const ratio = carried / this.soon.carried;
		return from < this.soon.at + RATE_KEPT_MS && Math.min(ratio, 1 / ratio) >= ALMOST;
	}

	/**
	 * Whether a long refusal comes soon after another one, and as much was carried: then it is a limit, and no outage. Without
	 * `Retry-After` the limit is taken for one of a minute, and no such limit lets requests pass for longer.
	 */
	isLongLimit({ from, until, ranMs, isAsked, carried }: RefusalPeriod): boolean {
		const isSoon = from - this.long.until < until - from;
		const ratio = carried / this.long.carried;
		this.long = { until, carried };
		// One or two say nothing: others may use the key as well.
		const isEnough = carried / (carried + 1) >= LEAST_BY_CHANCE;
		const isMet = isAsked || ranMs <= WINDOWS_MS.long;
		return isMet && isSoon && isEnough && Math.min(ratio, 1 / ratio) >= LEAST_BY_CHANCE;
	}
}
