import type { IDataObject, INode } from 'n8n-workflow';

import { fail, type Failure, type Result } from '../api/failure';
import type { Service } from '../api/service';
import { isJsonObject, type Run } from '../api/types';
import type { StartedRun } from '../output/nodeError';
import { endOfWait } from '../resources/run/runEnd';
import type { WaitOptions } from '../resources/run/waitOptions';
import { runBatch } from '../waiting/batch';
import type { Clock } from '../waiting/clock';
import { delayBeforeNextLook, SHORTEST_PARKED_DELAY_MS } from '../waiting/schedule';
import { lookAtRun } from '../waiting/waitForRun';

/** How many runs of a parked batch are looked at at a time; the gate paces the requests. */
const CONCURRENCY = 100;

/** For how long a parked look meets trouble by looking again, in ms; then the next look is due. */
const PATIENCE_MS = 20_000;

/** By how much a delay may be shorter than the shortest that is parked, in ms. */
const LEEWAY_MS = 100;

/** The shortest wait, in s, for which n8n's Wait node surely stores the execution. */
export const SHORTEST_WAIT_S = SHORTEST_PARKED_DELAY_MS / 1_000 + 0.2;

/** A wait that outlives the process it began in: its times are dates, in ms since the epoch. */
export interface ParkedWait {
	agentId: number;
	runId: string;
	lastSeen: Run;
	startedOn: number;
	/** From `startedOn`, in ms; 0 for no limit. */
	timeoutMs: number;
	/** In ms; 0 for automatic. */
	pollIntervalMs: number;
	/** Whether the time limit is what is left until the workflow's timeout. */
	endsWithWorkflow: boolean;
	/** When to look next. */
	lookOn: number;
	options: WaitOptions;
}

/** What has become of an input item: its result, or a run that is still waited for. */
export type ParkedItem = { result: Result<IDataObject> } | { wait: ParkedWait };

/** All that is needed to go on waiting for a node's items. Plain JSON, and without the API key. */
export interface ParkedBatch {
	/** In the order of the input. */
	items: ParkedItem[];
	/** Every run that the node has started, for the errors that name them. */
	runs: StartedRun[];
	/** Whether the first item that fails ends the wait for all. */
	stopsAtFailure: boolean;
	/** What the node is and whose credential it uses. */
	node: Pick<INode, 'id' | 'name' | 'type' | 'typeVersion' | 'credentials'>;
	/** The node's execution, which waits for the result. */
	executionId: string;
}

/** A batch as n8n's items hold it. */
export function toJson(batch: ParkedBatch): IDataObject {
	return JSON.parse(JSON.stringify(batch));
}

/** Whether a value from an item is a batch. Batches are ours alone, so their kind is all to check. */
export function isParkedBatch(value: unknown): value is ParkedBatch {
	return isJsonObject(value) && Array.isArray(value.items) && Array.isArray(value.runs);
}

/** The runs that are still waited for. */
export function waitsOf({ items }: ParkedBatch): ParkedWait[] {
	return items.flatMap((item) => ('wait' in item ? [item.wait] : []));
}

/** The failure that ends the wait for all, and its item. */
export function failureThatStops({
	items,
	stopsAtFailure,
}: ParkedBatch): { index: number; failure: Failure } | undefined {
	if (!stopsAtFailure) return undefined;
	for (const [index, item] of items.entries()) {
		if ('result' in item && !item.result.ok) return { index, failure: item.result.failure };
	}
	return undefined;
}

/** Whether there is nothing left to wait for. */
export function isSettled(batch: ParkedBatch): boolean {
	return failureThatStops(batch) !== undefined || waitsOf(batch).length === 0;
}

/**
 * How long the watcher is to wait for the next look, in s. What would be parked but for the time that has
 * passed since it was planned is parked. n8n turns it into ms again and cuts off what is left of one, so
 * it is one more: the look at the time limit is not to come before it.
 */
export function secondsUntilNextLook(batch: ParkedBatch, dateMs: number): number {
	const ms = Math.min(...waitsOf(batch).map(({ lookOn }) => lookOn)) - dateMs;
	const isNearlyParked = ms > SHORTEST_PARKED_DELAY_MS - LEEWAY_MS;
	return Math.max(Math.ceil(ms + 1) / 1_000, isNearlyParked ? SHORTEST_WAIT_S : 0);
}

/**
 * Looks once at each run that is due, or would be before the execution can wake up again.
 *
 * @returns the batch as it is then
 */
export async function lookAtDueRuns(
	batch: ParkedBatch,
	service: Result<Service>,
	clock: Clock,
	cancel?: AbortSignal,
): Promise<ParkedBatch> {
	const items = [...batch.items];
	const due = [...items.entries()].flatMap(([index, item]) =>
		'wait' in item && item.wait.lookOn - clock.date() < SHORTEST_PARKED_DELAY_MS
			? [{ index, wait: item.wait }]
			: [],
	);
	await runBatch(
		{
			count: due.length,
			concurrency: CONCURRENCY,
			stopAtFailure: batch.stopsAtFailure,
			...(cancel && { cancel }),
		},
		async (position, halt) => {
			const entry = due[position];
			if (!entry) return undefined;
			const item: ParkedItem = service.ok
				? await lookAt(entry.wait, service.value, clock, halt)
				: { result: withRun(service.failure, entry.wait) };
			items[entry.index] = item;
			return 'result' in item ? item.result : undefined;
		},
	);
	return { ...batch, items };
}

async function lookAt(
	parked: ParkedWait,
	service: Service,
	clock: Clock,
	signal: AbortSignal,
): Promise<ParkedItem> {
	const waitedMs = clock.date() - parked.startedOn;
	const wait = { ...parked, startedAt: clock.now() - waitedMs };
	const look = await lookAtRun(service, wait, { clock, patienceMs: PATIENCE_MS, signal });
	if (look.why !== 'unfinished') {
		const result = endOfWait(look, wait, parked.options, service);
		return result ? { result } : { wait: parked };
	}

	const date = clock.date();
	const { startedOn, timeoutMs, pollIntervalMs } = parked;
	const leftMs = timeoutMs > 0 ? startedOn + timeoutMs - date : Infinity;
	const delay = delayBeforeNextLook({ waitedMs: date - startedOn, pollIntervalMs });
	const lookOn = date + Math.min(Math.max(delay, look.pauseMs, SHORTEST_PARKED_DELAY_MS), leftMs);
	return { wait: { ...parked, lookOn, lastSeen: look.lastSeen ?? parked.lastSeen } };
}

/** What can be said of an item at present: without a result, that its wait was interrupted. */
export function asKnown(item: ParkedItem, reason = ''): Result<IDataObject> {
	if ('result' in item) return item.result;
	const { agentId, runId, lastSeen } = item.wait;
	return fail({
		message: `Waiting for run ${runId} of agent ${agentId} was interrupted`,
		description: [
			"The run goes on at the service: use 'Get a run' with this run ID to fetch its result.",
			reason,
		]
			.filter(Boolean)
			.join(' '),
		details: { agent_id: agentId, run_id: runId, status: lastSeen.status },
	});
}

function withRun(failure: Failure, { agentId, runId }: ParkedWait): Result<never> {
	return fail({
		message: `${failure.message} (run ${runId})`,
		description: `${failure.description} The run goes on at the service: use 'Get a run' with this run ID to fetch its result.`,
		details: { ...failure.details, agent_id: agentId, run_id: runId },
	});
}
