import type { Answer } from './answer';
import { HANGING_MS, MOST_UNDER_WAY_AT_FIRST, QUICK_MS } from './paceTuning';

/**
 * How many requests with one API key may be under way, whatever they are for. Some services refuse nothing, but take
 * longer the more requests they have, until no answer comes in time. So there may be one more for each that is carried
 * quickly, and half as many after time-outs.
 *
 * Moments are those of the clock, in ms.
 */
export class RequestsUnderWay {
	/** When each of them was sent, ascending. */
	private readonly sentAt: number[] = [];

	private most = MOST_UNDER_WAY_AT_FIRST;

	/** Whether the latest request that was carried took long. */
	private isSlow = true;

	/** When an answer last came, other than a 429. */
	answeredAt = -Infinity;

	/** When the latest of those was sent that were carried quickly. */
	private quickFrom = -Infinity;

	/** When `most` was last lowered. */
	private loweredAt = -Infinity;

	get count(): number {
		return this.sentAt.length;
	}

	/** When one more may be sent, unless one of them is answered before; later if it is a create. */
	get opensAt(): number {
		// While others are carried quickly, those that take long have reasons of their own, and do not count.
		return this.oneTooMany + (this.isSlow ? HANGING_MS : QUICK_MS);
	}

	/** The same for a create, which would be left in doubt if the service answers nothing any more. */
	get createsOpenAt(): number {
		return this.oneTooMany + (this.isQuickSince(this.oneTooMany) ? QUICK_MS : HANGING_MS);
	}

	/** Whether requests are carried quickly, also one that was sent since a moment. */
	private isQuickSince(moment: number): boolean {
		return !this.isSlow && this.quickFrom >= moment;
	}

	/** When the latest request was sent with which there were as many as there may be. */
	private get oneTooMany(): number {
		return this.sentAt.at(-Math.floor(this.most)) ?? -Infinity;
	}

	/** Counts a request that is sent now. */
	add(now: number): void {
		this.sentAt.push(now);
	}

	/**
	 * Learns from an answer.
	 *
	 * @param turnAt when the turn of its request came
	 */
	learn({ kind, status }: Answer, turnAt: number, now: number): void {
		const { count } = this;
		removeSent(this.sentAt, turnAt);
		// What few requests meet is not due to their number.
		const isUsed = 2 * count >= this.most;
		if (kind === 'timedOut') {
			// Nor is it if one that was sent later was carried quickly. Those from before `most` was lowered have counted.
			if (!isUsed || turnAt < Math.max(this.quickFrom, this.loweredAt)) return;
			this.most = Math.max(count / 2, 1);
			this.loweredAt = now;
		} else if (kind !== 'rateLimited' && status !== undefined) {
			this.answeredAt = now;
			this.isSlow = now - turnAt >= QUICK_MS;
			if (!this.isSlow) this.quickFrom = Math.max(this.quickFrom, turnAt);
			// Where all take long, it grows by no more than one with each round of requests.
			if (isUsed) this.most += this.isSlow ? 1 / this.most : 1;
		}
	}
}

/**
 * Takes a request out of those that are under way.
 *
 * @param sentAt when each of them was sent, ascending
 * @param turnAt when its turn came, as {@link RequestsUnderWay.learn} has it
 */
export function removeSent(sentAt: number[], turnAt: number): void {
	let own = sentAt.length - 1;
	// The limiter gives a request its turn a moment before it is sent.
	while (own >= 0 && sentAt[own]! > turnAt) own--;
	if (own >= 0) sentAt.splice(own, 1);
}
