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
	/** Which of all turns its latest create had; for an owner without one, when it came. */
	latestCreate: number;
}

/** A poll that has waited long gets every third turn of its owner. Otherwise it would wait until no more runs are created. */
const LONG_WAITER_EVERY = 3;

/** How long a poll has to wait to get such a turn, in ms: sooner, it would only keep runs from starting. */
const LONG_WAIT_MS = 2_000;

/** Where requests of a priority wait. */
function lineOf(priority: Priority): 'create' | 'poll' {
	return priority === 'poll' ? 'poll' : 'create';
}

/** Which requests wait, and whose turn is next. Owners take turns; an owner's creates go before its polls. */
export class Queues<W extends Waiter> {
	/** By owner; the first one's turn is next. */
	private readonly queues = new Map<object, Queue<W>>();

	/** How many turns there were. */
	private turns = 0;

	/** All that wait. */
	get waiters(): W[] {
		return [...this.queues.values()].flatMap(({ create, poll }) => [...create, ...poll]);
	}

	add(waiter: W): void {
		const { owner, priority } = waiter;
		const fresh = { create: new Set<W>(), poll: new Set<W>(), turns: 0, latestCreate: this.turns };
		const queue = this.queues.get(owner) ?? fresh;
		this.queues.set(owner, queue);
		queue[lineOf(priority)].add(waiter);
	}

	remove(waiter: W): void {
		const { owner, priority } = waiter;
		const queue = this.queues.get(owner);
		queue?.[lineOf(priority)].delete(waiter);
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
	 * @param areCreatesLimited whether only some creates may be under way (see `PacesByPriority`). Owners then take turns
	 *   for creates alone. Otherwise an owner that also polls would fall behind with each create.
	 */
	*inOrder(now: number, arePollsFirst: boolean, areCreatesLimited: boolean): Generator<W> {
		const hasWaitedLong = (poll?: W): poll is W =>
			poll !== undefined && now >= poll.cameAt + LONG_WAIT_MS;
		if (arePollsFirst) {
			for (const queue of this.queues.values()) {
				const [poll] = queue.poll;
				if (hasWaitedLong(poll)) yield poll;
			}
		}
		const creators = [...this.queues.values()].filter(({ create }) => create.size > 0);
		if (areCreatesLimited) creators.sort((one, other) => one.latestCreate - other.latestCreate);
		for (const queue of this.queues.values()) {
			const [poll] = queue.poll;
			const creator = queue.create.size > 0 ? creators.shift() : undefined;
			const [create] = creator?.create ?? [];
			const isPollsTurn = hasWaitedLong(poll) && (queue.turns + 1) % LONG_WAITER_EVERY === 0;
			for (const waiter of isPollsTurn ? [poll, create] : [create, poll]) if (waiter) yield waiter;
		}
	}

	/** A request has had its owner's turn. */
	endTurn({ owner, priority }: W): void {
		this.turns++;
		const queue = this.queues.get(owner);
		if (!queue) return;
		queue.turns++;
		if (priority !== 'poll') queue.latestCreate = this.turns;
		this.queues.delete(owner);
		this.queues.set(owner, queue);
	}
}
