/** More timers than any of the tests needs: what takes as many has no end. */
const MOST_TIMERS = 50_000;

/** Turns jest's fake clock until the promise has settled, and gives what it gave. */
export async function settle<T>(promise: Promise<T>): Promise<T> {
	let settled = false;
	const mark = () => (settled = true);
	promise.then(mark, mark);
	for (let timers = 0; !settled; timers++) {
		if (timers === MOST_TIMERS) throw new Error(`Not settled after ${timers} timers`);
		await jest.advanceTimersToNextTimerAsync();
	}
	return await promise;
}
