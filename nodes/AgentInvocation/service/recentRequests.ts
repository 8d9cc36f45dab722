import { SECOND } from './paceTuning';
import { removeSent } from './requestsUnderWay';

/** The requests of one API key in the recent past, by when they were sent: moments of the clock, in ms. */
export class RecentRequests {
	/** Ascending. A request without an answer counts as carried. */
	private carriedAt: number[] = [];

	private refusedAt: number[] = [];

	/** @param keptMs for how long requests are kept, at the least */
	constructor(private readonly keptMs: number) {}

	add(turnAt: number): void {
		this.carriedAt.push(turnAt);
		this.carriedAt = this.withoutOld(this.carriedAt, turnAt);
		this.refusedAt = this.withoutOld(this.refusedAt, turnAt);
	}

	/** Notes that the service has refused the request. */
	refuse(turnAt: number): void {
		removeSent(this.carriedAt, turnAt);
		this.refusedAt.push(turnAt);
	}

	/** How many requests between the two moments were carried. */
	carried(from: number, to: number): number {
		return this.carriedAt.filter((at) => at >= from && at < to).length;
	}

	/** How many a second were carried on average within `ms` before a moment, or within a second if that is longer. */
	carriedASecond(before: number, ms: number): number {
		const spanMs = Math.max(ms, SECOND);
		return (this.carried(before - spanMs, before) * SECOND) / spanMs;
	}

	/** The most that were carried in a row within so many ms, before a moment. */
	mostInARow(ms: number, before: number): number {
		let most = 0;
		let first = 0;
		let refusals = 0;
		for (const [index, at] of this.carriedAt.entries()) {
			if (at >= before) break;
			while (this.carriedAt[first]! <= at - ms) first++;
			while (this.refusedAt[refusals]! < at) {
				refusals++;
				first = index;
			}
			most = Math.max(most, index - first + 1);
		}
		return most;
	}

	/**
	 * Whether less was carried in the last `ms` before a moment (in `mostMs`, if that is less) than this share of the most
	 * that was carried in a row within `mostMs`.
	 */
	isBelowMost(share: number, before: number, ms: number, mostMs: number): boolean {
		const from = before - Math.min(ms, mostMs);
		return this.carried(from, before) < share * this.mostInARow(mostMs, before);
	}

	/** The share carried of the requests since a moment, or since the last `least` that were carried if that is longer. */
	shareCarried(since: number, least: number): number {
		const from = Math.min(since, this.carriedAt.at(-least) ?? -Infinity);
		const carried = this.carried(from, Infinity);
		return carried / (carried + this.refusedAt.filter((at) => at >= from).length);
	}

	private withoutOld(moments: number[], now: number): number[] {
		const [oldest = now] = moments;
		// Rarely, since it copies what is kept.
		if (oldest >= now - 2 * this.keptMs) return moments;
		return moments.filter((at) => at >= now - this.keptMs);
	}
}
