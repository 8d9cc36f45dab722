/** How many items may have begun and not ended. */
export interface Concurrency {
	/** Once the trial is over. */
	most: number;
	/** Until then; the same if there is no trial. */
	onTrial: number;
}

/** A trial of ten items, so that an immediate error wastes at most ten runs. Then the service sets the pace. */
export const AUTOMATIC: Concurrency = { most: Infinity, onTrial: 10 };

/** A number of the user's own. */
export function fixedAt(count: number): Concurrency {
	return { most: count, onTrial: count };
}

/** How long all runs of the trial go on before it is over, in ms. */
export const TRIAL_MS = 5_000;

/** The first items of a node. The others begin once one of them has succeeded, or all have gone on for a while. */
export class Trial {
	private isOver = false;

	/** When the latest of their waits began, by the clock. */
	private latestStartAt = -Infinity;

	constructor(private readonly concurrency: Concurrency) {}

	/** How many items may have begun and not ended. */
	get limit(): number {
		const { most, onTrial } = this.concurrency;
		return this.isOver ? most : onTrial;
	}

	end(): void {
		this.isOver = true;
	}

	noteStart(at: number): void {
		this.latestStartAt = Math.max(this.latestStartAt, at);
	}

	/**
	 * When the trial ends if no run succeeds before, by the clock; Infinity if time does not end it.
	 *
	 * @param started how many of the items' runs go on
	 */
	endsAt(started: number): number {
		const { most, onTrial } = this.concurrency;
		const isFull = started >= onTrial && onTrial < most;
		return isFull && !this.isOver ? this.latestStartAt + TRIAL_MS : Infinity;
	}
}
