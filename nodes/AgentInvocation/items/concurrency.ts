/** How many items may be in progress at a time. */
export interface Concurrency {
	/** After the trial. */
	most: number;
	/** During the trial; equal to `most` if there is no trial. */
	onTrial: number;
}

/** A trial of ten items, so that an immediate error wastes at most ten runs. Then the service sets the pace. */
export const AUTOMATIC: Concurrency = { most: Infinity, onTrial: 10 };

/** Dry runs: one goes first, to show that nothing on the way makes a run of it. */
export const OF_DRY_RUNS: Concurrency = { most: Infinity, onTrial: 1 };

/** A number without a trial. */
export function fixedAt(count: number): Concurrency {
	return { most: count, onTrial: count };
}

/** The trial is over once all of its runs have gone on for this long, in ms. Each was polled by then. */
const TRIAL_MS = 5_000;

/**
 * The trial: the first items of a node. The others begin once one of these has succeeded, or those that have begun
 * have gone on for a while.
 */
export class Trial {
	private isOver = false;

	/** When the latest wait of the trial began, by the clock. */
	private latestBeganAt = -Infinity;

	/** @param count how many items there are */
	constructor(
		private readonly concurrency: Concurrency,
		private readonly count: number,
	) {}

	/** Whether there is a trial, whose end items will wait for. */
	get isOn(): boolean {
		const { most, onTrial } = this.concurrency;
		return onTrial < most && onTrial < this.count && !this.isOver;
	}

	/** How many items may be in progress now. */
	get limit(): number {
		const { most, onTrial } = this.concurrency;
		return this.isOver ? most : onTrial;
	}

	end(): void {
		this.isOver = true;
	}

	noteBegan(at: number): void {
		this.latestBeganAt = Math.max(this.latestBeganAt, at);
	}

	/** When time ends the trial, by the clock; Infinity if none has begun. */
	get endsAt(): number {
		const hasBegun = this.latestBeganAt > -Infinity;
		return hasBegun ? this.latestBeganAt + TRIAL_MS : Infinity;
	}
}
