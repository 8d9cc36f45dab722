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
	const halting = new AbortController();
	const onCancel = () => halting.abort();
	cancel?.addEventListener('abort', onCancel);
	if (cancel?.aborted) onCancel();

	let next = 0;
	async function work(): Promise<void> {
		while (next < count && !halting.signal.aborted) {
			const index = next++;
			const result = await each(index, halting.signal);
			end.results[index] = result;
			if (result && !result.ok && stopAtFailure && !end.stoppedBy) {
				end.stoppedBy = { index, failure: result.failure };
				halting.abort();
			}
		}
	}
	await Promise.all(Array.from({ length: Math.min(concurrency, count) }, work));
	cancel?.removeEventListener('abort', onCancel);
	return end;
}
