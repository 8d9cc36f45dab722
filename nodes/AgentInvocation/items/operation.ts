import type { IExecuteFunctions } from 'n8n-workflow';

import type { Parking } from '../engine/parking';
import type { Item, NotBegun } from '../item';
import type { Service } from '../service/service';
import type { Concurrency } from './concurrency';
import type { DryRuns } from './dryRuns';

/** What an operation works with on one item. */
export interface ItemWork {
	context: IExecuteFunctions;
	itemIndex: number;
	service: Service;
	parking: Parking;
	dryRuns: DryRuns;
	/** Aborted when the node ends before this item does. */
	signal: AbortSignal;
	/** Whether other items wait until it is known that this one's run does not fail at once. */
	isOnTrial?: boolean;
	/** Notes how far the item has got, before something is sent whose outcome may never be known. */
	note(this: void, item: Item): void;
}

/** What is asked of the service about an item, to know whether it may begin. */
export interface Check {
	/** The same for all items about which the same is asked. Not secret: it is stored. */
	key: string;
	/** Throws what is wrong with these items, or an UnansweredError. */
	ask(this: void): Promise<unknown>;
}

/** Gives what is to be asked about an item; undefined if the item starts nothing. Throws what is wrong with it. */
export type CheckItem = (item: NotBegun, work: ItemWork) => Promise<Check | undefined>;

/** What an operation does with each of the node's items. */
export interface Operation {
	/** How many items may be in progress at a time. Throws what each item then fails with. */
	concurrency(this: void, context: IExecuteFunctions): Concurrency;
	/** How all items are checked before the first one begins, if they are. Throws what each item then fails with. */
	checks?(this: void, context: IExecuteFunctions): CheckItem | undefined;
	/**
	 * What the operation does with runs. If absent, nothing is remembered of the items.
	 */
	runs?: 'starts' | 'gets';
	/** Whether items may start runs, whatever expressions give. Absent if the operation starts none. */
	mayStartRuns?(this: void, context: IExecuteFunctions): boolean;
	/** Whether an item's create is sent again although it may have started a run. */
	sendsAgain?(this: void, context: IExecuteFunctions, itemIndex: number): boolean;
	/** Whether an item, if it begins, starts a run. Absent if the operation starts none. */
	startsRun?(this: void, context: IExecuteFunctions, itemIndex: number): boolean;
	/** Gives the next state of the item, or throws what it fails with. */
	begin(this: void, item: NotBegun, work: ItemWork): Promise<Item>;
}
