import type { IDataObject } from 'n8n-workflow';

import type { Failure } from './result';
import type { Wait } from './itemState';

/** A run that an item has started, or that it was given. */
export interface KnownRun {
	/** The service's, at which the run is. */
	baseUrl: string;
	agentId: number;
	runId: string;
	/** When it was started, or its wait was begun anew, in ms since the epoch. */
	startedOn: number;
}

/** A run that an item of the node has started. */
export interface StartedRun extends KnownRun {
	itemIndex: number;
}

/** Where the wait for a run stands while n8n stores the execution. */
interface StoredWait extends Pick<Wait, 'troubles' | 'doubts' | 'isEarlier' | 'isLong'> {
	/** When the next poll is due, in ms since the epoch, and how long that was ahead. */
	dueOn: number;
	leftMs: number;
	/** The run's, as last seen; absent when the service has not shown it yet. */
	status?: string;
}

/**
 * What is known of an item, under the fingerprint of what it was to start: two, with a space between them,
 * where the agent was given by its name. Plain JSON.
 */
export type ItemMemory = {
	fingerprint: string;
	/** Noted before the user changed the node: it counts only where the item would start the same. */
	isOld?: boolean;
} & (
	| {
			/** A run may have been started. */
			is: 'inDoubt';
			/** Absent where it is not known either whether the item had begun. */
			agentId?: number;
	  }
	| { is: 'started'; run: KnownRun; wait?: StoredWait }
	| { is: 'done'; run?: KnownRun; outputs: IDataObject[] }
	| {
			is: 'failed';
			run?: KnownRun;
			failure: Failure;
			/** What a retry goes on from; absent when it begins the item anew. */
			retriesFrom?: ItemMemory;
	  }
);

/** Why the node holds its memory while the engine has the word. */
export interface Rest {
	/** When n8n is to resume, in ms since the epoch; absent for a checkpoint. */
	until?: number;
	/** Where the node's input came from, which the engine overwrites. */
	source: unknown;
}

/** What n8n stores of one run of the node. */
export interface StoredMemory {
	/** When the node began, in ms since the epoch. */
	beganOn: number;
	/** Whether the host has passed a response to `execute`; with Retry On Fail, it does not always. */
	passesResponse?: boolean;
	/** The execution that the node has run in last. n8n's Retry makes another one. */
	executionId: string;
	/** A hash of what the user has entered in the node. */
	entered: string;
	/** How many attempts have begun in it. */
	attempts: number;
	items: Record<string, ItemMemory>;
	rest?: Rest;
}
