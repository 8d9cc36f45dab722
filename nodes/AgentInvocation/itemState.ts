import type { IDataObject } from 'n8n-workflow';

import type { Failure } from './result';
import type { Run } from './service/types';
import type { WaitOptions } from './waiting/options';

/** A run that is waited for. Times are those of the clock, in ms. */
export interface Wait {
	agentId: number;
	runId: string;
	/** When the run was created, or the waiting began. */
	startedAt: number;
	options: WaitOptions;
	/** Where it really waits: not every option is possible everywhere. */
	where: WaitOptions['whereToWait'];
	/** When the time limit is reached; Infinity when there is none. */
	deadline: number;
	/** When the item must have its end in any case, since n8n ends the execution; Infinity when it does not. */
	latestAt: number;
	/** When the first poll since the time limit began that got no answer; absent before. */
	graceFrom?: number;
	/** How many polls since then the service has refused (429). */
	refusals?: number;
	/** What the service has answered about the run so far; absent when it was not asked yet. */
	lastSeen?: Run;
	/** How many polls in a row have met trouble. */
	troubles: number;
	/** How many of the polls so far made it doubtful that the service is there at all. */
	doubts: number;
	/** Whether an earlier attempt of the node has started the run, and this one has not seen it yet. */
	isEarlier: boolean;
	/** When to poll next. */
	dueAt: number;
	/** Whether the delay until then is long enough for n8n to store the execution. */
	isLong: boolean;
}

/** What a step makes of an item. */
export type Step =
	| {
			is: 'done';
			outputs: IDataObject[];
			/** The run has failed or was cancelled. */ isUnsuccessful?: boolean;
	  }
	| {
			is: 'failed';
			failure: Failure;
			/** The run itself has ended so. */
			runEnded?: boolean;
			/** It was not begun, since it may have been before: where it ends the node, it does so last. */
			isRefused?: boolean;
	  }
	| { is: 'waiting'; wait: Wait }
	/** The signal came first: the item stays as it was. */
	| { is: 'stopped' };

export type Ended = Step & { is: 'done' | 'failed' };

/** Where an item stands. */
export type ItemState =
	| { is: 'notBegun'; /** Something of it is known from before. */ isKnown?: boolean }
	| { is: 'underWay' }
	| Exclude<Step, { is: 'stopped' }>;

/** Ends an item with its one output. */
export function done(output: IDataObject, isUnsuccessful = false): Step {
	return { is: 'done', outputs: [output], ...(isUnsuccessful && { isUnsuccessful }) };
}

/** Fails an item with what a result says. */
export function failed({ failure }: { failure: Failure }): Step & { is: 'failed' } {
	return { is: 'failed', failure };
}
