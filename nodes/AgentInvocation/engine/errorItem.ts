import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';

import type { Failure } from '../failure';
import { bound } from '../wording';
import { hostVersion, isTool } from './host';
import { toNodeError } from './nodeError';

/** The json of an output item. If the node is a tool, a model reads it, so it also says what to do. */
export function withAdvice(
	context: IExecuteFunctions,
	json: IDataObject,
	advice: string | undefined,
): IDataObject {
	return advice !== undefined && isTool(context) ? { ...json, advice: bound(advice) } : json;
}

/**
 * The output item of an item that failed while the node continues.
 *
 * n8n 2.36 and later recognizes an error item by its keys, sends it to the error output, and keeps all of its
 * json. Earlier versions recognize it by its `error` property, and keep only the message. The property is
 * therefore set only there, and only for the error output: later versions would lose the details with it too.
 */
export async function toErrorItem(
	context: IExecuteFunctions,
	failure: Failure,
	itemIndex: number,
): Promise<INodeExecutionData> {
	const { message, description, details, advice = description } = failure;
	// n8n recognizes an error item by these two keys alone. In a tool, which has no error output, `advice` may be
	// added.
	const error = { error: bound(message), details: { ...details } };
	const json = withAdvice(context, error, advice);
	const pairedItem = { item: itemIndex };
	const hasErrorOutput = context.getNode().onError === 'continueErrorOutput' && !isTool(context);
	if (!hasErrorOutput) return { json, pairedItem };
	const item: INodeExecutionData = hasInput(context, itemIndex) ? { json, pairedItem } : { json };
	const { major, minor } = await hostVersion();
	const needsError = major < 2 || (major === 2 && minor < 36);
	if (needsError) item.error = toNodeError(context, failure, itemIndex);
	return item;
}

/**
 * Whether n8n finds the input item that an item is paired with. n8n looks it up for items of the error output
 * and, if it finds none, replaces all outputs of the node with the node's input (docs/n8n.md, Errors).
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
