import type { Parking } from '../engine/parking';
import { LONGEST_EARLY_MS, SHORTEST_STORED_DELAY_MS } from '../waiting/schedule';
import type { Idle } from './work';
import type { Waits } from './waits';

/**
 * Decides what the node does while no item is under way.
 *
 * The execution is parked, for 65 s at least, if no wait is due within 60 s. To make this possible, waits that are due
 * sooner are polled now if they may be early. All waits stay in memory if one has to, if one that may not be early
 * is due within 60 s, for a while after n8n's start, or if there is an obstacle, which a hint then names.
 *
 * @param now by the clock, in ms
 */
export async function whenToPark(
	{ obstacle, parksFrom, hints }: Pick<Parking, 'obstacle' | 'parksFrom' | 'hints'>,
	{ dueAt, fixedDueAt, stayInMemory }: Pick<Waits, 'dueAt' | 'fixedDueAt' | 'stayInMemory'>,
	now: number,
): Promise<Idle> {
	const soon = now + LONGEST_EARLY_MS;
	if (stayInMemory || fixedDueAt <= soon) return { is: 'sleep', wakesAt: dueAt };
	if (now < parksFrom) return { is: 'sleep', wakesAt: Math.min(dueAt, parksFrom) };
	const why = await obstacle();
	if (why !== undefined) {
		hints.add(
			`The wait stayed in memory, where a restart of n8n ends it: ${why}. The runs continue at the service in any case.`,
		);
		return { is: 'sleep', wakesAt: dueAt };
	}
	if (dueAt <= soon) return { is: 'poll', dueBy: soon };
	return { is: 'park', resumesAt: Math.max(dueAt, now + SHORTEST_STORED_DELAY_MS) };
}
