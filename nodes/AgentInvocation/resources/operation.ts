import type { Parking } from '../parking/parking';
import type { Result } from '../result';
import type { Concurrency } from '../runs/concurrency';
import type { ItemMemory } from '../runs/itemMemory';
import type { Step, Wait } from '../runs/itemState';
import type { RunMemory } from '../runs/runMemory';
import type { Service } from '../service/service';

/** What an operation works with on one item. */
export interface ItemWork {
	service: Service;
	memory: RunMemory;
	parking: Parking;
	/** Aborted when the node ends before this item does. */
	signal: AbortSignal;
}

/** An item whose run is waited for. */
export type StartedItem = ItemMemory & { is: 'started' };

/** How an operation waits for runs. */
export interface Waits {
	poll(itemIndex: number, wait: Wait, work: ItemWork): Promise<Step>;
	/** Goes on with an item's wait after a rest. */
	resume(itemIndex: number, item: StartedItem, work: ItemWork): Step;
}

/** What an operation does with each of the node's items. */
export interface Operation {
	/** How many items may have begun and not ended. */
	concurrency(): Result<Concurrency>;
	/** Whether to begin an item is to start a run. */
	startsRuns: boolean;
	begin(itemIndex: number, work: ItemWork): Promise<Step>;
	/** What it does with the runs that it waits for, if it can wait. */
	waits?: Waits;
}
