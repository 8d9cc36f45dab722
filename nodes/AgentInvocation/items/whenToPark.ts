import type { Parking } from '../engine/parking';
import { SHORTEST_STORED_DELAY_MS } from '../waiting/schedule';
import type { Idle } from './work';
import type { Waits } from './waits';

/** How much later than planned a poll may be because its execution is stored, in ms. */
const UNNOTICED_MS = 5_000;

/**
 * Decides what the node does while no item is under way: the execution is parked once no wait is due for
 * 65 s. Those that are due sooner, but have long delays, are polled now, so that all can be stored together;
 * one with a short delay, or whose time limit is near, is waited for in memory. So are all where an obstacle
 * stands in the way, with a hint that says so.
 *
 * @param now by the clock, in ms
 */
export async function whenToPark(
	{ obstacle, parksFrom, hints }: Pick<Parking, 'obstacle' | 'parksFrom' | 'hints'>,
	{ dueAt, shortDueAt, stayInMemory }: Pick<Waits, 'dueAt' | 'shortDueAt' | 'stayInMemory'>,
	now: number,
): Promise<Idle> {
	const soon = now + SHORTEST_STORED_DELAY_MS - UNNOTICED_MS;
	if (stayInMemory || shortDueAt <= soon) return { is: 'sleep', until: dueAt };
	if (now < parksFrom) return { is: 'sleep', until: Math.min(dueAt, parksFrom) };
	const why = await obstacle();
	if (why !== undefined) {
		hints.add(
			`The wait stayed in memory, where a restart of n8n ends it: ${why}. Its runs go on at the service in any case.`,
		);
		return { is: 'sleep', until: dueAt };
	}
	if (dueAt <= soon) return { is: 'poll', dueBy: soon };
	return { is: 'park', until: Math.max(dueAt, now + SHORTEST_STORED_DELAY_MS) };
}
