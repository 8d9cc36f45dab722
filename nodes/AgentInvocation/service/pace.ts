import type { Answer } from './answer';
import { backoffMs } from './retryPolicy';

/** Requests a second before anything is known of the service's limit. */
const FIRST_RATE = 80;
const HIGHEST_RATE = 1_000;
const LOWEST_RATE = 0.5;

/** By which factor a second the rate grows, and for how long after it was lowered it does not, in ms. */
const GROWTH_UNLIMITED = { factor: 1.5, afterMs: 1_000 };
const GROWTH_LIMITED = { factor: 1.08, afterMs: 60_000 };

/** What is kept of the rate that the service has carried, once it refused more. */
const KEPT_OF_CARRIED = 0.95;

/** What is kept of the rate at the least: while no limit is known, when it seems to have fallen, when more was tried. */
const KEPT_OF_RATE = { unknown: 0.25, fallen: 0.5, triedMore: 0.85 };

/** A rate that is used to the full, and still refused now and then, is lowered so far, and so far in all. */
const KEPT_OF_USED_RATE = { each: 0.97, inAll: 0.9 };

/** What was carried is measured over a second, and over so many requests where they take longer. */
const MEASURED = { ms: 1_000, requests: 20 };

/** Within this time after a pause, in ms, the next refusal comes soon. */
const SOON_MS = 2_000;

/** So many that come soon, one after the other, show that a limit that has held before has fallen. */
const SOON_IN_A_ROW = 3;

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
 * Others may use the key too, and a service may refuse for reasons of its own: were the rate lowered each
 * time, it would soon be next to nothing. So a 429 within that minute hardly does more than pause. When one
 * follows soon after the pause, again and again, the limit itself has fallen, and the rate is lowered; at
 * first, when the limit is known from one refusal alone, one that follows is enough.
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

	/** Until when the service asks clients to back off. */
	pausedUntil = -Infinity;

	private refusalsInARow = 0;

	/** From when the rate may grow; absent from when it is lowered until the pause is over. */
	private growsAt: number | undefined;

	/** The rate that was found when the limit was met. */
	private foundRate = Infinity;

	/** How many refusals came soon after the pause before, one after the other, and how many it takes. */
	private soonInARow = 0;

	private soonNeeded = 1;

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
		this.sentAt.push(now);
		const keptFrom = now - 2 * this.measuredMs;
		// Seldom, since it copies what is kept.
		if (this.sentAt[0]! < keptFrom - 2 * this.measuredMs) {
			this.sentAt = this.sentAt.filter((at) => at > keptFrom);
		}
		if (this.growsAt === undefined || now < this.growsAt) return;
		// Growing with each request and not with time, a pace that nobody uses does not grow.
		this.rate = Math.min(this.rate * growth.factor ** (1 / this.rate), HIGHEST_RATE);
	}

	/**
	 * Learns from an answer.
	 *
	 * @param sentAt when its request was sent
	 */
	learn(answer: Answer, sentAt: number, now: number): void {
		// Requests from before a pause, or sent at their deadline in it, say nothing new about the rate.
		const isNew = sentAt >= this.pausedUntil;
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
		// One from before a pause may come after others were carried.
		const attempts = Math.max(this.refusalsInARow, 1);
		const pause = backoffMs(answer, attempts);
		this.pausedUntil = Math.max(this.pausedUntil, now + pause);
	}

	private get measuredMs(): number {
		return Math.max(MEASURED.ms, (MEASURED.requests * 1_000) / this.rate);
	}

	private slowDown(refusedAt: number): void {
		const ranMs = refusedAt - this.resumedAt;
		// What came in a burst counts as all that a second holds.
		const spanMs = Math.max(Math.min(ranMs, this.measuredMs), MEASURED.ms);
		// Unanswered requests count as accepted.
		const carriedAt = this.sentAt.filter((at) => at >= refusedAt - spanMs && at < refusedAt);
		// A pause that was too short says nothing about the rate.
		if (!carriedAt.some((at) => at >= this.resumedAt)) return;
		const carriedRate = (carriedAt.length * 1_000) / spanMs;
		const triedMore = this.growsAt !== undefined && refusedAt >= this.growsAt;
		if (this.isLimitKnown && !triedMore && !this.hasFallen(ranMs)) {
			const { each, inAll } = KEPT_OF_USED_RATE;
			const least = Math.min(this.rate, this.foundRate * inAll);
			if (carriedRate >= this.rate * inAll) this.rate = Math.max(this.rate * each, least);
			return;
		}
		const evidence = triedMore ? 'triedMore' : 'fallen';
		const least = this.rate * KEPT_OF_RATE[this.isLimitKnown ? evidence : 'unknown'];
		this.isLimitKnown ||= carriedRate >= this.rate * KEPT_OF_RATE.unknown;
		const kept = Math.min(carriedRate, this.rate) * KEPT_OF_CARRIED;
		this.rate = Math.max(kept, least, LOWEST_RATE);
		this.foundRate = this.rate;
		this.growsAt = undefined;
	}

	/** Whether refusals come so soon after pauses, one after the other, that the limit has fallen. */
	private hasFallen(ranMs: number): boolean {
		if (ranMs >= SOON_MS) {
			this.soonInARow = 0;
			this.soonNeeded = SOON_IN_A_ROW;
			return false;
		}
		this.soonInARow++;
		if (this.soonInARow < this.soonNeeded) return false;
		this.soonNeeded = Math.min(this.soonNeeded + 1, SOON_IN_A_ROW);
		return true;
	}
}
