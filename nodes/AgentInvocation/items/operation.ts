import type { IExecuteFunctions } from 'n8n-workflow';

import type { Parking } from '../engine/parkingRules';
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
	/** Notes how far the item has got, before something is sent whose outcome may never be known. */
	note(this: void, item: Item): void;
}

/** What an operation does with each of the node's items. */
export interface Operation {
	/** How many items may be in progress at a time. Throws what each item then fails with. */
	concurrency(this: void, context: IExecuteFunctions): Concurrency;
	/**
	 * Whether the operation starts runs or gets them. Without it, nothing is remembered of the items; only what
	 * starts runs makes checkpoints.
	 */
	runs?: 'starts' | 'gets';
	/** Gives the next state of the item, or throws what it fails with. */
	begin(this: void, item: ItemThatIs<'notBegun'>, work: ItemWork): Promise<Item>;
}
