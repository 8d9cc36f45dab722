import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';

import { systemClock as clock } from '../../clock';
import type { Result } from '../../result';
import { failed, type Step } from '../../runs/loop';
import type { KnownRun } from '../../runs/runMemory';
import { stepAfter } from '../../runs/runResult';
import { delayBeforeNextPoll, SHORTEST_STORED_DELAY_MS } from '../../runs/schedule';
import { beginWait, pollRun, type Wait } from '../../runs/waitForRun';
import { readWaitOptions, type WaitOptions } from '../../runs/waitOptions';
import type { Run } from '../../service/types';
import type { ItemWork, StartedItem, Waits } from '../processItems';

/** How long a wait goes on in memory at the least before it is stored, with the automatic interval, in ms. */
const STAYS_IN_MEMORY_MS = 5 * SHORTEST_STORED_DELAY_MS;

/** Reads an item's options. */
export function readItemOptions(
	context: IExecuteFunctions,
	itemIndex: number,
): Result<WaitOptions> {
	return readWaitOptions(context.getNodeParameter('options', itemIndex, {}) as IDataObject);
}

/**
 * Begins to wait for an item's run.
 *
 * @param lastSeen what the service has answered about it; absent when it was not asked yet
 * @param isDueNow whether it may have finished already
 */
export function waitFor(
	run: KnownRun,
	options: WaitOptions,
	{ service, parking }: ItemWork,
	{ lastSeen, isDueNow = false, isEarlier = false }: Partial<BeginningOfWait> = {},
): Step {
	const wait = {
		...settingsOf(options, run.startedOn, parking),
		agentId: run.agentId,
		runId: run.runId,
		startedAt: clock.now(),
		isEarlier,
		...(lastSeen && { lastSeen }),
	};
	return { is: 'waiting', wait: beginWait(wait, service.baseUrl, clock, isDueNow) };
}

interface BeginningOfWait {
	lastSeen: Run;
	isDueNow: boolean;
	/** Whether an earlier attempt of the node has started the run. */
	isEarlier: boolean;
}

/**
 * How an operation waits.
 *
 * @param beginAnew begins an item whose earlier run has failed, was cancelled or is gone
 */
export function waitsOf(
	context: IExecuteFunctions,
	beginAnew?: (itemIndex: number, work: ItemWork) => Promise<Step>,
): Waits {
	return {
		resume: (itemIndex, item, work) => {
			const options = readItemOptions(context, itemIndex);
			if (!options.ok) return failed(options);
			return { is: 'waiting', wait: resumedWait(item, options.value, work) };
		},
		async poll(itemIndex, wait, work) {
			const options = readItemOptions(context, itemIndex);
			if (!options.ok) return failed(options);
			hintAtInterval(wait, options.value, work);
			const { service, signal } = work;
			const poll = await pollRun(service, wait, { clock, signal });
			const step = stepAfter(poll, wait, options.value, service.baseUrl);
			const isGone = poll.is === 'rejected' && poll.answer.serviceError?.code === 'run_not_found';
			const hasFailed = step.is === 'failed' && (isGone || step.runEnded === true);
			if (!beginAnew || !wait.isEarlier || !hasFailed) return step;
			work.memory.forget(itemIndex);
			return await beginAnew(itemIndex, work);
		},
	};
}

/** A wait as it was before the rest. A clock that was changed meanwhile makes it late by one delay at most. */
function resumedWait(
	{ run, wait: stored }: StartedItem,
	options: WaitOptions,
	{ memory, parking }: ItemWork,
): Wait {
	const date = clock.date();
	const waitedMs = Math.max(date - run.startedOn, 0);
	const settings = settingsOf(options, run.startedOn, parking);
	const delay = delayBeforeNextPoll({
		waitedMs,
		pollIntervalMs: settings.pollIntervalMs,
		leastMs: SHORTEST_STORED_DELAY_MS,
	});
	const left = Math.min(Math.max((stored?.dueOn ?? date) - date, 0), delay);
	const lastSeen = stored?.status !== undefined && {
		lastSeen: {
			run_id: run.runId,
			status: stored.status,
			...(stored.createdAt !== undefined && { created_at: stored.createdAt }),
		},
	};
	return {
		...settings,
		agentId: run.agentId,
		runId: run.runId,
		startedAt: clock.now() - waitedMs,
		...lastSeen,
		troubles: stored?.troubles ?? 0,
		isEarlier: stored?.isEarlier ?? false,
		dueAt: clock.now() + left,
		isLong: memory.rested?.until !== undefined,
	};
}

type Settings = Pick<
	Wait,
	'timeoutMs' | 'endsWithWorkflow' | 'pollIntervalMs' | 'leastDelayMs' | 'staysInMemory'
>;

function settingsOf(
	{ timeoutMs, pollIntervalMs, whereToWait }: WaitOptions,
	startedOn: number,
	parking: ItemWork['parking'],
): Settings {
	const isStored = whereToWait === 'stored' && parking.isPossible;
	const untilEnd = parking.latestEndOn - startedOn;
	const endsWithWorkflow = untilEnd < (timeoutMs || Infinity);
	return {
		timeoutMs: endsWithWorkflow ? Math.max(untilEnd, 1) : timeoutMs,
		endsWithWorkflow,
		pollIntervalMs,
		leastDelayMs: isStored ? SHORTEST_STORED_DELAY_MS : 0,
		staysInMemory: whereToWait === 'memory' || isShort(pollIntervalMs, isStored),
	};
}

function isShort(pollIntervalMs: number, isStored: boolean): boolean {
	return !isStored && pollIntervalMs > 0 && pollIntervalMs < SHORTEST_STORED_DELAY_MS;
}

/** Nobody who sets an interval knows that n8n stores no wait of less than 65 s. */
function hintAtInterval(
	{ pollIntervalMs, leastDelayMs, startedAt }: Wait,
	{ whereToWait }: WaitOptions,
	{ parking }: ItemWork,
): void {
	if (!isShort(pollIntervalMs, false) || !parking.isPossible || whereToWait === 'memory') return;
	if (leastDelayMs > 0) {
		parking.hint(
			"The runs were polled every 65 seconds, and not at the Poll Interval: n8n stores no shorter waits. For shorter ones, set 'Where to Wait' to 'In Memory Only'.",
		);
	} else if (clock.now() - startedAt > STAYS_IN_MEMORY_MS) {
		parking.hint(
			"The wait stayed in memory, where a restart of n8n ends it: Poll Interval is under 65 seconds. For waits that survive restarts, remove it, or set 'Where to Wait' to 'Stored From the Start'.",
		);
	}
}
