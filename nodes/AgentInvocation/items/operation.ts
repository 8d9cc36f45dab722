import type { IExecuteFunctions } from 'n8n-workflow';

import type { Parking } from '../engine/parking';
import type { Result } from '../result';
import type { Concurrency } from './concurrency';
import type { Step } from '../itemState';
import type { RunMemory } from './memory';
import type { Service } from '../service/service';

/** What an operation works with on one item. */
export interface ItemWork {
	context: IExecuteFunctions;
	itemIndex: number;
	service: Service;
	memory: RunMemory;
	parking: Parking;
	/** Aborted when the node ends before this item does. */
	signal: AbortSignal;
}

/** What an operation does with each of the node's items. */
export interface Operation {
	/** How many items may have begun and not ended. */
	concurrency(this: void, context: IExecuteFunctions): Result<Concurrency>;
	/** What it does with runs, if anything: only what comes of runs is remembered, and started only once. */
	runs?: 'starts' | 'gets';
	begin(this: void, work: ItemWork): Promise<Step>;
}
