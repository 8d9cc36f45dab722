import type { PassTime } from '../clock';
import type { Failure } from '../failure';
import type { Item, NotBegun, Waiting } from '../item';
import type { Concurrency } from './concurrency';
import type { Waits } from './waits';

/** The items, by index. */
export interface Items {
	item(index: number): Item;
	note(index: number, item: Item): void;
}

/** What the loop works with. Moments are those of the clock, in ms. */
export interface Work {
	concurrency: Concurrency;
	/** Whether the first item that fails ends the loop. */
	stopsAtFailure: boolean;
	/**
	 * How long after a run was started the loop ends with a checkpoint, in ms, even if some of the first items still wait
	 * for their turn: those are recalled. Infinity if it makes no checkpoint.
	 */
	checkpointAfterMs: number;
	/**
	 * Whether an item that is beginning may be recalled, and begun again later. Not if its create is repeated after a server
	 * error: the repetitions would be counted from the start.
	 */
	mayRecall(this: void, index: number): boolean;
	/** For the dates in the records. */
	time: PassTime;
	/** Nothing is polled before this moment. */
	pollsFrom: number;
	/** Ends the loop from outside. */
	cancel?: AbortSignal;
	/**
	 * Gives the next state of the item; the item unchanged if the signal came first.
	 *
	 * @param isOnTrial whether others wait until it is known that its run does not fail at once
	 */
	begin(item: NotBegun, index: number, signal: AbortSignal, isOnTrial: boolean): Promise<Item>;
	poll(item: Waiting, index: number, signal: AbortSignal): Promise<Item>;
	/** Called with all waits when nothing is under way and nothing due. */
	idle(waits: Waits): Promise<Idle>;
}

/** What the loop does while nothing is under way. */
export type Idle =
	| { is: 'sleep'; wakesAt: number }
	/** What is due by then is polled now. */
	| { is: 'poll'; dueBy: number }
	/** n8n stores the execution. */
	| { is: 'park'; resumesAt: number };

/** Why the loop ended. Only `worked` means that every item is done or failed. */
export type LoopEnd =
	| { is: 'worked' }
	| { is: 'failed'; index: number; failure: Failure }
	| { is: 'cancelled' }
	/** `isEarly`: some of the first items have not begun. */
	| { is: 'checkpoint'; isEarly: boolean }
	| { is: 'parked'; resumesAt: number };
