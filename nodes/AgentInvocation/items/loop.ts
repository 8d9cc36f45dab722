import { clock } from '../clock';
import type { Item, NotBegun } from '../item';
import { Checkpoint } from './checkpoint';
import { Trial } from './concurrency';
import { Waits } from './waits';
import type { Items, LoopEnd, Work } from './work';

/** The most items that are beginning at once, which keeps deadlines of creates from expiring in the queue. */
const MOST_BEGINNING = 100;

/** With so many items under way, each perhaps with a connection of its own, none is polled. */
const MOST_UNDER_WAY = 1_000;

/**
 * Works through items, several at a time: begins each in turn, then polls it when it is due, until it is done
 * or has failed. What an item waits for is in its record, so the loop can end while items wait, and another
 * loop can go on with the same records.
 *
 * If the loop ends early, it begins no further item and aborts the signals of those under way. It still waits
 * for them, so that nothing they were about to learn is lost, such as the ID of a run that was just created.
 */
export class Loop {
	/** In the order in which they begin. Those before `nextToBegin` are beginning or have begun. */
	private inOrder: Array<{ index: number; item: NotBegun }> = [];

	private nextToBegin = 0;

	private readonly waiting = new Waits();

	private readonly underWay = new Map<number, AbortController>();

	/** How many items are beginning now. */
	private beginning = 0;

	private readonly checkpoint: Checkpoint;

	private readonly trial: Trial;

	/** The first item that has failed, where that ends the loop. */
	private failure: LoopEnd | undefined;

	/** The same for an item that is held back, which ends the loop only once nothing else is left to do. */
	private heldBack: LoopEnd | undefined;

	/** Aborted once something has happened that the loop has not looked at. */
	private waking = new AbortController();

	/** @param count how many items there are */
	constructor(
		private readonly work: Work,
		private readonly items: Items,
		count: number,
	) {
		this.trial = new Trial(work.concurrency, count);
		for (let index = 0; index < count; index++) this.put(index, items.item(index));
		// Those that can go on from an earlier attempt come first. If an item that is held back is to end the loop,
		// others are not begun at all.
		const known = this.inOrder.filter(({ item }) => item.earlier);
		const others = this.inOrder.filter(({ item }) => !item.earlier);
		this.inOrder = this.heldBack ? known : known.concat(others);
		const free = Math.max(work.concurrency.onTrial - this.waiting.size, 0);
		const mayCheckpoint = work.checkpointAfterMs < Infinity && this.leftToBegin > 0;
		const first = mayCheckpoint ? Math.min(free, this.leftToBegin) : Infinity;
		this.checkpoint = new Checkpoint(first, work.checkpointAfterMs, this.waiting.size > 0);
	}

	async run(): Promise<LoopEnd> {
		const { cancel } = this.work;
		const onCancel = () => this.waking.abort();
		cancel?.addEventListener('abort', onCancel);
		try {
			let end: LoopEnd | undefined;
			while (!end) end = this.doWhatIsDue() ?? (await this.untilNextStep());
			for (const controller of this.underWay.values()) controller.abort();
			while (this.underWay.size > 0) await this.untilNews(Infinity);
			// If the execution was stopped meanwhile, the engine would not run the node again.
			return end.is === 'checkpoint' && cancel?.aborted ? { is: 'cancelled' } : end;
		} finally {
			cancel?.removeEventListener('abort', onCancel);
		}
	}

	private get leftToBegin(): number {
		return this.inOrder.length - this.nextToBegin;
	}

	/** Those under way and those that wait. */
	private get inProgress(): number {
		return this.underWay.size + this.waiting.size;
	}

	/** When time ends the trial, by the clock; Infinity if no item waits for that. */
	private get trialEndsAt(): number {
		const isFull = this.trial.isOn && this.inProgress >= this.trial.limit;
		return isFull && this.leftToBegin > 0 ? this.trial.endsAt : Infinity;
	}

	/** Begins and polls what is due now, unless the loop is over. */
	private doWhatIsDue(): LoopEnd | undefined {
		if (this.work.cancel?.aborted) return { is: 'cancelled' };
		if (this.failure) return this.failure;
		const now = clock.now();
		for (const index of this.checkpoint.takeRecalled(now, this.work.mayRecall)) {
			this.underWay.get(index)?.abort();
		}
		const left = this.waiting.size + this.leftToBegin;
		const more = Math.min(this.leftToBegin, this.work.concurrency.onTrial);
		const end = left + this.beginning > 0 ? this.checkpoint.dueEnd(more) : undefined;
		if (end) return end;
		this.poll(now);
		this.beginMore(now);
		return this.underWay.size + left === 0 ? (this.heldBack ?? { is: 'worked' }) : undefined;
	}

	private beginMore(now: number): void {
		if (now >= this.trialEndsAt) this.trial.end();
		while (this.inProgress < this.trial.limit && this.beginning < MOST_BEGINNING) {
			const next = this.inOrder[this.nextToBegin];
			if (!next || this.checkpoint.othersWait) return;
			this.nextToBegin++;
			this.beginning++;
			this.checkpoint.noteBegin(next.index);
			const { isOn: isOnTrial } = this.trial;
			void this.step(next.index, async (signal) => {
				const begun = await this.work.begin(next.item, next.index, signal, isOnTrial);
				this.beginning--;
				this.checkpoint.noteBegun(next.index, begun);
				return begun;
			});
		}
	}

	private poll(dueBy: number): void {
		while (this.underWay.size < MOST_UNDER_WAY) {
			const due = this.waiting.take(dueBy);
			if (!due) return;
			const { index, item } = due;
			void this.step(index, (signal) => this.work.poll(item, index, signal));
		}
	}

	private async step(index: number, act: (signal: AbortSignal) => Promise<Item>): Promise<void> {
		// One signal for each item: Node.js warns if many listen to the same one.
		const controller = new AbortController();
		this.underWay.set(index, controller);
		const item = await act(controller.signal);
		this.underWay.delete(index);
		this.put(index, item);
		this.waking.abort();
	}

	private put(index: number, item: Item): void {
		this.items.note(index, item);
		if (item.is === 'notBegun') this.inOrder.push({ index, item });
		if (item.is === 'done' && !item.isUnsuccessful) this.trial.end();
		if (item.is === 'waiting') {
			const { time, pollsFrom } = this.work;
			const { dueOn, beganOn, isOnTrial } = item.wait;
			this.waiting.add(index, item, Math.max(time.momentOf(dueOn), pollsFrom));
			this.trial.noteWait(index, time.momentOf(beganOn), isOnTrial);
		} else this.trial.noteEnd(index);
		if (item.is === 'failed' && this.work.stopsAtFailure) {
			const { is, failure } = item;
			this[item.isHeldBack ? 'heldBack' : 'failure'] ??= { is, index, failure };
		}
	}

	/** Waits until there is something to do, polls early, or ends the loop so that the execution can be stored. */
	private async untilNextStep(): Promise<LoopEnd | undefined> {
		const { trialEndsAt } = this;
		const due = Math.min(this.waiting.dueAt, trialEndsAt, this.checkpoint.actsAt);
		// Nothing more can start before one of those under way has ended.
		if (this.underWay.size >= MOST_UNDER_WAY) return await this.untilNews(Infinity);
		if (this.underWay.size > 0 || trialEndsAt < Infinity) return await this.untilNews(due);
		const next = await this.work.idle(this.waiting);
		if (this.work.cancel?.aborted) return undefined;
		if (next.is === 'park') return { is: 'parked', resumesAt: next.resumesAt };
		if (next.is === 'poll') this.poll(next.dueBy);
		else await this.untilNews(next.wakesAt);
		return undefined;
	}

	/** Waits until something has happened, or until `at` by the clock. */
	private async untilNews(at: number): Promise<undefined> {
		await clock.sleep(at - clock.now(), this.waking.signal);
		this.waking = new AbortController();
	}
}
