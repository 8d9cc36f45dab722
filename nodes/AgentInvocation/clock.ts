import { sleep as n8nSleep } from 'n8n-workflow';

/** Whether the host's `sleep` clears its timer when it is aborted; those of n8n 1 take no signal. */
const CLEARS_TIMERS = n8nSleep.length > 1;

/** The longest timer, in ms. Where it cannot be cleared, it outlives an aborted sleep. */
const LONGEST_TIMER_MS = CLEARS_TIMERS ? 86_400_000 : 1_000;

/** Time, in ms. */
export const clock = {
	/** Time that has passed since some fixed moment. Changes of the machine's clock do not move it. */
	now: () => performance.now(),
	/** The date, for comparing with one that the service gave. */
	date: () => Date.now(),
	/** Ends after `ms`, or as soon as `signal` is aborted; the caller looks which. */
	async sleep(ms: number, signal?: AbortSignal): Promise<void> {
		const end = performance.now() + ms;
		while (!signal?.aborted) {
			const left = end - performance.now();
			if (left <= 0) return;
			// Given the signal, new hosts clear the timer, and reject with the abort's reason.
			const slept = n8nSleep(Math.min(left, LONGEST_TIMER_MS), signal).catch(() => {});
			await orAborted(slept, signal);
		}
	},
};

/**
 * Dates, ms since the epoch, as one pass of the node knows them: changes of the machine's clock do not move them
 * meanwhile. Records hold such dates; the loop, the rate limiter and the pace go by {@link clock}. Here the two
 * meet.
 */
export class PassTime {
	/** The date of the clock's zero. Whole, so that a moment and its date are compared alike. */
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

	/** By how much the machine's clock was changed meanwhile, in ms; 0 for what is no more than its steps. */
	get changedBy(): number {
		const change = clock.date() - this.date();
		return Math.abs(change) < 1_000 ? 0 : change;
	}
}

/** Does something after `ms`, unless the process has ended by then: it is not kept from ending. */
export function afterwards(ms: number, act: () => void): void {
	AbortSignal.timeout(ms).addEventListener('abort', act);
}

/**
 * Waits for `promise` or for `signal`, whichever comes first. n8n's own `sleep` takes a signal in new
 * versions only; this works on every host.
 *
 * @returns what the promise gave, or undefined when the signal came first
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
