import { clock } from '../clock';
import type { Item } from '../item';
import type { LoopEnd } from './work';

/** How long the others wait after one of the first items has begun, in ms. */
const HOLD_MS = 5_000;

/** How long the others wait for recalled items, in ms. Only items whose request was already sent take longer. */
const RECALL_MS = 1_000;

/**
 * Decides when the loop ends with a checkpoint: once the first items have begun. Those that still wait for their turn
 * a while after a run was started are recalled. They begin after the checkpoint, which is an early one then.
 */
export class Checkpoint {
	/** How many items are beginning or have begun in this loop. */
	private reached = 0;

	/** Those of the first ones that are beginning now. */
	private readonly beginning = new Set<number>();

	/** When those in `beginning` are recalled, by the clock. Infinity until a run was started, and again after the recall. */
	private recallAt = Infinity;

	private wereRecalled = false;

	/** When the others begin even if some of the first items are still beginning. */
	private othersBeginAt: number;

	/**
	 * @param first how many the first items are; Infinity if no checkpoint is made
	 * @param afterMs how long after a run was started the first items that are still beginning are recalled, in ms
	 * @param hasRun whether there is a run that the checkpoint would save
	 */
	constructor(
		private first: number,
		private readonly afterMs: number,
		private hasRun: boolean,
	) {
		this.othersBeginAt = hasRun ? clock.now() + HOLD_MS : Infinity;
	}

	/** Whether the others wait for it. */
	get othersWait(): boolean {
		return this.reached === this.first && clock.now() < this.othersBeginAt;
	}

	/** When there is something to do for it, by the clock. */
	get actsAt(): number {
		return Math.min(this.recallAt, this.othersWait ? this.othersBeginAt : Infinity);
	}

	/** Notes that an item begins. */
	noteBegin(index: number): void {
		if (++this.reached <= this.first && this.first < Infinity) this.beginning.add(index);
	}

	/** Notes that an item has begun, or was recalled. */
	noteBegun(index: number, { run }: Item): void {
		this.hasRun ||= run !== undefined;
		this.beginning.delete(index);
		if (this.wereRecalled || this.first === Infinity) return;
		const now = clock.now();
		this.othersBeginAt = Math.min(this.othersBeginAt, now + HOLD_MS);
		if (run) this.recallAt = Math.min(this.recallAt, now + this.afterMs);
	}

	/** Gives the items that are to be recalled now, of those that may be. */
	takeRecalled(now: number, mayRecall: (index: number) => boolean): number[] {
		if (now < this.recallAt) return [];
		this.recallAt = Infinity;
		if (this.beginning.size === 0) return [];
		this.wereRecalled = true;
		this.othersBeginAt = now + RECALL_MS;
		this.first = this.reached;
		return [...this.beginning].filter(mayRecall);
	}

	/**
	 * Gives the end of the loop if the checkpoint is to be made now.
	 *
	 * @param more how many more are to begin first if there is nothing to save yet
	 */
	dueEnd(more: number): LoopEnd | undefined {
		if (this.reached < this.first || this.beginning.size > 0) return undefined;
		if (this.hasRun) return { is: 'checkpoint', isEarly: this.wereRecalled };
		this.first = this.reached + more;
		return undefined;
	}
}
