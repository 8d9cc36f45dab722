/** Turns jest's fake clock until the promise has settled, and gives what it gave. */
export async function settle<T>(promise: Promise<T>): Promise<T> {
	let settled = false;
	const mark = () => (settled = true);
	promise.then(mark, mark);
	while (!settled) await jest.advanceTimersToNextTimerAsync();
	return await promise;
}
