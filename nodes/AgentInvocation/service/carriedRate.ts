import { Chance } from './chance';
import { EarlierRefusals, nextStepMs, wholeWindow, type RefusalPeriod } from './refusalPeriod';
import {
	ALMOST,
	GROWTH,
	RATE_KEPT_MS,
	LEAST_BY_CHANCE,
	LEAST_KEPT,
	MEASURED_REQUESTS,
	RATE,
	SECOND,
	SHORT_MS,
	WINDOWS_MS,
} from './paceTuning';
import { RecentRequests } from './recentRequests';

/**
 * How many requests a second the service carries, by its answers. Moments are those of the clock, in ms.
 *
 * Others may use the API key too, and some services refuse requests by chance. So while a rate that was found is kept, a
 * refusal hardly lowers it. If one follows soon after a pause, the limit itself may have fallen: the rate is lowered, and
 * soon back where it was, unless the same happens again.
 */
export class CarriedRate {
	private isLimitKnown = false;

	/** The rate that was found when the limit was met. */
	private foundRate = Infinity;

	/** When the latest stray refusal lowered the rate. */
	private loweredAt = -Infinity;

	/** Whether requests were carried at the found rate for long enough to be measured twice. */
	private isSure = false;

	/** The least to which stray refusals lower `foundRate`: at a lower rate, there would be as many. */
	private leastFoundRate = 0;

	/** To where the rate grows at once, since the refusal for which it was lowered may have come by chance. */
	private recoversTo = 0;

	/** When the rate begins to grow; Infinity at first, and from when it is lowered until the pause is over. */
	private growsAt = Infinity;

	/** How long one step of growth takes once the limit is known, in ms. */
	private stepMs = SECOND;

	/** For how long the rate was used and has grown since the latest refusal, in ms. */
	private grownMs = 0;

	/** Whether a limit over more than a second was found before. Until then, its window is a guess. */
	private isWindowKnown = false;

	/** For how long a found rate is kept, in ms: longer if the limit's window is. */
	private keptMs = RATE_KEPT_MS;

	/** How many refusal periods in a row came after one or two carried requests; those after none do not count. */
	private fewInARow = 0;

	readonly chance = new Chance();

	readonly recent = new RecentRequests(3 * RATE_KEPT_MS);

	/** @param rate the first one, in requests a second */
	constructor(
		private rate = RATE.first,
		readonly earlier = new EarlierRefusals(),
	) {}

	/** The time between two requests, in ms. */
	get apartMs(): number {
		return SECOND / this.rate;
	}

	/** Notes that the first request after a pause is sent. */
	resume(now: number): void {
		if (this.growsAt === Infinity) this.growsAt = now + (this.isLimitKnown ? this.keptMs : SECOND);
	}

	/** Counts a request that is sent now, and lets the rate grow. */
	take(now: number): void {
		this.recent.add(now);
		const recovers = this.rate < this.recoversTo;
		if (!recovers) this.recoversTo = 0;
		if (this.growsAt === Infinity || (now < this.growsAt && !recovers)) return;
		// The rate grows with requests, not with time, so one that nobody uses does not grow.
		const isCareful = this.isLimitKnown && !recovers;
		const factor = isCareful ? GROWTH.limited : GROWTH.unlimited;
		if (isCareful) this.grownMs += this.apartMs;
		// The longer nothing is refused while the rate grows, the further it is from the limit.
		const haste = isCareful ? 1 + (this.grownMs / this.keptMs) ** 3 / 2 : 1;
		const steps = (haste * this.apartMs) / (isCareful ? this.stepMs : SECOND);
		const most = recovers ? this.recoversTo : RATE.highest;
		this.rate = Math.min(this.rate * factor ** steps, most);
	}

	/** Counts the answer to a request that was sent after a carried one. */
	count(isCarried: boolean, turnAt: number, now: number): void {
		const rate = this.chance.count(isCarried, turnAt, now, this.rate);
		if (rate !== this.rate) this.foundRate = this.rate = rate;
	}

	/** Notes that a request was refused. */
	refuse(turnAt: number): void {
		this.grownMs = 0;
		this.recent.refuse(turnAt);
	}

	/**
	 * Lowers the rate a little, since one request was refused and others were carried.
	 *
	 * @param ranMs for how long requests were sent since the latest pause
	 */
	meetStray(turnAt: number, now: number, ranMs: number): void {
		// It was sent before the rate was lowered.
		if (turnAt < this.loweredAt || this.chance.isOn) return;
		const share = this.recent.shareCarried(now - 2 * this.measuredMs, 2 * MEASURED_REQUESTS);
		if (share >= ALMOST) return;
		this.loweredAt = now;
		const carried = this.recent.carriedASecond(now, Math.min(ranMs, this.measuredMs));
		// A rate that is not used says nothing about the limit.
		if (this.isLimitKnown && carried / share < this.rate * LEAST_KEPT.known) return;
		if (!this.isLimitKnown || share < LEAST_BY_CHANCE) {
			// What came in a burst says little.
			const isKnown = this.isLimitKnown || ranMs >= SECOND;
			const rate = Math.max(carried * ALMOST, this.rate * LEAST_KEPT.unknown);
			return this.find(rate, now + (isKnown ? this.keptMs : SECOND), isKnown);
		}
		if (now >= this.growsAt) {
			this.foundRate = Math.max(this.foundRate, this.rate);
			this.growsAt = now + this.keptMs;
		}
		this.lower(true);
	}

	/**
	 * Lowers the rate, since the service begins to refuse.
	 *
	 * @param wasExceeded whether requests may have been sent faster than the rate
	 */
	slowDown({ from, ranMs }: RefusalPeriod, wasExceeded: boolean): void {
		// A pause that was too short says nothing about the rate.
		const inStretch = this.recent.carried(from - ranMs, from);
		if (inStretch === 0) return;
		this.fewInARow = inStretch / (inStretch + 1) < LEAST_BY_CHANCE ? this.fewInARow + 1 : 0;
		const carried = this.recent.carriedASecond(from, Math.min(ranMs, this.measuredMs));
		if (wasExceeded) this.rate = Math.max(this.rate, carried);
		const isSoon = ranMs < SECOND;
		if (this.isLimitKnown && !isSoon) {
			// A rate that is not used says nothing about the limit.
			if (carried < this.rate * LEAST_KEPT.known) return;
			this.isSure ||= ranMs >= 2 * this.measuredMs;
			if (from < this.growsAt) return this.lower(!this.isSure);
		}
		const isByChance = this.isLimitKnown && isSoon && !this.earlier.isRepeated(from, carried);
		const recoversTo = isByChance ? Math.min(this.rate, this.foundRate) : 0;
		if (isSoon) this.earlier.noteSoon(from, carried);
		const least = this.rate * LEAST_KEPT[this.isLimitKnown ? 'known' : 'unknown'];
		const isKnown = this.isLimitKnown || (ranMs >= SECOND && carried >= least);
		this.find(Math.max(Math.min(carried, this.rate) * ALMOST, least), Infinity, isKnown);
		this.recoversTo = recoversTo;
	}

	/**
	 * Learns the limit, since the service carries requests again. If it refused for some seconds, its limit may be one of a
	 * longer time than a second: what it has carried is spread over the time in which requests were sent and the time in
	 * which it refused. More than a minute is taken for an outage, unless it comes again after as many were carried.
	 */
	learnLimit(period: RefusalPeriod, now: number): void {
		const { from, until, ranMs, isAsked } = period;
		const isLong = until - from > RATE_KEPT_MS + SECOND;
		if (isLong && !this.earlier.isLongLimit(period)) return;
		// What the service has not asked for was lengthened by the node's own pauses.
		const refusedMs = Math.min(until - from, isAsked ? Infinity : WINDOWS_MS.long);
		const spanMs = Math.max(this.measuredMs, refusedMs);
		this.keptMs = isLong ? refusedMs : RATE_KEPT_MS;
		// Twice in a row, few between two short refusal periods are not by chance. Between long ones, others may use the key.
		if (this.fewInARow < 2 || refusedMs > WINDOWS_MS.short) {
			if (refusedMs > SECOND && refusedMs < SHORT_MS) return;
			// If more was carried in as long a time before, or lately far less than once, others met the limit, or it is none.
			if (this.recent.isBelowMost(ALMOST, from, ranMs, ranMs + refusedMs)) return;
			if (this.recent.isBelowMost(LEAST_KEPT.unknown, from, ranMs, spanMs)) return;
		}
		const isGuess = refusedMs > SECOND && !isLong && !this.isWindowKnown;
		this.stepMs = nextStepMs(this.stepMs, isGuess ? WINDOWS_MS.short : refusedMs, this.keptMs);
		if (refusedMs <= SECOND || ranMs === 0) return;
		const openMs = Math.max(ranMs, SECOND);
		const carried = this.recent.carriedASecond(from, Math.min(ranMs, spanMs));
		const windowMs = isGuess ? wholeWindow(openMs + refusedMs) : openMs + refusedMs;
		this.isWindowKnown = true;
		// Refusals that come at any rate do not lower it below one request in as long as the service refused.
		const inWindow = isLong ? period.carried * SECOND : carried * openMs;
		this.find(Math.max((inWindow * ALMOST) / windowMs, SECOND / refusedMs), now + this.keptMs);
	}

	private find(rate: number, growsAt: number, isLimitKnown = true): void {
		this.isLimitKnown = isLimitKnown;
		this.isSure = false;
		this.rate = Math.max(rate, SECOND / RATE_KEPT_MS);
		this.foundRate = this.rate;
		this.recoversTo = 0;
		this.leastFoundRate = this.rate * LEAST_KEPT.known;
		this.growsAt = growsAt;
	}

	/**
	 * Lowers the rate by one step of {@link ALMOST}, to no less than two such steps below the one that was found.
	 *
	 * @param isFoundTooHigh whether that one is lowered too
	 */
	private lower(isFoundTooHigh: boolean): void {
		if (isFoundTooHigh) this.foundRate = Math.max(this.foundRate * ALMOST, this.leastFoundRate);
		const least = Math.min(this.rate, this.foundRate * ALMOST ** 2);
		this.rate = Math.max(this.rate * ALMOST, least);
	}

	private get measuredMs(): number {
		return Math.max(SECOND, MEASURED_REQUESTS * this.apartMs);
	}
}
