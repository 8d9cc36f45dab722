import type { IDataObject } from 'n8n-workflow';

import type { Result } from '../../api/failure';
import { systemClock as clock } from '../../waiting/clock';
import { waitForRun, type Wait } from '../../waiting/waitForRun';
import type { Work } from '../workThroughItems';
import { endOfWait } from './runEnd';
import type { WaitOptions } from './waitOptions';

/**
 * Waits for an item's run, in the node for as long as its delays are short or its options say so.
 *
 * @returns the item's json or failure; undefined when halted, or when the wait was parked
 */
export async function waitForItem(
	itemIndex: number,
	wait: Wait,
	options: WaitOptions,
	{ service, durations, parkingLot, halt }: Work,
): Promise<Result<IDataObject> | undefined> {
	const end = await waitForRun(service, wait, {
		clock,
		durations,
		signal: halt,
		...(options.parksLongWaits && {
			pause: async (ms, lastSeen, signal) =>
				await parkingLot.pause(ms, { itemIndex, options, ...wait, lastSeen }, signal),
		}),
	});
	return endOfWait(end, wait, options, service);
}
