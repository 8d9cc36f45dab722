import type {
	IDataObject,
	IExecuteFunctions,
	INodeExecutionData,
	IWorkflowBase,
} from 'n8n-workflow';

import { toErrorJson, toItem } from '../output/items';
import { asKnown, toJson, waitsOf, type ParkedBatch } from './parkedBatch';
import { keeperWorkflow } from './subWorkflows';

/**
 * How long after the last time limit the node's own execution wakes up by itself, in ms. It then has no
 * results, so it leaves the keeper time: n8n may have been away, and starts all that is overdue at once.
 */
const GRACE_MS = 30 * 86_400_000;

/** When a wait without a time limit counts as forgotten, in ms. */
const LONGEST_WAIT_MS = 365 * 86_400_000;

/**
 * Hands a batch to a sub-workflow and has n8n store this execution until that has ended; the items it
 * ends with are then the node's output.
 *
 * @returns what to output now: where the runs stand, or the results when the sub-workflow has ended at
 *   once
 * @throws whatever n8n says when it does not start the sub-workflow; nothing is parked then
 */
export async function park(
	context: IExecuteFunctions,
	batch: ParkedBatch,
): Promise<INodeExecutionData[]> {
	const { items } = await callSubWorkflow(context, keeperWorkflow(batch), { batch: toJson(batch) });
	if (items) return items;

	const known = batch.items.map((item) => asKnown(item));
	await waitForSubWorkflow(
		context,
		known.map((result, index) =>
			toItem(result.ok ? result.value : toErrorJson(result.failure), index),
		),
		lastTimeLimit(batch) + GRACE_MS,
	);
	return known.map((result, index) =>
		toItem(withoutError(result.ok ? result.value : { ...result.failure.details }), index),
	);
}

/** With Retry On Fail, n8n tries a node again whose first item has an `error`. */
function withoutError(json: IDataObject): IDataObject {
	return Object.fromEntries(Object.entries(json).filter(([key]) => key !== 'error'));
}

/** When the last wait of a batch reaches its time limit, in ms since the epoch. */
function lastTimeLimit(batch: ParkedBatch): number {
	return Math.max(
		...waitsOf(batch).map(({ startedOn, timeoutMs }) => startedOn + (timeoutMs || LONGEST_WAIT_MS)),
	);
}

/**
 * Runs a sub-workflow that resumes this execution when it ends.
 *
 * @returns its execution's ID, and its items when it has ended at once instead of waiting
 */
export async function callSubWorkflow(
	context: IExecuteFunctions,
	code: IWorkflowBase,
	input: IDataObject,
): Promise<{ executionId: string; items?: INodeExecutionData[] }> {
	const parentExecution = {
		executionId: context.getExecutionId(),
		workflowId: context.getWorkflow().id ?? '',
		shouldResume: true,
	};
	const called = await context.executeWorkflow({ code }, [{ json: input }], undefined, {
		parentExecution,
	});
	const { executionId } = called;
	return called.waitTill ? { executionId } : { executionId, items: called.data[0] ?? [] };
}

/**
 * Has n8n store this execution. On resume, n8n switches this node off and passes on the items of the
 * sub-workflow, or the given ones when it did not end before `wakeOn`.
 *
 * @param wakeOn in ms since the epoch
 */
export async function waitForSubWorkflow(
	context: IExecuteFunctions,
	otherwise: INodeExecutionData[],
	wakeOn: number,
): Promise<void> {
	const entry = context.getExecuteData();
	// The object is shared with the other entries of this node, which n8n is still to run.
	entry.node = { ...entry.node };
	entry.data = { ...entry.data, main: [otherwise] };
	await context.putExecutionToWait(new Date(wakeOn));
}
