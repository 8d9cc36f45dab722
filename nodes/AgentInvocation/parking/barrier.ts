import type { Wait } from '../runs/itemState';
import type { Idle } from '../runs/loop';
import { SHORTEST_STORED_DELAY_MS } from '../runs/schedule';
import type { Parking } from './parking';

/** How much later than planned a poll may be because its execution is stored, in ms. */
const UNNOTICED_MS = 5_000;

/**
 * Where the waits of a node meet while nothing is under way: the execution is parked once none of them is
 * due for 65 s. Those that are due sooner, but have long delays, are polled now, so that all can rest
 * together; one with a short delay, or whose time limit is near, is waited for in memory. So are all where
 * an obstacle stands in the way, with a hint that says so.
 *
 * @param now by the clock, in ms
 */
export function idle(
	{ obstacle, parksFrom, hints }: Pick<Parking, 'obstacle' | 'parksFrom' | 'hints'>,
	waits: Wait[],
	now: number,
): Idle {
	const due = waits.reduce((first, { dueAt }) => Math.min(first, dueAt), Infinity);
	const isSoon = ({ dueAt }: Wait) => dueAt < now + SHORTEST_STORED_DELAY_MS - UNNOTICED_MS;
	const soon = waits.filter(isSoon);
	const staysInMemory =
		soon.some(({ isLong, troubles }) => !isLong || troubles > 0) ||
		waits.some(({ where }) => where === 'memory');
	if (staysInMemory) return { is: 'sleep', until: due };
	if (now < parksFrom) return { is: 'sleep', until: Math.min(due, parksFrom) };
	if (obstacle !== undefined) {
		hints.add(
			`The wait stayed in memory, where a restart of n8n ends it: ${obstacle}. Its runs go on at the service in any case.`,
		);
		return { is: 'sleep', until: due };
	}
	if (soon.length > 0) return { is: 'poll', isDue: isSoon };
	return { is: 'park', until: Math.max(due, now + SHORTEST_STORED_DELAY_MS) };
}
