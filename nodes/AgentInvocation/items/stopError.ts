import type { IExecuteFunctions } from 'n8n-workflow';

import { toNodeError } from '../engine/nodeError';
import { isInDoubt, recordsOf } from '../item';
import { sentences, type Failure } from '../failure';
import { few } from '../wording';
import type { Memory } from './memory';

/**
 * The error of a node that ends because an item has failed. It names the runs of the other items.
 *
 * @param count how many items there are
 */
export function stopError(
	context: IExecuteFunctions,
	memory: Memory,
	count: number,
	index: number,
	failure: Failure,
): Error {
	const otherRuns = memory.runs().filter(({ itemIndex }) => itemIndex !== index);
	const otherItems = [...Array(count).keys()].filter((other) => other !== index);
	// A run that may exist is not among the runs that are known.
	const inDoubt = otherItems.filter((other) => recordsOf(memory.item(other))[0]?.is === 'inDoubt');
	const hasMore = otherItems.some((other) => memory.item(other).is !== 'failed');
	const description = sentences(
		failure.description,
		hasMore &&
			(isInDoubt(memory.item(index))
				? "To get the results of the other items, set 'On Error' to 'Continue' in this node's settings, save the workflow, and choose 'Retry with currently saved workflow' in Executions."
				: "To go on with the other items, set 'On Error' to 'Continue' in this node's settings."),
		otherRuns.length > 0 && "'Retry' in Executions keeps the runs of the other items.",
		inDoubt.length > 0 && `Runs may have been started for these items too: ${few(inDoubt)}.`,
	);
	return toNodeError(context, { ...failure, description }, index, otherRuns);
}
