import type { Answer } from './answer';
import type { RefusalPeriod } from './refusalPeriod';
import {
	CATCH_UP_MS,
	FREE_AT_FIRST,
	LEAST_BY_CHANCE,
	PART_OF_REFUSED,
	QUICK_MS,
	RATE_KEPT_MS,
	SECOND,
	SHORT_MS,
	TRUSTED_PAUSES,
} from './paceTuning';
import { CarriedRate } from './carriedRate';
import { RequestsUnderWay } from './requestsUnderWay';
import { growingPauseMs, retryAfterMs } from './retryPolicy';

/**
 * When requests may be sent. A request is carried if the service answers it with anything but a 429. Moments are
 * those of the clock, in ms.
 *
 * - They are sent at a rate (`carriedRate.ts`) that grows for as long as nothing is refused.
 * - One refusal without `Retry-After` amid requests that are carried pauses nothing: many services refuse a
 *   few at random. The rate goes down a little, and up again if as many are refused at a lower one (`chance.ts`).
 * - Any other refusal pauses all requests: for as long as the service asks, or for a growing time if it asks for nothing,
 *   or for too little several times in a row. Then they go on at the rate that the service has carried, or a little below.
 * - Only some requests are under way at once (`requestsUnderWay.ts`).
 *
 * `bench/limits.cts` shows what comes of it with the limiters that services have.
 */
export class Pace {
	private readonly rate: CarriedRate;

	/** When the next request may be sent by the rate. */
	private nextAt = -Infinity;

	/** Until when requests are paused. */
	pausedUntil: number;

	/** When the latest refusal came that began a pause. */
	private refusedAt: number;

	/** How many pauses came one after the other, with nothing carried between them. */
	private pausesInARow = 0;

	/** When the first request after the latest pause was sent; absent until it was. */
	private resumedAt: number | undefined;

	private refusalPeriod: RefusalPeriod | undefined;

	/** When the request was sent whose refusal, without `Retry-After`, may be a stray one. The next answer tells. */
	private suspectAt: number | undefined;

	private wasRefused: boolean;

	private carried = 0;

	/** How much was carried before the first request after the latest pause. */
	private carriedBefore = 0;

	/**
	 * @param underWay those of this pace, and of others with the same API key
	 * @param previous the pace that this one continues: its rate, pause and earlier refusals, but not its limit
	 */
	constructor(
		private readonly underWay = new RequestsUnderWay(),
		previous?: Pace,
	) {
		this.rate = new CarriedRate(previous && SECOND / previous.rate.apartMs, previous?.rate.earlier);
		this.wasRefused = previous !== undefined;
		this.pausedUntil = previous?.pausedUntil ?? -Infinity;
		this.refusedAt = previous?.refusedAt ?? -Infinity;
	}

	/** When the next request may be sent. */
	get opensAt(): number {
		const most = Math.min(this.carried + 1, FREE_AT_FIRST);
		const isFree = !this.wasRefused && this.underWay.count < most;
		return Math.max(this.pausedUntil, this.underWay.opensAt, isFree ? -Infinity : this.nextAt);
	}

	/** Counts a request that is sent now. */
	take(now: number): void {
		const due = Math.max(this.pausedUntil, this.nextAt);
		const lateMs = now - due;
		if (this.resumedAt === undefined && now >= this.pausedUntil) {
			if (this.refusalPeriod && lateMs > SHORT_MS) this.refusalPeriod.ranMs = 0;
			// Nothing was sent for so long that the refusal no longer counts.
			if (lateMs > RATE_KEPT_MS + this.refusedMs(this.pausedUntil)) this.refusalPeriod = undefined;
			this.resumedAt = now;
			this.carriedBefore = this.carried;
			this.rate.resume(now);
			// After the first pause, the limit is learned at once, from how long the service has asked to wait. After a
			// further one, which shows that the first was too short, it is learned from the first answer.
			if (this.refusalPeriod && this.pausesInARow === 1)
				this.rate.learnLimit(this.refusalPeriod, now);
		}
		// After a time without requests there is nothing to catch up with.
		const from = lateMs > 0 && lateMs < CATCH_UP_MS ? due : now;
		// Once a pause was too short, the longer the service has refused, the fewer are sent until one is carried.
		const seldomMs = Math.min(Math.max(this.refusedMs(now) * PART_OF_REFUSED, SECOND), QUICK_MS);
		this.nextAt = this.pausesInARow > 1 ? now + seldomMs : from + this.rate.apartMs;
		this.underWay.add(now);
		this.rate.take(now);
	}

	/**
	 * Learns from an answer.
	 *
	 * @param turnAt when the turn of its request came
	 */
	learn(answer: Answer, turnAt: number, now: number): void {
		this.underWay.learn(answer, turnAt, now);
		// Requests from before the latest refusal say nothing new about the rate.
		const isNew = turnAt >= this.refusedAt;
		if (isNew && this.pausesInARow > 1) this.nextAt = turnAt + SECOND;
		const isAfterCarried = !this.refusalPeriod && this.suspectAt === undefined;
		if (isNew && isAfterCarried && answer.status !== undefined) {
			this.rate.count(answer.kind !== 'rateLimited', turnAt, now);
		}
		if (answer.kind === 'rateLimited') {
			this.refuse(answer, turnAt, now, isNew);
		} else if (answer.status !== undefined) {
			// Without a status, the service has not said anything.
			this.carried++;
			if (isNew) this.carry(turnAt, now);
		}
	}

	/**
	 * Whether the service asks for a pause before its limit can have been met: since the latest pause, it has carried
	 * something, but much less than it once did in as long a time. Without `Retry-After`, pauses are too short to tell.
	 *
	 * @param refusal the latest one, which this pace has learned
	 */
	isRefusedTooSoon(refusal: Answer): boolean {
		const askedMs = retryAfterMs(refusal);
		if (!this.refusalPeriod || askedMs === 0) return false;
		const { from, ranMs } = this.refusalPeriod;
		const carried = this.carried - this.carriedBefore;
		// `Retry-After` is in whole seconds, so the last one may be due to rounding. Of the requests since the pause, some
		// may still be under way.
		const ms = ranMs + askedMs - SECOND;
		const most = this.rate.recent.mostInARow(ms, from - ranMs);
		return carried > 0 && carried < LEAST_BY_CHANCE * most;
	}

	/** Sends nothing before a moment. */
	pauseUntil(moment: number): void {
		this.pausedUntil = Math.max(this.pausedUntil, moment);
	}

	private refuse(answer: Answer, turnAt: number, now: number, isNew: boolean): void {
		this.rate.refuse(turnAt);
		const askedMs = retryAfterMs(answer);
		if (isNew) {
			if (!this.refusalPeriod && this.suspectAt === undefined && askedMs === 0) {
				this.suspectAt = turnAt;
				return;
			}
			const { suspectAt = turnAt } = this;
			const isSeldom = turnAt - suspectAt > SHORT_MS + this.rate.apartMs;
			const from = isSeldom ? turnAt : suspectAt;
			const isByChance = this.rate.chance.isOn && askedMs === 0;
			const ranMs = isSeldom || isByChance ? 0 : this.ranMs(from);
			this.refusalPeriod ??= this.beginRefusalPeriod({ from, ranMs, isAsked: askedMs > 0 });
			this.suspectAt = undefined;
			this.resumedAt = undefined;
			this.refusedAt = now;
			this.pausesInARow++;
			// `Retry-After` is in whole seconds, so the last one may be due to rounding.
			this.refusalPeriod.until = Math.max(
				this.refusalPeriod.until,
				turnAt + Math.max(askedMs - SECOND, 0),
			);
		}
		// What the service asks for is enough, unless it has refused again and again after that. A refusal from before a
		// pause may come after other requests were carried.
		const ownPauses = this.pausesInARow - (askedMs > 0 ? TRUSTED_PAUSES : 0);
		const growing = growingPauseMs(Math.max(ownPauses, 1));
		const longestMs = Math.max(SHORT_MS, this.refusedMs(now) * PART_OF_REFUSED);
		const ownMs = ownPauses > 0 || askedMs === 0 ? Math.min(growing, longestMs) : 0;
		this.pauseUntil(now + Math.max(askedMs, ownMs));
	}

	private carry(turnAt: number, now: number): void {
		if (this.suspectAt !== undefined) {
			this.wasRefused = true;
			this.rate.meetStray(this.suspectAt, now, this.ranMs(now));
			this.suspectAt = undefined;
		}
		if (this.refusalPeriod && this.pausesInARow > 1) {
			this.rate.learnLimit(this.refusalPeriod, now);
			this.nextAt = Math.max(now, turnAt + this.rate.apartMs);
		}
		this.refusalPeriod = undefined;
		this.pausesInARow = 0;
	}

	/** Begins a time in which the service refuses, and lowers the rate. */
	private beginRefusalPeriod(
		known: Pick<RefusalPeriod, 'from' | 'ranMs' | 'isAsked'>,
	): RefusalPeriod {
		const carried = this.carried - this.carriedBefore;
		const period = { ...known, until: known.from, carried };
		this.rate.slowDown(period, !this.wasRefused);
		this.wasRefused = true;
		return period;
	}

	/** For how long the service has refused everything at a moment, in ms. */
	private refusedMs(at: number): number {
		return at - (this.refusalPeriod?.from ?? at);
	}

	/** For how long requests had been sent at a moment since the latest pause, in ms. */
	private ranMs(at: number): number {
		return Math.max(at - (this.resumedAt ?? at), 0);
	}
}
