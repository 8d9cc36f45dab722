import type { Failure, Result } from '../api/failure';

/** The failure that stopped a batch, and its item. */
export interface Stop {
	index: number;
	failure: Failure;
}

/**
 * Works through items, several at a time, begun in their order.
 *
 * When an item fails and the batch stops at failures, no further item is begun and `halt` is aborted
 * for those under way. The batch still waits for each of them to return, so that nothing they were
 * about to learn (the ID of a run just created) is lost.
 *
 * @param each works on one item; returns undefined when halted
 * @param cancel ends the batch as a failure would, from outside
 * @returns what stopped the batch, if a failure did
 */
export async function runBatch(
	{
		count,
		concurrency,
		stopAtFailure,
		cancel,
	}: { count: number; concurrency: number; stopAtFailure: boolean; cancel?: AbortSignal },
	each: (index: number, halt: AbortSignal) => Promise<Result<unknown> | undefined>,
): Promise<Stop | undefined> {
	let stop: Stop | undefined;
	// A signal for each item at work: Node.js warns of one that many listen to.
	const atWork = new Set<AbortController>();
	let halted = false;
	const halt = () => {
		halted = true;
		for (const item of atWork) item.abort();
	};
	cancel?.addEventListener('abort', halt);
	if (cancel?.aborted) halt();

	let next = 0;
	async function work(): Promise<void> {
		while (next < count && !halted) {
			const index = next++;
			const item = new AbortController();
			atWork.add(item);
			const result = await each(index, item.signal);
			atWork.delete(item);
			if (result && !result.ok && stopAtFailure && !stop) {
				stop = { index, failure: result.failure };
				halt();
			}
		}
	}
	await Promise.all(Array.from({ length: Math.min(concurrency, count) }, work));
	cancel?.removeEventListener('abort', halt);
	return stop;
}
