/** How many items may be in progress at a time. */
export interface Concurrency {
	/** After the trial. */
	most: number;
	/** During the trial; equal to `most` if there is no trial. */
	onTrial: number;
}

/** A trial of ten items, so that an immediate error wastes at most ten runs. Then the service sets the pace. */
export const AUTOMATIC: Concurrency = { most: Infinity, onTrial: 10 };

/** For dry runs: one goes first, to show that nothing in between turns dry runs into real ones. */
export function ofDryRuns(most: number): Concurrency {
	return { most, onTrial: 1 };
}

/** A number without a trial. */
export function fixedAt(count: number): Concurrency {
	return { most: count, onTrial: count };
}

/** The trial is over at the latest when the newest of its runs is this old, in ms, even if no poll was answered. */
const LONGEST_TRIAL_MS = 30_000;

/**
 * The trial: the first items of a node. The others begin once one of these has succeeded, or each run was seen to go on
 * for long enough (`TRIAL_MS` in waiting/schedule.ts).
 */
export class Trial {
	private isOver = false;

	/** When the latest wait of the trial began, by the clock. */
	private latestBeganAt = -Infinity;

	/** The items whose runs may still fail at once. */
	private readonly mayFailAtOnce = new Set<number>();

	/** @param count how many items there are */
	constructor(
		private readonly concurrency: Concurrency,
		private readonly count: number,
	) {}

	/** Whether the trial is on, so that items wait for its end. */
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

	/**
	 * Notes that an item's run goes on.
	 *
	 * @param beganAt when its wait began, by the clock
	 * @param isOnTrial whether it may still fail at once
	 */
	noteWait(index: number, beganAt: number, isOnTrial = false): void {
		this.latestBeganAt = Math.max(this.latestBeganAt, beganAt);
		if (isOnTrial) this.mayFailAtOnce.add(index);
		else this.mayFailAtOnce.delete(index);
	}

	/** Notes that an item has no run on trial: it is done, has failed, or is not begun. */
	noteEnd(index: number): void {
		this.mayFailAtOnce.delete(index);
	}

	/** When time ends the trial, by the clock; Infinity if none has begun. */
	get endsAt(): number {
		if (this.latestBeganAt === -Infinity) return Infinity;
		return this.latestBeganAt + (this.mayFailAtOnce.size > 0 ? LONGEST_TRIAL_MS : 0);
	}
}
