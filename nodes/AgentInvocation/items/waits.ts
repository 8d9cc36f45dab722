import type { Waiting } from '../item';

interface Entry {
	index: number;
	item: Waiting;
	/** By the clock. */
	dueAt: number;
	/** How many were added before it. */
	order: number;
}

/** The waits of a node's items, ordered by when they are due. Adding or taking one costs O(log n). */
export class Waits {
	private readonly flexible = new Queue();

	private readonly fixed = new Queue();

	private added = 0;

	private inMemory = 0;

	get size(): number {
		return this.flexible.size + this.fixed.size;
	}

	/** When the first one is due; Infinity when there is none. */
	get dueAt(): number {
		return Math.min(this.flexible.dueAt, this.fixed.dueAt);
	}

	/**
	 * The same for those that may not be polled early: their delay is short, the service has put them off, or their
	 * last poll met a temporary failure.
	 */
	get fixedDueAt(): number {
		return this.fixed.dueAt;
	}

	/** Whether one of them is to stay in memory. */
	get stayInMemory(): boolean {
		return this.inMemory > 0;
	}

	/** @param dueAt when it is to be polled next, by the clock */
	add(index: number, item: Waiting, dueAt: number): void {
		const queue = item.wait.mayBeEarly ? this.flexible : this.fixed;
		queue.add({ index, item, dueAt, order: this.added++ });
		if (item.wait.where === 'memory') this.inMemory++;
	}

	/**
	 * Takes out the first one if it is due by then. If several are due at the same moment, the one added first
	 * comes first.
	 */
	take(dueBy: number): Entry | undefined {
		const { flexible, fixed } = this;
		const isFixed = fixed.first && !(flexible.first && comesBefore(flexible.first, fixed.first));
		const queue = isFixed ? fixed : flexible;
		const { first } = queue;
		if (!first || first.dueAt > dueBy) return undefined;
		if (first.item.wait.where === 'memory') this.inMemory--;
		return queue.take();
	}
}

function comesBefore(one: Entry, other: Entry): boolean {
	const between = one.dueAt - other.dueAt;
	return between < 0 || (between === 0 && one.order < other.order);
}

/** A binary heap. No entry comes before its parent, which is at half its place. */
class Queue {
	/** The entries, from place 1 on; place 0 is unused. */
	private readonly heap: Array<Entry | undefined> = [undefined];

	get size(): number {
		return this.heap.length - 1;
	}

	get first(): Entry | undefined {
		return this.heap[1];
	}

	get dueAt(): number {
		return this.first?.dueAt ?? Infinity;
	}

	add(entry: Entry): void {
		this.heap.push(entry);
		this.rise(this.size, entry);
	}

	take(): Entry | undefined {
		const { first } = this;
		if (!first) return undefined;
		const last = this.heap.pop();
		if (last && last !== first) this.sink(1, last);
		return first;
	}

	/** Puts an entry at a free place, or above it. */
	private rise(place: number, entry: Entry): void {
		const above = this.heap[place >> 1];
		this.heap[place] = entry;
		if (!above || !comesBefore(entry, above)) return;
		this.heap[place] = above;
		this.rise(place >> 1, entry);
	}

	/** Puts an entry at a free place, or below it. */
	private sink(place: number, entry: Entry): void {
		const [left, right] = [this.heap[2 * place], this.heap[2 * place + 1]];
		const isRight = right !== undefined && left !== undefined && comesBefore(right, left);
		const below = isRight ? right : left;
		this.heap[place] = entry;
		if (!below || !comesBefore(below, entry)) return;
		this.heap[place] = below;
		this.sink(2 * place + (isRight ? 1 : 0), entry);
	}
}
