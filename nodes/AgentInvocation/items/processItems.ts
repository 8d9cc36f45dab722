import type {
	EngineResponse,
	IExecuteFunctions,
	INodeExecutionData,
	NodeOutput,
} from 'n8n-workflow';

import { toErrorItem } from '../engine/errorItem';
import { continues } from '../engine/host';
import { toNodeError } from '../engine/nodeError';
import { openParking } from '../engine/parking';
import { removeTraces, sourceOf } from '../engine/suspend';
import { failureOf } from '../failure';
import { Memory } from './memory';
import { NodePass } from './nodePass';
import type { Operation } from './operation';

/**
 * Works through the input items of a node and gives their outputs in the order of the input, each paired with
 * its item. An item that fails ends the node, or becomes an error item if the node is set to continue. To park
 * or to make a checkpoint, the function returns a request for a suspension instead of outputs; n8n runs the
 * node again later, and the node goes on from its memory.
 *
 * @param response what the host passed to `execute`
 * @throws NodeApiError or NodeOperationError, naming the runs that other items have started
 */
export async function processItems(
	context: IExecuteFunctions,
	response: EngineResponse | undefined,
	operation: Operation,
): Promise<NodeOutput> {
	let memory: Memory;
	try {
		memory = await Memory.open(context, operation.runs !== undefined);
	} catch (thrown) {
		return [await failAll(context, thrown)];
	}
	const { opening, beganOn, execution } = memory;
	const { beginning, suspension } = opening;
	const source = suspension?.source ?? sourceOf(context);
	// Before any expression, since one may look back at where the input came from.
	if (suspension) removeTraces(context, source);
	const wasParked = suspension?.resumesOn !== undefined;
	const parking = await openParking(context, {
		passesResponse: memory.passesResponse(response),
		beganOn,
		execution,
		wasParked,
		isResumed: wasParked && beginning === 'resume',
		hints: suspension?.hints,
	});
	return await new NodePass(context, operation, memory, source, parking).run();
}

/** @throws NodeOperationError unless the node continues */
async function failAll(context: IExecuteFunctions, thrown: unknown): Promise<INodeExecutionData[]> {
	const failure = failureOf(thrown);
	if (!continues(context)) throw toNodeError(context, failure);
	const items = context.getInputData();
	return await Promise.all(items.map((_, index) => toErrorItem(context, failure, index)));
}
