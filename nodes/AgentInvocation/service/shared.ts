import { afterwards, clock } from '../clock';

/** How long what nobody uses is kept, in ms. */
const KEPT_MS = 3_600_000;

/** The most that are kept. */
const MOST = 1_000;

/**
 * Makes something once for each key and gives it to all executions of this process that ask with the same
 * key. What nobody has asked for in that time is dropped.
 *
 * @param make makes it when there is none
 * @param keptMs for how long it is kept unused, in ms; Infinity where only their number is bounded
 * @returns gives the one of a key, which must not hold anything secret
 */
export function shareByKey<T>(make: () => T, keptMs = KEPT_MS): (key: string) => T {
	// The one that was asked for last stands last.
	const kept = new Map<string, { one: T; usedAt: number }>();
	const drop = () => {
		for (const [key, { usedAt }] of kept) {
			if (kept.size <= MOST && clock.now() - usedAt < keptMs) break;
			kept.delete(key);
		}
	};
	let dropsLater = keptMs === Infinity;
	const dropLater = () => {
		if (dropsLater || kept.size === 0) return;
		dropsLater = true;
		afterwards(keptMs, () => {
			dropsLater = false;
			drop();
			dropLater();
		});
	};
	return (key) => {
		const one = kept.get(key)?.one ?? make();
		kept.delete(key);
		kept.set(key, { one, usedAt: clock.now() });
		drop();
		dropLater();
		return one;
	};
}
