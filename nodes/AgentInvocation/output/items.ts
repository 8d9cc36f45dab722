import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';

import type { Failure } from '../api/failure';
import { toNodeError } from './nodeError';

/** An output item that comes from the input item at `itemIndex`. */
export function toItem(json: IDataObject, itemIndex: number): INodeExecutionData {
	return { json, pairedItem: { item: itemIndex } };
}

/**
 * The output item of an item that failed while the node continues.
 *
 * n8n 2 knows an error item by its keys, sends it to the error output and keeps all of its json.
 * n8n 1 needs the `error` property for that, and then keeps the message alone; on n8n 2 that same
 * property would lose the details there too.
 */
export async function toErrorItem(
	context: IExecuteFunctions,
	failure: Failure,
	itemIndex: number,
): Promise<INodeExecutionData> {
	const item = toItem({ error: failure.message, details: { ...failure.details } }, itemIndex);
	const hasErrorOutput = context.getNode().onError === 'continueErrorOutput';
	if (hasErrorOutput && (await hostMajorVersion()) < 2) {
		item.error = toNodeError(context, failure, itemIndex);
	}
	return item;
}

/** The major version of the host's n8n-workflow, which goes with that of n8n; 1 when it is not told. */
async function hostMajorVersion(): Promise<number> {
	try {
		const { version } = await import('n8n-workflow/package.json');
		return parseInt(version, 10);
	} catch {
		return 1;
	}
}
