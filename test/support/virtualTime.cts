/** Where code is broken on purpose, so that it may go on for ever: test/mutation. */
const { MOST_TIMERS = Infinity } = globalThis as { MOST_TIMERS?: number };

/** Turns jest's fake clock until the promise has settled, and gives what it gave. */
export async function settle<T>(promise: Promise<T>, mostTimers = MOST_TIMERS): Promise<T> {
	let settled = false;
	const mark = () => (settled = true);
	promise.then(mark, mark);
	for (let timers = 0; !settled; timers++) {
		if (timers > mostTimers) throw new Error(`Not settled after ${mostTimers} timers`);
		await jest.advanceTimersToNextTimerAsync();
	}
	return await promise;
}
