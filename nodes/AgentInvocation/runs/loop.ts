import type { IDataObject } from 'n8n-workflow';

import type { Clock } from '../clock';
import type { Failure } from '../result';
import type { Wait } from './waitForRun';

/** What a step makes of an item. */
export type Step =
	| { is: 'done'; outputs: IDataObject[] }
	| { is: 'failed'; failure: Failure; /** The run itself has ended so. */ runEnded?: boolean }
	| { is: 'waiting'; wait: Wait }
	/** The signal came first: the item stays as it was. */
	| { is: 'stopped' };

/** Ends an item with its one output. */
export function done(output: IDataObject): Step {
	return { is: 'done', outputs: [output] };
}

/** Fails an item with what a result says. */
export function failed({ failure }: { failure: Failure }): Step {
	return { is: 'failed', failure };
}

export type Ended = Step & { is: 'done' | 'failed' };

/** Where an item stands. */
export type ItemState = { is: 'notBegun' } | { is: 'underWay' } | Exclude<Step, { is: 'stopped' }>;

/** What is to happen while nothing is under way. */
export type Idle =
	| { is: 'sleep'; until: number }
	/** Some waits are polled before they are due. */
	| { is: 'poll'; isDue(wait: Wait): boolean }
	/** n8n stores the execution. */
	| { is: 'park'; until: number };

/** What the items are worked through with. Times are those of the clock, in ms. */
export interface Work {
	clock: Clock;
	/** How many items may have begun and not ended. */
	concurrency: number;
	/** Whether the first item that fails ends the loop. */
	stopsAtFailure: boolean;
	/** Whether the loop ends with a checkpoint once the first items have begun. */
	checkpoints: boolean;
	/** Ends the loop from outside. */
	cancel?: AbortSignal | undefined;
	begin(index: number, signal: AbortSignal): Promise<Step>;
	poll(index: number, wait: Wait, signal: AbortSignal): Promise<Step>;
	/** Called with all waits when nothing is under way and nothing due. */
	idle(waits: Wait[]): Idle;
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
	private readonly notBegun: number[];

	private readonly waiting: Map<number, Wait>;

	private readonly underWay = new Map<number, AbortController>();

	/** How many items have begun here, how many of them are still at it, and how many before a checkpoint. */
	private begun = 0;

	private beginning = 0;

	private readonly beforeCheckpoint: number;

	private failure: { index: number; failure: Failure } | undefined;

	private readonly news: News;

	constructor(
		private readonly work: Work,
		/** By item; the loop writes into it. */
		readonly states: ItemState[],
	) {
		const waits = [...states.entries()].flatMap(([index, state]) =>
			state.is === 'waiting' ? [[index, state.wait] as const] : [],
		);
		this.waiting = new Map(waits);
		this.notBegun = [...states.keys()].filter((index) => states[index]?.is === 'notBegun');
		const free = Math.max(work.concurrency - waits.length, 0);
		this.beforeCheckpoint = work.checkpoints ? Math.min(free, this.notBegun.length) : Infinity;
		this.news = new News(work.clock);
		for (const [index, state] of states.entries()) this.stopAtFailure(index, state);
	}

	async run(): Promise<LoopEnd> {
		const { cancel } = this.work;
		const onCancel = () => this.news.tell();
		cancel?.addEventListener('abort', onCancel);
		try {
			for (;;) {
				const end = this.goOn() ?? (await this.rest());
				if (!end) continue;
				await this.stop();
				return end;
			}
		} finally {
			cancel?.removeEventListener('abort', onCancel);
			this.news.end();
		}
	}

	/** Starts what is to be done now, if the loop is not over. */
	private goOn(): LoopEnd | undefined {
		if (this.work.cancel?.aborted) return { is: 'cancelled' };
		if (this.failure) return { is: 'failed', ...this.failure };
		const left = this.waiting.size + this.notBegun.length;
		if (this.begun === this.beforeCheckpoint && this.beginning === 0 && left > 0) {
			return { is: 'checkpoint' };
		}
		const now = this.work.clock.now();
		this.poll(({ dueAt }) => dueAt <= now);
		this.beginMore();
		return this.underWay.size + left === 0 ? { is: 'worked' } : undefined;
	}

	private beginMore(): void {
		const { concurrency, begin } = this.work;
		while (this.underWay.size + this.waiting.size < concurrency) {
			const index = this.begun < this.beforeCheckpoint ? this.notBegun.shift() : undefined;
			if (index === undefined) return;
			this.begun++;
			this.beginning++;
			void this.step(index, { is: 'notBegun' }, async (signal) => {
				const step = await begin(index, signal);
				this.beginning--;
				return step;
			});
		}
	}

	private poll(isDue: (wait: Wait) => boolean): void {
		for (const [index, wait] of this.waiting) {
			if (!isDue(wait)) continue;
			this.waiting.delete(index);
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
		const state = step.is === 'stopped' ? before : step;
		this.states[index] = state;
		if (state.is === 'waiting') this.waiting.set(index, state.wait);
		if (state.is === 'done' || state.is === 'failed') this.work.ended(index, state);
		this.stopAtFailure(index, state);
		this.news.tell();
	}

	private stopAtFailure(index: number, state: ItemState): void {
		if (state.is !== 'failed' || !this.work.stopsAtFailure) return;
		this.failure ??= { index, failure: state.failure };
	}

	/** Waits until there is something to do, or ends the loop for the time that there is not. */
	private async rest(): Promise<LoopEnd | undefined> {
		const waits = [...this.waiting.values()];
		const due = waits.reduce((first, { dueAt }) => Math.min(first, dueAt), Infinity);
		if (this.underWay.size > 0) return await this.news.until(due);
		const idle = this.work.idle(waits);
		if (idle.is === 'park') return { is: 'parked', until: idle.until };
		if (idle.is === 'poll') this.poll(idle.isDue);
		else await this.news.until(Math.min(idle.until, due));
		return undefined;
	}

	private async stop(): Promise<void> {
		for (const controller of this.underWay.values()) controller.abort();
		while (this.underWay.size > 0) await this.news.until(Infinity);
	}
}

/** Tells the loop that something has happened, or that a time has come. */
class News {
	private isThere = false;

	private listener = () => {};

	private alarmAt = Infinity;

	private alarm = new AbortController();

	constructor(private readonly clock: Clock) {}

	tell(): void {
		this.isThere = true;
		this.listener();
	}

	/** @param at by the clock; Infinity for no time */
	async until(at: number): Promise<undefined> {
		if (!this.isThere) {
			const told = new Promise<void>((resolve) => (this.listener = resolve));
			this.setAlarm(at);
			await told;
		}
		this.isThere = false;
	}

	/** One alarm at a time: an earlier one that is set already will do, since the loop looks again. */
	private setAlarm(at: number): void {
		if (at >= this.alarmAt) return;
		this.end();
		this.alarmAt = at;
		const { signal } = (this.alarm = new AbortController());
		void this.clock.sleep(at - this.clock.now(), signal).then(() => {
			if (signal.aborted) return;
			this.alarmAt = Infinity;
			this.tell();
		});
	}

	end(): void {
		this.alarm.abort();
	}
}
