import { install } from '@sinonjs/fake-timers';

/**
 * Does work on a virtual clock that begins at 0, and on random numbers that are the same each time.
 *
 * @returns what the work gave, and how long it took, in ms of the virtual clock
 */
export async function onVirtualTime<T>(work: () => Promise<T>): Promise<{ result: T; ms: number }> {
	const fake = install({ now: 0, toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
	// Node.js waits 1 ms where it is asked for less; the clock would not move on.
	const turn = globalThis.setTimeout;
	globalThis.setTimeout = ((run: () => void, ms = 0) =>
		turn(run, Math.max(ms, 1))) as typeof setTimeout;
	const { random } = Math;
	Math.random = randomFrom(1);
	try {
		let isOver = false;
		const working = work().finally(() => (isOver = true));
		working.catch(() => {});
		for (;;) {
			// All that follows from what has happened comes before this.
			await new Promise<void>((resolve) => setImmediate(resolve));
			if (isOver) return { result: await working, ms: fake.now };
			fake.next();
		}
	} finally {
		Math.random = random;
		fake.uninstall();
	}
}

/** Random numbers from 0 to 1 that are the same each time. */
export function randomFrom(seed: number): () => number {
	let state = seed;
	return () => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
}
