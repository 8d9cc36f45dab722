import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';

import type { Failure } from '../api/failure';
import { hostVersion, isTool } from '../host';
import { toNodeError } from './nodeError';

/** An output item that comes from the input item at `itemIndex`. */
export function toItem(json: IDataObject, itemIndex: number): INodeExecutionData {
	return { json, pairedItem: { item: itemIndex } };
}

/** The json of a failed item. n8n 2 knows it by having no other keys than these. */
export function toErrorJson({ message, details }: Failure): IDataObject {
	return { error: message, details: { ...details } };
}

/**
 * The output item of an item that failed while the node continues.
 *
 * n8n 2 knows an error item by its keys, sends it to the error output and keeps all of its json.
 * n8n 1 needs the `error` property for that, and then keeps the message alone; on n8n 2 that same
 * property would lose the details there too. A model that called the node as a tool reads it, and is
 * told what to do as well.
 */
export async function toErrorItem(
	context: IExecuteFunctions,
	failure: Failure,
	itemIndex: number,
): Promise<INodeExecutionData> {
	if (isTool(context)) {
		return toItem({ ...toErrorJson(failure), advice: failure.description }, itemIndex);
	}
	const item = toItem(toErrorJson(failure), itemIndex);
	const hasErrorOutput = context.getNode().onError === 'continueErrorOutput';
	if (hasErrorOutput && (await hostVersion()).major < 2) {
		item.error = toNodeError(context, failure, itemIndex);
	}
	return item;
}
