import { sleep } from 'n8n-workflow';

/** The longest timer that is set, in ms. Short where `sleep` takes no signal (n8n 1): its timer outlives an aborted sleep. */
const LONGEST_TIMER_MS = sleep.length > 1 ? 86_400_000 : 1_000;

/** Time, in ms. */
export const clock = {
	/** ms since some fixed moment. Changes of the machine's clock do not affect it. */
	now: () => performance.now(),
	/** The date by the machine's clock, in ms since the epoch. */
	date: () => Date.now(),
	/** The date of a moment by the machine's clock as it is now, in ms since the epoch. */
	dateOf: (moment: number): number => clock.date() + moment - clock.now(),
	/** Resolves after `ms`, or as soon as `signal` is aborted; the caller checks the signal to tell which. */
	async sleep(ms: number, signal?: AbortSignal): Promise<void> {
		const end = performance.now() + ms;
		while (!signal?.aborted) {
			const left = end - performance.now();
			if (left <= 0) return;
			// On an abort, new hosts clear the timer and reject. The rejection is ignored, since the loop's condition
			// sees the abort.
			const slept = sleep(Math.min(left, LONGEST_TIMER_MS), signal).catch(() => {});
			await orAborted(slept, signal);
		}
	},
};

/**
 * The dates of one pass of the node (one call of `execute`), in ms since the epoch. A change of the machine's
 * clock during the pass does not affect them.
 *
 * Records hold such dates, in fields that end in `On`. The loop, the rate limiter and the pace use moments of
 * {@link clock}, which end in `At`, or name a bound, such as `pollsFrom`, `pausedUntil` and `deadline`. This class converts
 * between them.
 */
export class PassTime {
	/**
	 * The date at which {@link clock} read 0, in whole ms, so that whole moments stay whole when they are
	 * converted.
	 */
	private readonly zeroOn = Math.round(clock.date() - clock.now());

	date(): number {
		return this.dateOf(clock.now());
	}

	dateOf(moment: number): number {
		return this.zeroOn + moment;
	}

	momentOf(date: number): number {
		return date - this.zeroOn;
	}

	/**
	 * By how much the machine's clock was changed during the pass, in ms. Less than a second counts as 0, since
	 * clocks are adjusted in small steps.
	 */
	get changedBy(): number {
		const change = clock.date() - this.date();
		return Math.abs(change) < 1_000 ? 0 : change;
	}
}

/** Waits for `promise`, but no longer than `ms`. Gives undefined if it takes longer. */
export async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
	const hasCome = new AbortController();
	try {
		return await Promise.race([promise, clock.sleep(ms, hasCome.signal).then(() => undefined)]);
	} finally {
		hasCome.abort();
	}
}

/**
 * Waits for `promise` or `signal`, whichever comes first. Works on every host, unlike the signal of n8n's
 * `sleep`.
 *
 * @returns what the promise gave, or undefined if the signal came first
 */
export async function orAborted<T>(
	promise: Promise<T>,
	signal?: AbortSignal,
): Promise<T | undefined> {
	if (!signal) return await promise;
	let onAbort = () => {};
	const aborted = new Promise<undefined>((resolve) => {
		onAbort = () => resolve(undefined);
		signal.addEventListener('abort', onAbort);
		if (signal.aborted) onAbort();
	});
	try {
		return await Promise.race([promise, aborted]);
	} finally {
		signal.removeEventListener('abort', onAbort);
	}
}
