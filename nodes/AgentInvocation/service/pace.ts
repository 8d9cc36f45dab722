import type { Answer } from './answer';
import { backoffMs } from './retryPolicy';

/** Requests a second before anything is known of the service's limit. */
const FIRST_RATE = 50;
const HIGHEST_RATE = 1_000;
const LOWEST_RATE = 0.5;

/** The rate grows by this factor a second until the limit is known, and by this one afterwards. */
const FAST_GROWTH = 2;
const SLOW_GROWTH = 1.02;

/** What is kept of the rate that the service has just carried, once it refused more. */
const KEPT_OF_LIMIT = 0.9;

/** For how long after a refusal the limit counts as known, in ms. */
const LIMIT_KNOWN_MS = 60_000;

/** The longest pause, in ms: what is asked for by mistake must not keep all executions of a key for days. */
const LONGEST_PAUSE_MS = 3_600_000;

/** By how much sending catches up when a timer came late, in ms. */
const CATCH_UP_MS = 50;

/**
 * How fast requests may be sent; times are those of a clock, in ms.
 *
 * The rate starts moderately and doubles every second for as long as nothing is refused. A 429 pauses
 * everything for as long as the service asks, or for a growing time. If the rate was really in use, the
 * service's limit is now known: the pace goes on a little below what was carried and grows by 2 % a
 * second. If it was not, the rate is halved.
 */
export class Pace {
	private rate = FIRST_RATE;

	private growth = FAST_GROWTH;

	private nextAt = -Infinity;

	private pausedAt = -Infinity;

	/** Until when the service asks to be left alone. */
	pausedUntil = -Infinity;

	private refusalsInARow = 0;

	/** When the latest requests were carried, not longer ago than a second. */
	private carriedAt: number[] = [];

	/** When the next request may be sent. */
	get opensAt(): number {
		return Math.max(this.pausedUntil, this.nextAt);
	}

	/** A request is sent. */
	take(now: number): void {
		this.carriedAt = this.carriedAt.filter((at) => now - at < 1_000);
		if (now - this.pausedAt > LIMIT_KNOWN_MS) this.growth = FAST_GROWTH;
		this.nextAt = Math.max(this.nextAt, now - CATCH_UP_MS) + 1_000 / this.rate;
		// Growing with each request and not with time, a pace that nobody uses does not grow.
		this.rate = Math.min(this.rate * this.growth ** (1 / this.rate), HIGHEST_RATE);
	}

	/**
	 * Learns from an answer.
	 *
	 * @param sentAt when its request was sent
	 * @param dateMs the present date, in ms
	 */
	learn(answer: Answer, sentAt: number, now: number, dateMs: number): void {
		if (answer.kind !== 'rateLimited') {
			// Without a status the service has not said anything.
			if (answer.status === undefined || sentAt < this.pausedAt) return;
			this.refusalsInARow = 0;
			this.carriedAt.push(now);
			return;
		}
		// Requests that were under way when the pause began say nothing new about the rate.
		if (sentAt >= this.pausedAt) {
			this.pausedAt = now;
			this.refusalsInARow++;
			const carried = this.carriedAt.filter((at) => now - at < 1_000).length;
			const inUse = carried >= this.rate / 2;
			const next = inUse ? Math.min(carried, this.rate) * KEPT_OF_LIMIT : this.rate / 2;
			this.rate = Math.max(next, LOWEST_RATE);
			this.growth = inUse ? SLOW_GROWTH : FAST_GROWTH;
		}
		const asked = backoffMs(answer, this.refusalsInARow, dateMs, Math.random());
		const pause = Math.min(asked, LONGEST_PAUSE_MS);
		this.pausedUntil = Math.max(this.pausedUntil, now + pause);
	}
}
