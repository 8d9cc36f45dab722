import type { Wait } from '../runs/itemState';
import type { Idle } from '../runs/loop';
import { SHORTEST_STORED_DELAY_MS } from '../runs/schedule';

/** How much later than planned a poll may be because its execution is stored, in ms. */
const UNNOTICED_MS = 5_000;

/**
 * Where the waits of a node meet while nothing is under way: the execution is parked once none of them is
 * due for 65 s. Those that are due sooner, but have long delays, are polled now, so that all can rest
 * together; one with a short delay, or whose time limit is near, is waited for in memory.
 *
 * @param now by the clock, in ms
 * @param parksFrom before that time nothing is parked
 */
export function idleAt(waits: Wait[], now: number, parksFrom: number): Idle {
	const due = waits.reduce((first, { dueAt }) => Math.min(first, dueAt), Infinity);
	const isSoon = ({ dueAt }: Wait) => dueAt < now + SHORTEST_STORED_DELAY_MS - UNNOTICED_MS;
	const soon = waits.filter(isSoon);
	if (soon.some(({ isLong, troubles }) => !isLong || troubles > 0)) {
		return { is: 'sleep', until: due };
	}
	if (waits.some(({ where }) => where === 'memory')) return { is: 'sleep', until: due };
	if (now < parksFrom) return { is: 'sleep', until: Math.min(due, parksFrom) };
	if (soon.length > 0) return { is: 'poll', isDue: isSoon };
	return { is: 'park', until: Math.max(due, now + SHORTEST_STORED_DELAY_MS) };
}
