import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';

import type { Failure } from '../failure';
import { hostVersion, isTool } from './host';
import { bound } from '../wording';
import { toNodeError } from './nodeError';

/**
 * The output item of an item that failed while the node continues.
 *
 * From 2.36 on, n8n knows an error item by its keys, sends it to the error output and keeps all of its json.
 * Before, it needs the `error` property for that, and then keeps the message alone; later that same property
 * would lose the details there too. A model that called the node as a tool reads it, and is
 * told what to do as well.
 */
export async function toErrorItem(
	context: IExecuteFunctions,
	failure: Failure,
	itemIndex: number,
): Promise<INodeExecutionData> {
	const { message, description, details } = failure;
	// n8n knows it by having no other keys than these.
	const json = { error: bound(message), details: { ...details } };
	const pairedItem = { item: itemIndex };
	if (isTool(context)) return { json: { ...json, advice: bound(description) }, pairedItem };
	if (context.getNode().onError !== 'continueErrorOutput') return { json, pairedItem };
	const item: INodeExecutionData = hasInput(context, itemIndex) ? { json, pairedItem } : { json };
	if (!(await knowsErrorsByKeys())) item.error = toNodeError(context, failure, itemIndex);
	return item;
}

/**
 * Whether n8n finds the input item of an item. It looks for those of the error output, and if it does not
 * find one, it puts the node's input in place of all of its outputs (docs/n8n.md, Errors).
 */
function hasInput(context: IExecuteFunctions, itemIndex: number): boolean {
	const source = context.getExecuteData().source?.main?.[0];
	if (!source) return true;
	try {
		const { $getPairedItem } = context.getWorkflowDataProxy(itemIndex);
		$getPairedItem(source.previousNode, source, { item: itemIndex });
		return true;
	} catch {
		return false;
	}
}

async function knowsErrorsByKeys(): Promise<boolean> {
	const { major, minor } = await hostVersion();
	return major > 2 || (major === 2 && minor >= 36);
}
