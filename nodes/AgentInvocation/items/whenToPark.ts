import type { Parking } from '../engine/parkingRules';
import { SHORTEST_STORED_DELAY_MS } from '../waiting/schedule';
import type { Idle } from './work';
import type { Waits } from './waits';

/** How much later than planned a poll may be so that its execution can be stored, in ms. */
const UNNOTICED_MS = 5_000;

/**
 * Decides what the node does while no item is under way.
 *
 * The execution is parked if no wait is due for 60 s. Waits that are due sooner but have long delays are
 * polled early, so that all can be stored together. n8n resumes it after 65 s or more. If a wait has a short delay or its time limit is near,
 * all stay in memory. They also do if there is an obstacle, and a hint then says so.
 *
 * @param now by the clock, in ms
 */
export async function whenToPark(
	{ obstacle, parksFrom, hints }: Pick<Parking, 'obstacle' | 'parksFrom' | 'hints'>,
	{ dueAt, fixedDueAt, stayInMemory }: Pick<Waits, 'dueAt' | 'fixedDueAt' | 'stayInMemory'>,
	now: number,
): Promise<Idle> {
	const soon = now + SHORTEST_STORED_DELAY_MS - UNNOTICED_MS;
	if (stayInMemory || fixedDueAt <= soon) return { is: 'sleep', wakesAt: dueAt };
	if (now < parksFrom) return { is: 'sleep', wakesAt: Math.min(dueAt, parksFrom) };
	const why = await obstacle();
	if (why !== undefined) {
		hints.add(
			`The wait stayed in memory, where a restart of n8n ends it: ${why}. Its runs go on at the service in any case.`,
		);
		return { is: 'sleep', wakesAt: dueAt };
	}
	if (dueAt <= soon) return { is: 'poll', dueBy: soon };
	return { is: 'park', resumesAt: Math.max(dueAt, now + SHORTEST_STORED_DELAY_MS) };
}
