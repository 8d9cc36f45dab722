import type { Clock } from '../clock';
import type { Failure } from '../result';
import { GOES_WELL_AFTER_MS, type Concurrency } from './concurrency';
import type { Ended, ItemState, Step, Wait } from '../itemState';
import { Waits } from './waits';

/**
 * How many items may be beginning at the same time, as many as any service takes: the patience of a create
 * does not pass while it is queued behind those of other items.
 */
const MOST_BEGINNING = 100;

/** How many items may be under way at the same time, each perhaps with a connection of its own. */
const MOST_UNDER_WAY = 1_000;

/** What is to happen while nothing is under way. */
export type Idle =
	| { is: 'sleep'; until: number }
	/** What is due by then is polled now. */
	| { is: 'poll'; dueBy: number }
	/** n8n stores the execution. */
	| { is: 'park'; until: number };

/** What the items are worked through with. Times are those of the clock, in ms. */
export interface Work {
	clock: Clock;
	concurrency: Concurrency;
	/** Whether the first item that fails ends the loop. */
	stopsAtFailure: boolean;
	/** Whether the loop ends with a checkpoint once the first items have begun. */
	checkpoints: boolean;
	/** Ends the loop from outside. */
	cancel?: AbortSignal | undefined;
	begin(index: number, signal: AbortSignal): Promise<Step>;
	poll(index: number, wait: Wait, signal: AbortSignal): Promise<Step>;
	/** Called with all waits when nothing is under way and nothing due. */
	idle(waits: Waits): Idle;
	/** An item has ended. */
	ended(index: number, step: Ended): void;
}

/** Why the loop ended; only after `worked` is every item done or failed. */
export type LoopEnd =
	| { is: 'worked' }
	| { is: 'failed'; index: number; failure: Failure }
	| { is: 'cancelled' }
	| { is: 'checkpoint' }
	| { is: 'parked'; until: number };

/**
 * Works through items, several at a time, begun in their order: each is begun, then polled when it is
 * due, until it is done or has failed. What an item waits for lies in its state, so the loop can end while
 * items wait, and another one can go on with the same states.
 *
 * When the loop ends early, no further item is begun and the signals of those under way are aborted. It
 * still waits for each of them, so that nothing they were about to learn (the ID of a run just created)
 * is lost.
 */
export class Loop {
	/** In their order; those from `nextToBegin` on. */
	private notBegun: number[] = [];

	private nextToBegin = 0;

	private readonly waiting = new Waits();

	private readonly underWay = new Map<number, AbortController>();

	/** How many items have begun here, how many of them are still at it, and how many before a checkpoint. */
	private begun = 0;

	private beginning = 0;

	private readonly beforeCheckpoint: number;

	private goesWell = false;

	/** When the latest of the waits began. */
	private latestStartAt = -Infinity;

	private failure: { index: number; failure: Failure } | undefined;

	/** The same of an item that is refused: it ends the loop once nothing is left to do. */
	private refusal: { index: number; failure: Failure } | undefined;

	private hasNews = false;

	private waking = new AbortController();

	constructor(
		private readonly work: Work,
		/** By item; the loop writes into it. */
		readonly states: ItemState[],
	) {
		for (const [index, state] of states.entries()) this.put(index, state);
		this.order();
		const free = Math.max(work.concurrency.atFirst - this.waiting.size, 0);
		this.beforeCheckpoint = work.checkpoints ? Math.min(free, this.leftToBegin) : Infinity;
	}

	async run(): Promise<LoopEnd> {
		const { cancel } = this.work;
		const onCancel = () => this.tell();
		cancel?.addEventListener('abort', onCancel);
		try {
			for (;;) {
				const end = this.goOn() ?? (await this.rest());
				if (!end) continue;
				for (const controller of this.underWay.values()) controller.abort();
				while (this.underWay.size > 0) await this.untilNews(Infinity);
				return end;
			}
		} finally {
			cancel?.removeEventListener('abort', onCancel);
		}
	}

	private get leftToBegin(): number {
		return this.notBegun.length - this.nextToBegin;
	}

	/** Starts what is to be done now, if the loop is not over. */
	private goOn(): LoopEnd | undefined {
		if (this.work.cancel?.aborted) return { is: 'cancelled' };
		if (this.failure) return { is: 'failed', ...this.failure };
		const left = this.waiting.size + this.leftToBegin;
		if (this.begun === this.beforeCheckpoint && this.beginning === 0 && left > 0) {
			return { is: 'checkpoint' };
		}
		const now = this.work.clock.now();
		this.poll(now);
		this.beginMore(now);
		return this.underWay.size + left === 0 ? this.end() : undefined;
	}

	private end(): LoopEnd {
		return this.refusal ? { is: 'failed', ...this.refusal } : { is: 'worked' };
	}

	/** What is known comes first. Where the loop is to end with a refusal, nothing new is begun. */
	private order(): void {
		const isKnown = (index: number) => {
			const state = this.states[index];
			return state?.is === 'notBegun' && state.isKnown === true;
		};
		const known = this.notBegun.filter(isKnown);
		const others = this.refusal ? [] : this.notBegun.filter((index) => !isKnown(index));
		this.notBegun = [...known, ...others];
	}

	/** When the first items are taken to go well; Infinity where no time decides that. */
	private get triedUntil(): number {
		const { most, atFirst } = this.work.concurrency;
		const isFull = this.underWay.size + this.waiting.size >= atFirst && this.beginning === 0;
		const isOnTrial = !this.goesWell && this.leftToBegin > 0 && isFull && atFirst < most;
		return isOnTrial ? this.latestStartAt + GOES_WELL_AFTER_MS : Infinity;
	}

	private beginMore(now: number): void {
		const { most, atFirst } = this.work.concurrency;
		this.goesWell ||= now >= this.triedUntil;
		const limit = this.goesWell ? most : atFirst;
		while (this.underWay.size + this.waiting.size < limit && this.beginning < MOST_BEGINNING) {
			const index = this.notBegun[this.nextToBegin];
			if (index === undefined || this.begun >= this.beforeCheckpoint) return;
			this.nextToBegin++;
			this.begun++;
			this.beginning++;
			void this.step(index, { is: 'notBegun' }, async (signal) => {
				const step = await this.work.begin(index, signal);
				this.beginning--;
				return step;
			});
		}
	}

	private poll(dueBy: number): void {
		while (this.underWay.size < MOST_UNDER_WAY) {
			const due = this.waiting.take(dueBy);
			if (!due) return;
			const { index, wait } = due;
			const before = { is: 'waiting', wait } as const;
			void this.step(index, before, (signal) => this.work.poll(index, wait, signal));
		}
	}

	private async step(
		index: number,
		before: ItemState,
		act: (signal: AbortSignal) => Promise<Step>,
	): Promise<void> {
		// A signal for each item under way: Node.js warns of one that many listen to.
		const controller = new AbortController();
		this.underWay.set(index, controller);
		this.states[index] = { is: 'underWay' };
		const step = await act(controller.signal);
		this.underWay.delete(index);
		this.put(index, step.is === 'stopped' ? before : step);
		if (step.is === 'done' || step.is === 'failed') this.work.ended(index, step);
		this.tell();
	}

	private put(index: number, state: ItemState): void {
		this.states[index] = state;
		if (state.is === 'notBegun') this.notBegun.push(index);
		if (state.is === 'done' && !state.isUnsuccessful) this.goesWell = true;
		if (state.is === 'waiting') {
			this.waiting.add(index, state.wait);
			this.latestStartAt = Math.max(this.latestStartAt, state.wait.startedAt);
		}
		if (state.is === 'failed' && this.work.stopsAtFailure) {
			this[state.isRefused ? 'refusal' : 'failure'] ??= { index, failure: state.failure };
		}
	}

	/** Waits until there is something to do, or ends the loop for the time that there is not. */
	private async rest(): Promise<LoopEnd | undefined> {
		const { triedUntil } = this;
		const due = Math.min(this.waiting.dueAt, triedUntil);
		if (this.underWay.size >= MOST_UNDER_WAY) return await this.untilNews(Infinity);
		if (this.underWay.size > 0 || triedUntil < Infinity) return await this.untilNews(due);
		const next = this.work.idle(this.waiting);
		if (next.is === 'park') return { is: 'parked', until: next.until };
		if (next.is === 'poll') this.poll(next.dueBy);
		else await this.untilNews(Math.min(next.until, due));
		return undefined;
	}

	private tell(): void {
		this.hasNews = true;
		this.waking.abort();
	}

	/** Waits until something has happened, or until `at` by the clock. */
	private async untilNews(at: number): Promise<undefined> {
		if (!this.hasNews) {
			const { clock } = this.work;
			this.waking = new AbortController();
			await clock.sleep(at - clock.now(), this.waking.signal);
		}
		this.hasNews = false;
	}
}
