import type { Parking } from '../engine/parking';
import type { Wait, WaitOptions } from '../item';
import { SHORTEST_STORED_DELAY_MS } from '../waiting/schedule';

/**
 * When a wait with the automatic interval is stored if no durations are known, in ms: a fifth of this is 65 s.
 */
const STAYS_IN_MEMORY_MS = 5 * SHORTEST_STORED_DELAY_MS;

/** Where a wait with these options really takes place, on this host. */
export async function placeOf(options: WaitOptions, parking: Parking): Promise<Wait['where']> {
	const isToBeStored = options.whereToWait === 'stored';
	if (isToBeStored && (await parking.obstacle()) === undefined) return 'stored';
	return options.whereToWait === 'memory' || isShort(options) ? 'memory' : 'auto';
}

/** Whether the poll interval is too short for a stored wait: n8n stores none of less than 65 s. */
function isShort({ pollIntervalMs }: WaitOptions): boolean {
	return pollIntervalMs > 0 && pollIntervalMs < SHORTEST_STORED_DELAY_MS;
}

/**
 * Adds a hint if a wait is kept from being stored by its poll interval, or is polled less often because it is
 * stored.
 */
export async function hintAtInterval(
	{ options, where, beganOn }: Wait,
	{ obstacle, hints, time }: Parking,
): Promise<void> {
	if (!isShort(options) || options.whereToWait === 'memory') return;
	if (where === 'stored') {
		hints.add(
			"The runs were polled every 65 seconds, and not at the 'Poll Interval (Seconds)': n8n stores no shorter waits. For shorter ones, set 'Where to Wait' to 'In Memory Only'.",
		);
	} else if (time.date() - beganOn > STAYS_IN_MEMORY_MS && (await obstacle()) === undefined) {
		hints.add(
			"The wait stayed in memory, where a restart of n8n ends it: 'Poll Interval (Seconds)' is under 65. For waits that survive restarts, remove it, or set 'Where to Wait' to 'Stored From the Start'.",
		);
	}
}

/**
 * Adds a hint if an item took long to begin: until it has begun, nothing is stored.
 *
 * @param tookMs how long the item took to begin
 */
export async function hintAtSlowBegin(tookMs: number, { obstacle, hints }: Parking): Promise<void> {
	if (tookMs <= STAYS_IN_MEMORY_MS || (await obstacle()) !== undefined) return;
	hints.add(
		'It took more than five minutes to begin an item. Until then, a restart of n8n would have ended the execution.',
	);
}
