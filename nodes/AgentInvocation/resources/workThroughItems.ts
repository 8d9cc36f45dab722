import {
	NodeOperationError,
	type IDataObject,
	type IExecuteFunctions,
	type INodeExecutionData,
} from 'n8n-workflow';

import { asError, fail, type Failure, type Result } from '../api/failure';
import { openService, type Service } from '../api/service';
import { toErrorItem, toItem } from '../output/items';
import { toNodeError, type StartedRun } from '../output/nodeError';
import { runBatch } from '../waiting/batch';
import { Durations } from '../waiting/durations';

/** What an operation works with on one item. */
export interface Work {
	service: Service;
	/** How long runs took in this execution. */
	durations: Durations;
	/** Aborted when the operation ends before this item does. */
	halt: AbortSignal;
	/** Notes a run as soon as it exists, so that no error can lose it. */
	noteRun(run: StartedRun): void;
}

/**
 * Works through the input items of a node and gives their outputs in the order of the input, each
 * paired with its item. An item that fails ends the node, or becomes an error item where the node is
 * set to continue.
 *
 * @param concurrency how many items at a time
 * @param each gives an item's outputs, or undefined when it was halted
 * @throws NodeApiError or NodeOperationError, naming the runs that other items have started
 */
export async function workThroughItems(
	context: IExecuteFunctions,
	concurrency: Result<number>,
	each: (itemIndex: number, work: Work) => Promise<Result<IDataObject[]> | undefined>,
): Promise<INodeExecutionData[]> {
	const cancel = context.getExecutionCancelSignal?.();
	const service = await openService(context, cancel);
	const durations = new Durations();
	const runs = new Map<number, StartedRun>();
	const noteRun = (run: StartedRun) => void runs.set(run.itemIndex, run);

	const end = await runBatch<IDataObject[]>(
		{
			count: context.getInputData().length,
			concurrency: concurrency.ok ? concurrency.value : 1,
			stopAtFailure: !context.continueOnFail(),
			...(cancel && { cancel }),
		},
		async (itemIndex, halt) => {
			if (!service.ok) return service;
			if (!concurrency.ok) return concurrency;
			try {
				return await each(itemIndex, { service: service.value, durations, halt, noteRun });
			} catch (thrown) {
				// An expression that n8n could not evaluate, or a parameter it could not read.
				return failWithThrown(asError(thrown), runs.get(itemIndex));
			}
		},
	);

	const started = [...runs.values()].sort((a, b) => a.itemIndex - b.itemIndex);
	if (cancel?.aborted) throw cancelledError(context, started, end.results);
	if (end.stoppedBy) {
		const { index, failure } = end.stoppedBy;
		const others = started.filter((run) => run.itemIndex !== index);
		throw toNodeError(context, failure, index, others);
	}

	const items: INodeExecutionData[] = [];
	for (const [itemIndex, result] of end.results.entries()) {
		if (!result) continue;
		if (result.ok) items.push(...result.value.map((json) => toItem(json, itemIndex)));
		else items.push(await toErrorItem(context, result.failure, itemIndex));
	}
	return items;
}

function failWithThrown(error: Error & { description?: unknown }, run?: StartedRun): Result<never> {
	return fail({
		message: run ? `${error.message} (run ${run.runId})` : error.message,
		description: typeof error.description === 'string' ? error.description : '',
		details: run ? { agent_id: run.agentId, run_id: run.runId } : {},
		cause: error,
	});
}

// n8n shows an execution as canceled, not as failed, when the message of its error says so.
function cancelledError(
	context: IExecuteFunctions,
	started: StartedRun[],
	results: Array<Result<unknown> | undefined>,
): Error {
	const failures = results.flatMap((result): Failure[] =>
		result && !result.ok ? [result.failure] : [],
	);
	if (started.length === 0 && failures.length === 0) {
		return new NodeOperationError(
			context.getNode(),
			'The execution was canceled before any run was started',
		);
	}
	return toNodeError(
		context,
		{
			message: 'The execution was canceled. Runs that it started go on at the service.',
			description: failures
				.map(({ message, description }) => `${message}. ${description}`)
				.join(' '),
			details: {},
		},
		undefined,
		started,
	);
}
