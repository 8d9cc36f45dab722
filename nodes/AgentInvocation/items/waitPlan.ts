import type { Wait, WaitOptions } from '../item';
import { readSwitch } from '../readValue';
import { readWaitOptions } from '../waiting/options';
import type { ItemWork } from './operation';
import { placeOf } from './whereToWait';

/** Whether an item's run is waited for, and how. */
export interface WaitPlan {
	waits: boolean;
	options: WaitOptions;
	where: Wait['where'];
	/**
	 * Whether the node starts the runs that it waits for. Then an item is begun again if an earlier attempt's run has
	 * failed.
	 */
	startsRuns: boolean;
}

/** Reads how an item is waited for. By default, an operation waits if it starts runs. */
export async function readWaitPlan(
	{ context, itemIndex, parking }: Pick<ItemWork, 'context' | 'itemIndex' | 'parking'>,
	startsRuns: boolean,
): Promise<WaitPlan> {
	const options = readWaitOptions(context, itemIndex);
	const waits = readSwitch(context, itemIndex, 'waitForCompletion', startsRuns);
	const where = waits ? await placeOf(options, parking) : 'memory';
	return { waits, options, where, startsRuns };
}

/** What to do if the workflow's own timeout comes too soon. */
export const MORE_TIME_ADVICE =
	"Raise the timeout (in the workflow's settings, or n8n's EXECUTIONS_TIMEOUT), let the node work on more items at a time, or turn off 'Wait for Completion'.";

/**
 * The latest moment at which an item's run may begin, by the clock: later, the workflow's own timeout would leave no time
 * to wait for it. Infinity if it is not waited for.
 */
export function beginsUntil({ waits }: WaitPlan, { parking }: ItemWork): number {
	return waits ? parking.time.momentOf(parking.latestEndOn) : Infinity;
}
