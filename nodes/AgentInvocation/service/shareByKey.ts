import { clock } from '../clock';

/** How long an entry is kept unused, in ms. */
const KEPT_MS = 3_600_000;

/** How many entries are kept at most. */
const MOST = 1_000;

/**
 * Makes one thing for each key. All executions of this process that ask with the same key share it. A thing that nobody
 * has asked for in a while is dropped.
 *
 * @param make makes the thing for a key that has none
 * @param keptMs how long it is kept unused, in ms; Infinity if only the number is limited
 * @returns a function that gives the thing for a key. The key must not hold anything secret
 */
export function shareByKey<T>(make: () => T, keptMs = KEPT_MS): (key: string) => T {
	// In the order of their last use.
	const kept = new Map<string, { one: T; usedAt: number }>();
	const dropUnused = () => {
		for (const [key, { usedAt }] of kept) {
			if (kept.size <= MOST && clock.now() - usedAt < keptMs) break;
			kept.delete(key);
		}
	};
	let isScheduled = false;
	const schedule = () => {
		if (isScheduled || keptMs === Infinity || kept.size === 0) return;
		isScheduled = true;
		// Unlike a timer of `sleep`, it does not keep the process from ending.
		AbortSignal.timeout(keptMs).addEventListener('abort', () => {
			isScheduled = false;
			dropUnused();
			schedule();
		});
	};
	return (key) => {
		const one = kept.get(key)?.one ?? make();
		kept.delete(key);
		kept.set(key, { one, usedAt: clock.now() });
		dropUnused();
		schedule();
		return one;
	};
}
