import type { Failure, Result } from '../api/failure';

/** The end of a batch: a result for each index that came to one, or what stopped it. */
export interface BatchEnd<T> {
	/** In the order of the items; empty where an item was halted or never begun. */
	results: Array<Result<T> | undefined>;
	/** The failure that stopped the batch. */
	stoppedBy?: { index: number; failure: Failure };
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
 */
export async function runBatch<T>(
	{
		count,
		concurrency,
		stopAtFailure,
		cancel,
	}: { count: number; concurrency: number; stopAtFailure: boolean; cancel?: AbortSignal },
	each: (index: number, halt: AbortSignal) => Promise<Result<T> | undefined>,
): Promise<BatchEnd<T>> {
	const end: BatchEnd<T> = { results: new Array<Result<T> | undefined>(count) };
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
			end.results[index] = result;
			if (result && !result.ok && stopAtFailure && !end.stoppedBy) {
				end.stoppedBy = { index, failure: result.failure };
				halt();
			}
		}
	}
	await Promise.all(Array.from({ length: Math.min(concurrency, count) }, work));
	cancel?.removeEventListener('abort', halt);
	return end;
}
