import type { IDataObject } from 'n8n-workflow';

import type { Failure } from './failure';
import { bound, boundAll, nameRun } from './wording';

/** How an item's run is waited for, and what is output at its end. */
export interface WaitOptions {
	/** ms; 0 for no limit. */
	timeoutMs: number;
	/** ms; 0 for automatic. */
	pollIntervalMs: number;
	onUnsuccessfulRun: 'error' | 'output';
	onTimeout: 'error' | 'output';
	outputFormat: 'text' | 'json';
	/** Where the user wants it to wait: in memory first and then stored, stored from the start, or in memory only. */
	whereToWait: 'auto' | 'stored' | 'memory';
}

/** A run that an item has started, or that it was given. */
export interface KnownRun {
	/** The base URL of the service that has the run. */
	baseUrl: string;
	agentId: number;
	runId: string;
}

/** The run of an item, and which item that is. */
export interface RunOfItem extends KnownRun {
	itemIndex: number;
}

/** Where the wait for a run stands. Dates are ms since the epoch. */
export interface Wait {
	options: WaitOptions;
	/** Where the run is really waited for, which may differ from the option (see `placeOf` in items/whereToWait.ts). */
	where: WaitOptions['whereToWait'];
	/** When the time limit began to count, at the beginning of the wait. */
	beganOn: number;
	/** Whether the run was created just before the wait began. */
	isOfNewRun?: boolean;
	/** The next poll's date. */
	dueOn: number;
	/** The planned delay, in ms. If n8n's clock is changed, the next poll is no further ahead than that. */
	delayMs: number;
	/**
	 * Whether the run may be polled before it is due, so that the execution can be stored: the delay is long enough
	 * for n8n to store, an early poll still comes after what the service asks for, and the last poll met no failure.
	 */
	mayBeEarly: boolean;
	/** Whether the service has shown the run. */
	wasSeen?: boolean;
	/** Whether other items wait to see that the run does not fail at once. */
	isOnTrial?: boolean;
	/** How many polls in a row have met a temporary failure. */
	failuresInARow: number;
	/** How many polls have got an answer that is retried only briefly (`answerKinds.ts`). */
	briefAnswers: number;
	/**
	 * Whether the item is begun again if the run has failed or is gone: an earlier attempt started it, and this one
	 * has not seen it unfinished.
	 */
	mayBeginAgain?: boolean;
	/** The date of the first poll at or after the time limit that got no answer; absent before. */
	graceBeganOn?: number;
	/** How many polls since then got a 429. */
	refusals?: number;
	/** How long the rate limit has put it off since then, in ms. */
	heldMs?: number;
}

/** What every record may have. */
interface Known {
	/**
	 * Hashes of what the item was to start: by the agent's ID, and by its name if the user gave the name. A record of
	 * an earlier attempt also holds a hash of what was entered in the node in each attempt in which it counted (see
	 * `enteredIn` in engine/host.ts).
	 */
	fingerprints?: string[];
	/** Whether the user has changed the node since the record was made. It then counts only if the item would start the same run. */
	isOld?: boolean;
	/** Whether the service does not know the run. The next attempt polls it once more. */
	isGone?: boolean;
	run?: KnownRun;
	/**
	 * Older records of the item, the newest first: what an attempt can go on from, and what was started before
	 * the user changed the node. Each is in doubt, waiting or done, and has none of its own. Absent if there are none.
	 */
	earlier?: Item[];
}

/** All that is known of one input item. Plain JSON: n8n stores it as it is. */
export type Item = Known &
	(
		| { is: 'notBegun' }
		| {
				/** A run may have been started. */
				is: 'inDoubt';
				/** Absent where it is not even known whether the item had begun. */
				agentId?: number;
		  }
		| { is: 'waiting'; run: KnownRun; wait: Wait }
		| {
				is: 'done';
				/** Before 'Output Format' is applied: what the agent has written is still text. */
				outputs: IDataObject[];
				/** The run has failed or was cancelled, and is output all the same. */
				isUnsuccessful?: boolean;
				/** Its run is output without waiting for its end. */
				isNotWaitedFor?: boolean;
				/** The agent's output is JSON text, and is output parsed. */
				isJson?: boolean;
		  }
		| {
				is: 'failed';
				failure: Failure;
				/**
				 * Whether the item was not begun because an earlier attempt may have begun it. It ends the node
				 * only when nothing else is left to do.
				 */
				isHeldBack?: boolean;
		  }
	);

export type ItemThatIs<Is extends Item['is']> = Item & { is: Is };

export type NotBegun = ItemThatIs<'notBegun'>;

export type Waiting = ItemThatIs<'waiting'>;

export const NOT_BEGUN: NotBegun = { is: 'notBegun' };

/** The item as done, with its outputs. */
export function done(
	{ fingerprints, run, earlier }: Item,
	outputs: IDataObject[],
	how: Pick<ItemThatIs<'done'>, 'isUnsuccessful' | 'isNotWaitedFor' | 'isJson'> = {},
): ItemThatIs<'done'> {
	return { is: 'done', fingerprints, run, outputs, ...how, earlier };
}

/** The item as failed. If its run is known, the message names it, and the next attempt goes on from there. */
export function failed(item: Item, failure: Failure): ItemThatIs<'failed'> {
	const run = runOf(item);
	return {
		is: 'failed',
		run,
		failure: naming(run, failure),
		earlier: unlessEmpty(recordsOf(item)),
	};
}

/** The item as not begun, with the records that it can go on from. */
export function toBegin(records: Item[] = []): NotBegun {
	return { is: 'notBegun', earlier: unlessEmpty(records) };
}

/** The item's records, the newest first, as the next attempt would find them if this one ended now. */
export function recordsOf(item: Item): Item[] {
	const { earlier = [], ...newest } = item;
	return item.is === 'notBegun' || item.is === 'failed' ? earlier : [newest, ...earlier];
}

/** Whether the item may have started a run that is not known. */
export function isInDoubt(item: Item): boolean {
	return recordsOf(item).some(({ is }) => is === 'inDoubt');
}

/** The newest known run that an item has started or got; runs from before a change of the node do not count. */
export function runOf(item: Item): KnownRun | undefined {
	return (
		item.run ?? recordsOf(item).find(({ run, isOld, isGone }) => run && !isOld && !isGone)?.run
	);
}

/** Records as they are stored: absent if there are none. */
export function unlessEmpty(records: Item[]): Item[] | undefined {
	return records.length > 0 ? records : undefined;
}

function naming(run: KnownRun | undefined, failure: Failure): Failure {
	const { message, description, details } = failure;
	// If the details have the run's ID, the message names it already.
	const unnamed = details.run_id === undefined ? run : undefined;
	const all = unnamed ? { ...details, agent_id: unnamed.agentId, run_id: unnamed.runId } : details;
	return {
		...failure,
		// n8n's own explanation would hide the run.
		expression: unnamed ? undefined : failure.expression,
		message: bound(unnamed ? `${message}${nameRun(unnamed)}` : message),
		description: bound(description),
		details: boundAll(all),
	};
}
