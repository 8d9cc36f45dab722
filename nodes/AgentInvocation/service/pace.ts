import type { Answer } from './answer';
import { backoffMs } from './retryPolicy';

/** Requests a second before anything is known of the service's limit. */
const FIRST_RATE = 80;
const HIGHEST_RATE = 1_000;
const LOWEST_RATE = 0.5;

/** By which factor a second the rate grows, and for how long after it was lowered it does not, in ms. */
const GROWTH_UNLIMITED = { factor: 1.5, afterMs: 1_000 };
const GROWTH_LIMITED = { factor: 1.05, afterMs: 60_000 };

/** What is kept of the rate that the service has carried, once it refused more. */
const KEPT_OF_CARRIED = 0.95;

/** What is kept of the rate at the least. */
const KEPT_OF_RATE = 0.25;

/** The same where the limit was known and more was tried: it is hardly far below. */
const KEPT_OF_KNOWN_RATE = 0.8;

/** What was carried is measured over a second, and over so many requests where they take longer. */
const MEASURED = { ms: 1_000, requests: 20 };

/** Within so many times that measure after a pause, the next refusal comes soon. */
const SOON = 2;

/** The longest pause, in ms: what is asked for by mistake must not keep all executions of a key for days. */
const LONGEST_PAUSE_MS = 3_600_000;

/** Where a pause was too short, one request is sent, and others once it is carried or after this time, in ms. */
const PROBE_MS = 1_000;

/** By how much sending catches up when a timer came late, in ms. */
const CATCH_UP_MS = 50;

/**
 * How fast requests may be sent; times are those of a clock, in ms.
 *
 * The rate grows for as long as nothing is refused. A 429 pauses everything for as long as the service
 * asks, or for a growing time; then the pace goes on a little below the rate that was carried, and tries
 * more after a minute. Where next to nothing was carried, the limit is still unknown: a quarter of the rate
 * is tried, and soon more.
 *
 * Others may use the key too, so a 429 within that minute is taken for theirs: it only pauses. When the next
 * one follows soon, the limit itself has fallen, and the rate is lowered again.
 *
 * `bench/simulation.cts` shows what comes of it with the limiters that services have.
 */
export class Pace {
	private rate = FIRST_RATE;

	private isLimitKnown = false;

	private nextAt = -Infinity;

	private pausedAt = -Infinity;

	/** When the first request after the latest pause was sent. */
	private resumedAt = -Infinity;

	/** Until when the service asks to be left alone. */
	pausedUntil = -Infinity;

	private refusalsInARow = 0;

	/** From when the rate may grow; absent from when it is lowered until the pause is over. */
	private growsAt: number | undefined;

	/** When the latest requests were sent, without those that were refused. */
	private sentAt: number[] = [];

	/** When the next request may be sent. */
	get opensAt(): number {
		return Math.max(this.pausedUntil, this.nextAt);
	}

	/** A request is sent. */
	take(now: number): void {
		const growth = this.isLimitKnown ? GROWTH_LIMITED : GROWTH_UNLIMITED;
		// What is sent at its deadline may be sent in a pause.
		if (this.resumedAt <= this.pausedAt && now >= this.pausedUntil) {
			this.resumedAt = now;
			this.growsAt ??= now + growth.afterMs;
		}
		// After a time without requests there is nothing to catch up with.
		const from = now - this.opensAt < CATCH_UP_MS ? this.opensAt : now;
		this.nextAt = this.refusalsInARow > 1 ? now + PROBE_MS : from + 1_000 / this.rate;
		const keptFrom = now - 2 * this.measuredMs;
		this.sentAt = [...this.sentAt.filter((at) => at > keptFrom), now];
		if (this.growsAt === undefined || now < this.growsAt) return;
		// Growing with each request and not with time, a pace that nobody uses does not grow.
		this.rate = Math.min(this.rate * growth.factor ** (1 / this.rate), HIGHEST_RATE);
	}

	/**
	 * Learns from an answer.
	 *
	 * @param sentAt when its request was sent
	 * @param dateMs the present date, in ms
	 */
	learn(answer: Answer, sentAt: number, now: number, dateMs: number): void {
		// Requests from before a pause, or sent at their deadline in it, say nothing new about the rate.
		const isNew = sentAt > this.pausedAt && sentAt >= this.pausedUntil;
		if (answer.kind !== 'rateLimited') {
			// Without a status the service has not said anything.
			if (answer.status === undefined || !isNew) return;
			if (this.refusalsInARow > 1) this.nextAt = now;
			this.refusalsInARow = 0;
			return;
		}
		const refused = this.sentAt.filter((at) => at <= sentAt).length - 1;
		if (refused >= 0) this.sentAt.splice(refused, 1);
		if (isNew) {
			this.slowDown(sentAt);
			this.pausedAt = now;
			this.refusalsInARow++;
		}
		const asked = backoffMs(answer, this.refusalsInARow, dateMs, Math.random());
		const pause = Math.min(asked, LONGEST_PAUSE_MS);
		this.pausedUntil = Math.max(this.pausedUntil, now + pause);
	}

	private get measuredMs(): number {
		return Math.max(MEASURED.ms, (MEASURED.requests * 1_000) / this.rate);
	}

	private slowDown(refusedAt: number): void {
		const ranMs = refusedAt - this.resumedAt;
		// What came in a burst counts as all that a second holds.
		const spanMs = Math.max(Math.min(ranMs, this.measuredMs), MEASURED.ms);
		// Those that are under way, or whose answers were lost, have been carried as far as anybody knows.
		const carriedAt = this.sentAt.filter((at) => at >= refusedAt - spanMs && at < refusedAt);
		// A pause that was too short says nothing about the rate.
		if (!carriedAt.some((at) => at >= this.resumedAt)) return;
		const triedMore = this.growsAt !== undefined && refusedAt >= this.growsAt;
		const isStray = this.isLimitKnown && !triedMore && ranMs >= SOON * this.measuredMs;
		if (isStray) return;
		const carriedRate = (carriedAt.length * 1_000) / spanMs;
		const least = this.rate * (this.isLimitKnown && triedMore ? KEPT_OF_KNOWN_RATE : KEPT_OF_RATE);
		this.isLimitKnown ||= carriedRate >= this.rate * KEPT_OF_RATE;
		const kept = Math.min(carriedRate, this.rate) * KEPT_OF_CARRIED;
		this.rate = Math.max(kept, least, LOWEST_RATE);
		this.growsAt = undefined;
	}
}
