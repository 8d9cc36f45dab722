import { clock } from '../clock';
import type { Item } from '../item';
import type { LoopEnd } from './work';

/** How long the others wait for those that are recalled, in ms. Only what was sent already takes longer. */
const RECALL_MS = 1_000;

/**
 * Decides when the loop ends with a checkpoint: once the first items have begun. Those that still wait for their turn
 * a while after the first of them has begun are recalled. They begin after the checkpoint, which is an early one then.
 */
export class Checkpoint {
	/** How many items have begun in this loop. */
	private begun = 0;

	/** Those of the first ones that are beginning now. */
	private readonly beginning = new Set<number>();

	/** When these are recalled, by the clock; Infinity until one has begun, and from then on. */
	private recallAt = Infinity;

	/** When the others begin though some of these still are beginning; Infinity until they are recalled. */
	private othersBeginAt = Infinity;

	/**
	 * @param first how many the first items are; Infinity if no checkpoint is made
	 * @param afterMs how long after one has begun the others of them are recalled
	 * @param hasRun whether there is a run that the checkpoint would save
	 */
	constructor(
		private first: number,
		private readonly afterMs: number,
		private hasRun: boolean,
	) {}

	/** Whether the others wait for it. */
	get holdsOthers(): boolean {
		return this.begun === this.first && clock.now() < this.othersBeginAt;
	}

	/** When there is something to do for it, by the clock. */
	get actsAt(): number {
		return Math.min(this.recallAt, this.holdsOthers ? this.othersBeginAt : Infinity);
	}

	/** An item begins. */
	noteBegin(index: number): void {
		if (++this.begun <= this.first && this.first < Infinity) this.beginning.add(index);
	}

	/** It has begun, or was recalled. */
	noteBegun(index: number, { run }: Item): void {
		this.hasRun ||= run !== undefined;
		if (!this.beginning.delete(index) || this.othersBeginAt < Infinity) return;
		this.recallAt = Math.min(this.recallAt, clock.now() + this.afterMs);
	}

	/** Gives the items that are to be recalled now. */
	takeRecalled(now: number): number[] {
		if (now < this.recallAt) return [];
		this.recallAt = Infinity;
		this.othersBeginAt = this.hasRun ? now + RECALL_MS : now;
		if (!this.hasRun) return [];
		this.first = this.begun;
		return [...this.beginning];
	}

	/**
	 * Gives the end of the loop if the checkpoint is to be made now.
	 *
	 * @param more how many more are to begin first if there is nothing to save yet
	 */
	dueEnd(more: number): LoopEnd | undefined {
		if (this.begun < this.first || this.beginning.size > 0) return undefined;
		if (this.hasRun) return { is: 'checkpoint', isEarly: this.othersBeginAt < Infinity };
		this.first = this.begun + more;
		return undefined;
	}
}
