import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';

import { systemClock as clock } from '../../clock';
import type { Parking } from '../../parking/parking';
import type { Result } from '../../result';
import { failed, type Step } from '../../runs/loop';
import type { KnownRun } from '../../runs/itemMemory';
import { stepAfter } from '../../runs/runResult';
import { delayBeforeNextPoll, SHORTEST_STORED_DELAY_MS } from '../../runs/schedule';
import { beginWait, pollRun, type Wait } from '../../runs/waitForRun';
import { readWaitOptions, type WaitOptions } from '../../runs/waitOptions';
import type { Run } from '../../service/types';
import type { ItemWork, StartedItem, Waits } from '../operation';

/** How long a wait goes on in memory at the least before it is stored, with the automatic interval, in ms. */
const STAYS_IN_MEMORY_MS = 5 * SHORTEST_STORED_DELAY_MS;

/** Reads an item's options. */
export function readItemOptions(
	context: IExecuteFunctions,
	itemIndex: number,
): Result<WaitOptions> {
	return readWaitOptions(context.getNodeParameter('options', itemIndex, {}) as IDataObject);
}

interface BeginningOfWait {
	/** What the service has answered about the run; absent when it was not asked yet. */
	lastSeen?: Run;
	/** Whether the run may have finished already. */
	isDueNow?: boolean;
	/** Whether an earlier attempt of the node has started the run. */
	isEarlier?: boolean;
}

/** Begins to wait for an item's run. */
export function waitFor(
	run: KnownRun,
	options: WaitOptions,
	{ service, parking }: ItemWork,
	{ lastSeen, isDueNow = false, isEarlier = false }: BeginningOfWait = {},
): Step {
	const wait = { ...waitOf(run, options, parking, 0), isEarlier, ...(lastSeen && { lastSeen }) };
	return { is: 'waiting', wait: beginWait(wait, service.baseUrl, clock, isDueNow) };
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
			const { service, signal, memory } = work;
			const poll = await pollRun(service, wait, { clock, signal });
			const step = stepAfter(poll, wait, service.baseUrl);
			hintAtInterval(wait, work.parking);
			const isGone = poll.is === 'rejected' && poll.answer.serviceError?.code === 'run_not_found';
			const hasFailed = step.is === 'failed' && (isGone || step.runEnded === true);
			if (!beginAnew || !wait.isEarlier || !hasFailed) return step;
			memory.forget(itemIndex);
			return await beginAnew(itemIndex, work);
		},
	};
}

/** A wait as it was before the rest. A clock that was changed meanwhile makes it late by one delay at most. */
function resumedWait(
	{ run, wait: stored }: StartedItem,
	options: WaitOptions,
	{ parking }: ItemWork,
): Wait {
	const { status, createdAt, dueOn } = stored ?? {};
	const { troubles = 0, isEarlier = false, isLong = false } = stored ?? {};
	const date = clock.date();
	const waitedMs = Math.max(date - run.startedOn, 0);
	const wait = waitOf(run, options, parking, waitedMs);
	const { pollIntervalMs } = wait.options;
	const delay = delayBeforeNextPoll({
		waitedMs,
		pollIntervalMs,
		leastMs: SHORTEST_STORED_DELAY_MS,
	});
	const left = Math.min(Math.max((dueOn ?? date) - date, 0), delay);
	return {
		...wait,
		...(status !== undefined && {
			lastSeen: {
				run_id: run.runId,
				status,
				...(createdAt !== undefined && { created_at: createdAt }),
			},
		}),
		troubles,
		isEarlier,
		dueAt: Math.max(clock.now() + left, parking.pollsFrom),
		isLong,
	};
}

/** What is the same of a wait that begins and of one that is resumed. */
function waitOf(
	{ agentId, runId }: KnownRun,
	options: WaitOptions,
	parking: Parking,
	waitedMs: number,
) {
	const startedAt = clock.now() - waitedMs;
	const endsAt = clock.now() + parking.latestEndOn - clock.date();
	return {
		agentId,
		runId,
		options,
		where: whereOf(options, parking),
		startedAt,
		deadline: Math.min(startedAt + (options.timeoutMs || Infinity), endsAt),
	};
}

function whereOf(options: WaitOptions, parking: Parking): Wait['where'] {
	if (options.whereToWait === 'stored' && parking.isPossible) return 'stored';
	return options.whereToWait === 'memory' || isShort(options) ? 'memory' : 'auto';
}

/** n8n stores no wait of less than 65 s. */
function isShort({ pollIntervalMs }: WaitOptions): boolean {
	return pollIntervalMs > 0 && pollIntervalMs < SHORTEST_STORED_DELAY_MS;
}

/** Nobody who sets an interval knows how it goes with being stored. */
function hintAtInterval({ options, where, startedAt }: Wait, parking: Parking): void {
	if (!isShort(options) || !parking.isPossible || options.whereToWait === 'memory') return;
	if (where === 'stored') {
		parking.hint(
			"The runs were polled every 65 seconds, and not at the Poll Interval: n8n stores no shorter waits. For shorter ones, set 'Where to Wait' to 'In Memory Only'.",
		);
	} else if (clock.now() - startedAt > STAYS_IN_MEMORY_MS) {
		parking.hint(
			"The wait stayed in memory, where a restart of n8n ends it: Poll Interval is under 65 seconds. For waits that survive restarts, remove it, or set 'Where to Wait' to 'Stored From the Start'.",
		);
	}
}
