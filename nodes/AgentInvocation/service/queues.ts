import type { Priority } from './pacesByPriority';

/** A request that waits for its turn. */
export interface Waiter {
	/** Whose request it is. */
	owner: object;
	priority: Priority;
	/** Since when it waits, by the clock. */
	cameAt: number;
}

/** The requests of an owner, in the order in which they came. */
interface Queue<W> {
	create: Set<W>;
	poll: Set<W>;
	/** How many turns it has had. */
	turns: number;
}

/** A late poll gets every third turn of its owner. Otherwise it would wait for as long as runs are created. */
const LATE_POLL_EVERY = 3;

/** How long a poll has to wait to get such a turn, in ms: sooner, it would only keep runs from starting. */
const LATE_MS = 2_000;

/** Which requests wait, and whose turn is next. Owners take turns; an owner's creates go before its polls. */
export class Queues<W extends Waiter> {
	/** By owner; the first one's turn is next. */
	private readonly queues = new Map<object, Queue<W>>();

	/** All that wait. */
	get waiters(): W[] {
		return [...this.queues.values()].flatMap(({ create, poll }) => [...create, ...poll]);
	}

	add(waiter: W): void {
		const { owner, priority } = waiter;
		const queue = this.queues.get(owner) ?? { create: new Set(), poll: new Set(), turns: 0 };
		queue[priority].add(waiter);
		this.queues.set(owner, queue);
	}

	remove(waiter: W): void {
		const { owner, priority } = waiter;
		const queue = this.queues.get(owner);
		queue?.[priority].delete(waiter);
		if (queue?.create.size === 0 && queue.poll.size === 0) this.queues.delete(owner);
	}

	/** The first poll that has waited since before a moment. */
	pollBefore(moment: number): W | undefined {
		for (const queue of this.queues.values()) {
			const [poll] = queue.poll;
			if (poll && poll.cameAt < moment) return poll;
		}
		return undefined;
	}

	/**
	 * The first request of each kind, in the order of their turns.
	 *
	 * @param arePollsFirst whether polls that have waited long go before all creates
	 */
	*inOrder(now: number, arePollsFirst: boolean): Generator<W> {
		const isLate = (poll?: W): poll is W => poll !== undefined && now >= poll.cameAt + LATE_MS;
		if (arePollsFirst) {
			for (const queue of this.queues.values()) {
				const [poll] = queue.poll;
				if (isLate(poll)) yield poll;
			}
		}
		for (const queue of this.queues.values()) {
			const [[create], [poll]] = [queue.create, queue.poll];
			const isPollsTurn = isLate(poll) && (queue.turns + 1) % LATE_POLL_EVERY === 0;
			for (const waiter of isPollsTurn ? [poll, create] : [create, poll]) if (waiter) yield waiter;
		}
	}

	/** An owner has had its turn. */
	endTurn(owner: object): void {
		const queue = this.queues.get(owner);
		if (!queue) return;
		queue.turns++;
		this.queues.delete(owner);
		this.queues.set(owner, queue);
	}
}
