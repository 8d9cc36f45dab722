import type { IDataObject } from 'n8n-workflow';

import type { Failure } from './failure';
import { bound, nameRun } from './wording';

/** How an item's run is waited for, and what becomes of its end. */
export interface WaitOptions {
	/** ms; 0 for no limit. */
	timeoutMs: number;
	/** ms; 0 for automatic. */
	pollIntervalMs: number;
	onUnsuccessfulRun: 'error' | 'output';
	onTimeout: 'error' | 'output';
	outputFormat: 'text' | 'json';
	/** In memory first and then stored, stored from the start, or in memory only. */
	whereToWait: 'auto' | 'stored' | 'memory';
}

/** A run that an item has started, or that it was given. */
export interface KnownRun {
	/** The service's, at which the run is. */
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
	/** Where it waits: not every option is possible everywhere. */
	where: WaitOptions['whereToWait'];
	/** From when the time limit counts: the run's creation, or the beginning of the wait. */
	beganOn: number;
	/** The next poll's date. */
	dueOn: number;
	/** How far ahead that was when it was planned, in ms: if n8n's clock is changed, it is no further. */
	delayMs: number;
	/** Whether n8n may store the execution until then. */
	isLong: boolean;
	/** The run's status as the service has shown it last; absent before it has. */
	status?: string;
	/** How many polls in a row have met a temporary failure. */
	failuresInARow: number;
	/** How many polls so far had an answer after which a run that was never seen is given up soon. */
	doubtfulAnswers: number;
	/** An earlier attempt has started the run: where it has failed, another one is begun. */
	isEarlier?: boolean;
	/** The date of the first poll at or after the time limit that got no answer; absent before. */
	graceFrom?: number;
	/** How many polls since then the service has refused (429). */
	refusals?: number;
}

interface Known {
	/**
	 * Hashes of what the item was to start. There are two where the agent was given by its name: one with the
	 * name, and one with the ID that it had.
	 */
	fingerprints?: string[];
	/** The user has changed the node since: it counts only where the item would start the same. */
	isOld?: boolean;
	run?: KnownRun;
}

/** All that is known of one input item. Plain JSON: n8n stores it as it is. */
export type Item = Known &
	(
		| {
				is: 'notBegun';
				/** What an earlier attempt of the node has left of it, to go on from. */
				earlier?: Item;
		  }
		| {
				/** A run may have been started. */
				is: 'inDoubt';
				/** Absent where it is not even known whether the item had begun. */
				agentId?: number;
		  }
		| { is: 'waiting'; run: KnownRun; wait: Wait }
		| {
				is: 'done';
				outputs: IDataObject[];
				/** The run has failed or was cancelled, and is output all the same. */
				isUnsuccessful?: boolean;
		  }
		| {
				is: 'failed';
				failure: Failure;
				/** What the next attempt goes on from; absent when it begins the item anew. */
				earlier?: Item;
				/** It was not begun, since it may have been before: if it ends the node, it does so last. */
				isRefused?: boolean;
		  }
	);

export type ItemThatIs<Is extends Item['is']> = Item & { is: Is };

export type Waiting = ItemThatIs<'waiting'>;

export const NOT_BEGUN: ItemThatIs<'notBegun'> = { is: 'notBegun' };

/** The item with its outputs. */
export function done(
	{ fingerprints, run }: Item,
	outputs: IDataObject[],
	isUnsuccessful?: boolean,
): ItemThatIs<'done'> {
	return { is: 'done', fingerprints, run, outputs, isUnsuccessful };
}

/** The item without a result. If its run is known, the message names it; the next attempt goes on from here. */
export function failed(item: Item, failure: Failure): ItemThatIs<'failed'> {
	const earlier = earlierOf(item);
	const { fingerprints } = earlier ?? item;
	const run = runOf(item);
	return { is: 'failed', fingerprints, run, failure: naming(run, failure), earlier };
}

/** The same of an item whose run itself has ended so: the next attempt begins it anew. */
export function failedForGood(item: Item, failure: Failure): ItemThatIs<'failed'> {
	return { ...failed(item, failure), earlier: undefined };
}

/** What the next attempt has to go on from, if this one is over now. */
export function earlierOf(item: Item): Item | undefined {
	return item.is === 'notBegun' || item.is === 'failed' ? item.earlier : item;
}

/** Whether the item may have started a run that is not known. */
export function isInDoubt(item: Item): boolean {
	return earlierOf(item)?.is === 'inDoubt';
}

/** The run of an item, if one is known. */
export function runOf(item: Item): KnownRun | undefined {
	return item.run ?? earlierOf(item)?.run;
}

function naming(run: KnownRun | undefined, { message, description, details }: Failure): Failure {
	const isNamed = !run || details.run_id !== undefined;
	return {
		message: bound(isNamed ? message : `${message}${nameRun(run)}`),
		description: bound(description),
		details: isNamed ? details : { ...details, agent_id: run.agentId, run_id: run.runId },
	};
}
