import {
	NodeOperationError,
	type IDataObject,
	type IExecuteFunctions,
	type INodeExecutionData,
} from 'n8n-workflow';

import { asError, fail, type Failure, type Result } from '../api/failure';
import { openService, type Service } from '../api/service';
import { isTool } from '../host';
import { toErrorItem, toItem } from '../output/items';
import { toNodeError, type StartedRun } from '../output/nodeError';
import { parkItems, type ItemWait } from '../parking/parkItems';
import { runBatch } from '../waiting/batch';
import { systemClock } from '../waiting/clock';
import { Durations } from '../waiting/durations';
import { ParkingLot } from '../waiting/parkingLot';

/** What an operation works with on one item. */
export interface Work {
	service: Service;
	/** How long runs took in this execution. */
	durations: Durations;
	/** Where a run's wait may be parked. */
	parkingLot: ParkingLot<ItemWait>;
	/** Aborted when the operation ends before this item does. */
	halt: AbortSignal;
	/** Notes a run as soon as it exists, so that no error can lose it. */
	noteRun(run: StartedRun): void;
}

/** What has become of a node's items. */
export interface Worked {
	items: INodeExecutionData[];
	/** Whether these only show where the runs stand, and n8n puts the results in their place. */
	isParked: boolean;
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
): Promise<Worked> {
	const startedOn = systemClock.date();
	const cancel = context.getExecutionCancelSignal?.();
	const service = await openService(context, cancel);
	// A model gets no more than the message of an error that is thrown, and from some hosts nothing.
	const continues = context.continueOnFail() || isTool(context);
	const durations = new Durations();
	const runs = new Map<number, StartedRun>();
	const noteRun = (run: StartedRun) => void runs.set(run.itemIndex, run);
	const startedRuns = () => [...runs.values()].sort((a, b) => a.itemIndex - b.itemIndex);
	const count = context.getInputData().length;
	const results = new Array<Result<IDataObject[]> | undefined>(count);
	let whileParked: INodeExecutionData[] | undefined;
	const parkingLot = new ParkingLot<ItemWait>(systemClock, count, async (offers) => {
		whileParked = await parkItems(context, {
			startedOn,
			offers,
			results,
			runs: startedRuns(),
		});
		return whileParked !== undefined;
	});

	async function workOn(itemIndex: number, halt: AbortSignal) {
		if (!service.ok) return service;
		if (!concurrency.ok) return concurrency;
		try {
			const work = { service: service.value, durations, parkingLot, halt, noteRun };
			return await each(itemIndex, work);
		} catch (thrown) {
			// An expression that n8n could not evaluate, or a parameter it could not read.
			return failWithThrown(asError(thrown), runs.get(itemIndex));
		}
	}

	const stop = await runBatch(
		{
			count,
			concurrency: concurrency.ok ? concurrency.value : 1,
			stopAtFailure: !continues,
			...(cancel && { cancel }),
		},
		async (itemIndex, halt) => {
			const result = await workOn(itemIndex, halt);
			results[itemIndex] = result;
			// After a failure that stops the node, nothing is to be parked any more.
			if (result && (result.ok || continues)) parkingLot.leave();
			return result;
		},
	);

	const started = startedRuns();
	if (cancel?.aborted) throw cancelledError(context, started, results);
	if (stop) {
		const { index, failure } = stop;
		const others = started.filter((run) => run.itemIndex !== index);
		throw toNodeError(context, failure, index, others);
	}

	if (whileParked) return { items: whileParked, isParked: true };

	const items: INodeExecutionData[] = [];
	for (const [itemIndex, result] of results.entries()) {
		if (!result) continue;
		if (result.ok) items.push(...result.value.map((json) => toItem(json, itemIndex)));
		else items.push(await toErrorItem(context, result.failure, itemIndex));
	}
	return { items, isParked: false };
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
		return new NodeOperationError(context.getNode(), 'The execution was canceled');
	}
	return toNodeError(
		context,
		{
			message: 'The execution was canceled. Its runs go on at the service.',
			description: failures
				.map(({ message, description }) => `${message}. ${description}`)
				.join(' '),
			details: {},
		},
		undefined,
		started,
	);
}
