import { LEAST_BY_CHANCE, LEAST_KEPT, MANY_COUNTS, MEASURED_REQUESTS, RATE } from './paceTuning';

/**
 * Tells refusals by chance from those of a limit, which become fewer if requests are sent at a lower rate. Rates are in
 * requests a second; moments are those of the clock, in ms.
 */
export class Chance {
	private carried = 0;

	private refused = 0;

	/** Requests from before this moment were sent before the latest refusal was known, and do not count. */
	private countsFrom = -Infinity;

	/** The rate, and the share that was carried, when many were first refused, or when the rate was last raised. */
	private before: { rate: number; share: number } | undefined;

	/** How many times in a row many were refused. */
	private inARow = 0;

	/** Whether the service refuses by chance, as far as is known. */
	isOn = false;

	/**
	 * Counts a request that was sent after a carried one.
	 *
	 * @returns the rate that follows: a higher one while requests are refused by chance, if that causes no more refusals
	 */
	count(isCarried: boolean, turnAt: number, now: number, rate: number): number {
		if (turnAt < this.countsFrom) return rate;
		if (isCarried) this.carried++;
		else {
			this.refused++;
			this.countsFrom = now;
		}
		const total = this.carried + this.refused;
		if (total < MEASURED_REQUESTS / 2) return rate;
		const share = this.carried / total;
		this.carried = 0;
		this.refused = 0;
		const { before = { rate, share } } = this;
		const isWorse = this.isOn && share < before.share * LEAST_BY_CHANCE;
		if (share >= LEAST_BY_CHANCE || isWorse) {
			this.isOn = false;
			this.before = undefined;
			this.inARow = 0;
			return isWorse ? rate * LEAST_KEPT.unknown : rate;
		}
		this.inARow++;
		const isLower = rate <= before.rate * LEAST_KEPT.known;
		const isNoBetter = isLower && share * LEAST_BY_CHANCE < before.share;
		this.isOn ||= isNoBetter || this.inARow >= MANY_COUNTS;
		this.before = this.isOn ? { rate, share } : before;
		const raised = Math.min(rate / LEAST_KEPT.unknown, RATE.first);
		return this.isOn ? Math.max(raised, rate) : rate;
	}
}
