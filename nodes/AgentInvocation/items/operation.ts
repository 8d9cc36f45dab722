import type { IExecuteFunctions } from 'n8n-workflow';

import type { Parking } from '../engine/parking';
import type { Item, ItemThatIs } from '../item';
import type { Service } from '../service/service';
import type { Concurrency } from './concurrency';

/** What an operation works with on one item. */
export interface ItemWork {
	context: IExecuteFunctions;
	itemIndex: number;
	service: Service;
	parking: Parking;
	/** Aborted when the node ends before this item does. */
	signal: AbortSignal;
	/** Remembers how far the item is, before something is sent of which nobody may learn what came of it. */
	note(this: void, item: Item): void;
}

/** What an operation does with each of the node's items. */
export interface Operation {
	/** How many items may have begun and not ended. Throws what each item then fails with. */
	concurrency(this: void, context: IExecuteFunctions): Concurrency;
	/** What it does with runs, if anything: only what comes of runs is remembered, and started only once. */
	runs?: 'starts' | 'gets';
	/** Gives what becomes of the item, or throws what it fails with. */
	begin(this: void, item: ItemThatIs<'notBegun'>, work: ItemWork): Promise<Item>;
}
