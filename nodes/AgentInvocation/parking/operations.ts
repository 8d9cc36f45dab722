import {
	NodeOperationError,
	type IDataObject,
	type IExecuteFunctions,
	type INodeExecutionData,
	type IRunExecutionData,
} from 'n8n-workflow';

import { asError } from '../api/failure';
import { openService } from '../api/service';
import { toErrorItem, toItem } from '../output/items';
import { toNodeError } from '../output/nodeError';
import { systemClock as clock } from '../waiting/clock';
import { callSubWorkflow, waitForSubWorkflow } from './park';
import {
	asKnown,
	failureThatStops,
	isParkedBatch,
	isSettled,
	lookAtDueRuns,
	SHORTEST_WAIT_S,
	secondsUntilNextLook,
	toJson,
	type ParkedBatch,
} from './parkedBatch';
import { watcherWorkflow, type ParkedOperation } from './subWorkflows';

/** How often the keeper sees whether its watcher is alive, in ms. */
const CHECK_MS = 1_800_000;

/** How long a watcher whose time has come may take to look and to wait again, in ms. */
const OVERDUE_MS = 300_000;

/** After how many looks a watcher gives way to another one: n8n keeps a record of each. */
const LOOKS_OF_A_WATCHER = 100;

/** How many watchers in a row may fail before the wait is given up. */
const FAILURES = 3;

const RETRY_ADVICE =
	"n8n's Retry of this execution repeats this message without looking again: execute the workflow anew, or use 'Get a run'.";

/** The operations of the sub-workflows (`subWorkflows.ts`). */
export const parkedOperations: Record<
	ParkedOperation,
	(this: IExecuteFunctions) => Promise<INodeExecutionData[]>
> = { watchParked, lookAtParked, settleParked };

/** What the keeper knows of its watcher, in its node's context. */
interface Watcher {
	executionId: string;
	failures: number;
	/** The time at which it should have woken up, when it was overdue at the last check. */
	overdueSince?: number;
}

/**
 * Waits for the watcher, in the keeper. n8n comes here at first, each time that the keeper wakes up by
 * itself, and when a watcher has ended without results. A watcher is started when there surely is none.
 */
async function watchParked(this: IExecuteFunctions): Promise<INodeExecutionData[]> {
	try {
		return await watch(this, this.getInputData()[0]?.json ?? {});
	} catch (thrown) {
		// Thrown, it would look like the failure of a watcher, and lead back here.
		return [failureItem(asError(thrown))];
	}
}

async function watch(
	context: IExecuteFunctions,
	input: IDataObject,
): Promise<INodeExecutionData[]> {
	// In the node's context and not in its items, of which n8n would keep every turn's.
	const known = context.getContext('node');
	const batch = readBatch(context, input.batch ?? known.batch);
	known.batch = toJson(batch);
	const last = known.watcher as Watcher | undefined;
	// At first, the node's execution is not stored yet.
	if (last && !(await stillWaits(context, batch.executionId))) return [];

	const hasEnded = input.isOver === true || input.error !== undefined;
	const checkInMs = last && !hasEnded ? await nextCheck(context, last) : undefined;
	if (checkInMs !== undefined) return await sleep(context, checkInMs);

	const failures = input.error === undefined ? 0 : (last?.failures ?? 0) + 1;
	if (failures > FAILURES) return [settledItem(batch, { reason: input.error })];
	try {
		const { executionId, items } = await callSubWorkflow(context, watcherWorkflow(batch), {
			batch: toJson(batch),
			keeperId: context.getExecutionId(),
			waitSeconds: Math.max(secondsUntilNextLook(batch, clock.date()), SHORTEST_WAIT_S),
		});
		known.watcher = { executionId, failures } satisfies Watcher;
		return items ?? (await sleep(context, CHECK_MS));
	} catch (thrown) {
		const error = asError(thrown);
		// The first time, nothing waits yet, and the node itself goes on.
		return [last ? settledItem(batch, { reason: error.message }) : failureItem(error)];
	}
}

async function sleep(context: IExecuteFunctions, ms: number): Promise<INodeExecutionData[]> {
	const items = [toItem({}, 0)];
	await waitForSubWorkflow(context, items, clock.date() + ms);
	return items;
}

/**
 * When to see again whether the watcher is alive, in ms from now; undefined when it is dead. A watcher
 * that waits says until when. One that should have woken up may be looking at this moment, or n8n was
 * away and starts it just now: it is dead when it still says the same at the next check.
 */
async function nextCheck(
	context: IExecuteFunctions,
	watcher: Watcher,
): Promise<number | undefined> {
	const data = await readExecution(context, watcher.executionId);
	if (data === 'unreadable') return OVERDUE_MS;
	if (!data || data.resultData.error) return undefined;
	const wakesOn = data.waitTill ? new Date(data.waitTill).getTime() : 0;
	if (wakesOn > clock.date()) return CHECK_MS;
	if (watcher.overdueSince === wakesOn) return undefined;
	watcher.overdueSince = wakesOn;
	return OVERDUE_MS;
}

/**
 * Looks at the runs that are due, in the watcher. It goes on with `waitSeconds`, and ends with the batch
 * when nothing is left to wait for or another watcher is to take over.
 */
async function lookAtParked(this: IExecuteFunctions): Promise<INodeExecutionData[]> {
	const input = this.getInputData()[0]?.json ?? {};
	// Kept in the context for the same reason as in the keeper.
	const context = this.getContext('node');
	const batch = readBatch(this, context.batch ?? input.batch);
	context.keeperId ??= input.keeperId;
	for (const id of [batch.executionId, String(context.keeperId)]) {
		if (!(await stillWaits(this, id))) return [];
	}

	const cancel = this.getExecutionCancelSignal?.();
	const service = await openService(this, cancel);
	// n8n may be unable to read a credential in passing; twice in a row means that it is gone.
	const isDoubtful = !service.ok && context.hadService !== false;
	context.hadService = service.ok;
	const seen = isDoubtful ? batch : await lookAtDueRuns(batch, service, clock, cancel);

	context.batch = toJson(seen);
	context.looks = Number(context.looks ?? 0) + 1;
	if (isSettled(seen)) return [settledItem(seen)];
	const waitSeconds = isDoubtful ? SHORTEST_WAIT_S : secondsUntilNextLook(seen, clock.date());
	// The next watcher cannot wait for less.
	const isOver = context.looks >= LOOKS_OF_A_WATCHER && waitSeconds >= SHORTEST_WAIT_S;
	return [toItem(isOver ? { batch: toJson(seen), isOver } : { waitSeconds }, 0)];
}

/** Gives the results of a batch, or its failure, in the keeper. */
async function settleParked(this: IExecuteFunctions): Promise<INodeExecutionData[]> {
	const { batch: value, reason, failure: trouble } = this.getInputData()[0]?.json ?? {};
	if (typeof trouble === 'string') throw new NodeOperationError(this.getNode(), trouble);
	const batch = readBatch(this, value);
	const saying = typeof reason === 'string' ? `n8n says: ${reason}` : '';
	const results = batch.items.map((item) => asKnown(item, saying));

	const stopped =
		failureThatStops(batch) ??
		failureThatStops({ ...batch, items: results.map((result) => ({ result })) });
	if (stopped) {
		const { index, failure } = stopped;
		const others = batch.runs.filter(({ itemIndex }) => itemIndex !== index);
		const description = `${failure.description} ${RETRY_ADVICE}`;
		throw toNodeError(this, { ...failure, description }, index, others);
	}
	return await Promise.all(
		results.map(async (result, index) =>
			result.ok ? toItem(result.value, index) : await toErrorItem(this, result.failure, index),
		),
	);
}

function settledItem(batch: ParkedBatch, more: IDataObject = {}): INodeExecutionData {
	return toItem({ isSettled: true, batch: toJson(batch), ...more }, 0);
}

function failureItem({ message }: Error): INodeExecutionData {
	return toItem({ isSettled: true, failure: message }, 0);
}

/**
 * Whether an execution still waits for what this one does. n8n tells a stopped one by its error alone,
 * and does not stop the sub-workflows of an execution along with it.
 */
async function stillWaits(context: IExecuteFunctions, executionId: string): Promise<boolean> {
	const data = await readExecution(context, executionId);
	return data === 'unreadable' || (data !== undefined && !data.resultData.error);
}

/** `unreadable` when n8n cannot say at this moment, which ends nothing: it is asked again. */
async function readExecution(
	context: IExecuteFunctions,
	executionId: string,
): Promise<IRunExecutionData | 'unreadable' | undefined> {
	try {
		return await context.getExecutionDataById(executionId);
	} catch {
		return 'unreadable';
	}
}

function readBatch(context: IExecuteFunctions, value: unknown): ParkedBatch {
	if (isParkedBatch(value)) return value;
	throw new NodeOperationError(
		context.getNode(),
		'This operation is part of a parked wait and cannot be used by itself',
		{ description: "Use 'Create a run' or 'Get a run'." },
	);
}
