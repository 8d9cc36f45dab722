import type { Clock } from '../clock';

/** For how long what nobody uses is kept, in ms. */
const KEPT_MS = 3_600_000;

/** How many there are at the most. */
const MOST = 1_000;

/**
 * Makes something once for each key and gives it to all executions of this process that ask with the same
 * key. What nobody has asked for in an hour is dropped.
 *
 * @param make makes it when there is none
 * @returns gives the one of a key, which must not hold anything secret
 */
export function shareByKey<T>(clock: Clock, make: () => T): (key: string) => T {
	// The one that was asked for last stands last.
	const kept = new Map<string, { one: T; usedAt: number }>();
	return (key) => {
		const now = clock.now();
		const one = kept.get(key)?.one ?? make();
		kept.delete(key);
		kept.set(key, { one, usedAt: now });
		for (const [other, { usedAt }] of kept) {
			if (kept.size <= MOST && now - usedAt < KEPT_MS) break;
			kept.delete(other);
		}
		return one;
	};
}
