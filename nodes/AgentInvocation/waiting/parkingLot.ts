import type { Clock } from './clock';
import { SHORTEST_PARKED_DELAY_MS } from './schedule';
import { deadlineOf, type Wait } from './waitForRun';

/** How much later than planned a look may be because its wait is parked, in ms. */
const UNNOTICED_MS = 5_000;

/** A wait that could go on elsewhere. */
export interface Offer<T extends Wait> {
	wait: T;
	/** When the run is to be looked at next, by the clock. */
	dueAt: number;
}

/**
 * Where the waits of a batch meet. As long as some item has something to do soon, each sleeps here as
 * it would anywhere. When every item that is not done is in a delay long enough to be parked, all of
 * them are, together. That is tried once only, since a host that refuses will refuse again.
 */
export class ParkingLot<T extends Wait> {
	private readonly offers = new Map<AbortController, Offer<T>>();

	private attempt: Promise<boolean> | undefined;

	private hasLooked = false;

	/**
	 * @param undone how many items there are
	 * @param park takes over all waits that there are and tells whether it did; never throws
	 */
	constructor(
		private readonly clock: Clock,
		private undone: number,
		private readonly park: (offers: Array<Offer<T>>) => Promise<boolean>,
	) {}

	/** An item needs no more waiting. */
	leave(): void {
		this.undone--;
		this.parkWhenAllWait();
	}

	/** Passes `ms`, and tells whether the wait was parked meanwhile. */
	async pause(ms: number, wait: T, signal?: AbortSignal): Promise<'over' | 'parked'> {
		if (ms < SHORTEST_PARKED_DELAY_MS || this.attempt || signal?.aborted) {
			await this.clock.sleep(ms, signal);
			return 'over';
		}
		const waking = new AbortController();
		const wake = () => waking.abort();
		signal?.addEventListener('abort', wake);
		this.offers.set(waking, { wait, dueAt: this.clock.now() + ms });
		this.parkWhenAllWait();
		await this.clock.sleep(ms, waking.signal);
		signal?.removeEventListener('abort', wake);
		this.offers.delete(waking);
		// The delay may have ended while the attempt was under way.
		return !signal?.aborted && (await this.attempt) ? 'parked' : 'over';
	}

	private parkWhenAllWait(): void {
		const offers = [...this.offers.values()];
		if (this.attempt || offers.length === 0 || offers.length < this.undone) return;
		// One whose time limit is near has its last look here first.
		const soonest = this.clock.now() + SHORTEST_PARKED_DELAY_MS;
		if (offers.some(({ wait }) => deadlineOf(wait) < soonest)) return;
		if (!this.hasLooked) {
			this.hasLooked = true;
			if (this.lookFirst()) return;
		}
		this.attempt = this.park(offers).then((parked) => {
			if (parked) for (const waking of this.offers.keys()) waking.abort();
			return parked;
		});
	}

	/** Sends those to look that are due before a parked execution could, and tells whether any is. */
	private lookFirst(): boolean {
		const soon = this.clock.now() + SHORTEST_PARKED_DELAY_MS - UNNOTICED_MS;
		const due = [...this.offers].filter(([, { dueAt }]) => dueAt < soon);
		for (const [waking] of due) waking.abort();
		return due.length > 0;
	}
}
