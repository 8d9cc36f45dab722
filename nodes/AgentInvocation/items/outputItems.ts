import { NodeOperationError, type IExecuteFunctions, type INodeExecutionData } from 'n8n-workflow';

import { toErrorItem, withAdvice } from '../engine/errorItem';
import type { Item } from '../item';
import { adviceOn, shownOf } from '../waiting/output';

/** The outputs of items that have ended, in their order, each paired with its item. */
export async function outputItemsOf(
	context: IExecuteFunctions,
	items: Item[],
): Promise<INodeExecutionData[]> {
	const outputs: INodeExecutionData[] = [];
	for (const [index, item] of items.entries()) {
		if (item.is === 'done') {
			const advice = adviceOn(item);
			for (const output of shownOf(item)) {
				const json = withAdvice(context, output, advice);
				outputs.push({ json, pairedItem: { item: index } });
			}
		} else if (item.is === 'failed') {
			outputs.push(await toErrorItem(context, item.failure, index));
		} else {
			throw new NodeOperationError(context.getNode(), `Item ${index} has no result`, {
				description: `This is a defect of the package. The item's state is '${item.is}'.`,
			});
		}
	}
	return outputs;
}

/**
 * Whether the first output is that of an item that is done. An `error` in it is then the run's own, not a
 * failed attempt.
 */
export function isFirstOutputOfDoneItem(items: Item[]): boolean {
	const first = items.find((item) => item.is !== 'done' || item.outputs.length > 0);
	return first?.is === 'done';
}
