import { systemClock as clock } from '../clock';
import type { Parking } from '../engine/parking';
import type { ItemMemory, KnownRun } from '../itemMemory';
import { failed, type Step, type Wait } from '../itemState';
import { SHORTEST_STORED_DELAY_MS } from '../waiting/schedule';
import { beginWait, pollRun } from '../waiting/poll';
import { readWaitOptions, type WaitOptions } from '../waiting/options';
import { isFinished } from '../service/runStatus';
import type { ItemWork, Operation } from './operation';
import type { Started } from '../operations/run/startRun';

/** How long a wait goes on in memory at the least before it is stored, with the automatic interval, in ms. */
const STAYS_IN_MEMORY_MS = 5 * SHORTEST_STORED_DELAY_MS;

/** How much of the time that a wait ends before the workflow's own timeout its last poll may take, in ms. */
const GRACE_BEFORE_END_MS = 20_000;

/**
 * Begins to wait for an item's run. One that may have finished already is due at once.
 *
 * @param started what is known of its beginning; nothing of a run that was given
 */
export function waitFor(
	run: KnownRun,
	options: WaitOptions,
	{ service, parking }: ItemWork,
	{ lastSeen, isEarlier = false, askedMs }: Partial<Started> = {},
): Step {
	const wait = { ...waitOf(run, options, parking, 0), lastSeen, isEarlier };
	// A create may answer with a finished run, but not with its output.
	const isDueNow = !lastSeen || isEarlier || isFinished(lastSeen);
	return { is: 'waiting', wait: beginWait(wait, service.baseUrl, clock, isDueNow, askedMs) };
}

/** Polls an item's run. An earlier attempt's that has failed, was cancelled or is gone is started anew. */
export async function pollItem(
	wait: Wait,
	work: ItemWork,
	{ runs, begin }: Operation,
): Promise<Step> {
	const { itemIndex, service, signal, memory, parking } = work;
	const step = await pollRun(service, wait, { clock, signal });
	hintAtInterval(wait, parking);
	if (runs !== 'starts' || !wait.isEarlier || step.is !== 'failed') return step;
	const isGone = step.failure.details.code === 'run_not_found';
	if (!isGone && !step.runEnded) return step;
	memory.forget(itemIndex);
	return await begin(work);
}

/**
 * Goes on with an item's wait after a rest. A clock that was changed meanwhile makes it late by one delay at
 * most.
 *
 * @param isOwn whether the node has started the run, so that there is one
 */
export function resumeWait(
	{ run, wait }: ItemMemory & { is: 'started' },
	{ context, itemIndex, parking }: Pick<ItemWork, 'context' | 'itemIndex' | 'parking'>,
	isOwn: boolean,
): Step & { is: 'waiting' | 'failed' } {
	const options = readWaitOptions(context, itemIndex);
	if (!options.ok) return failed(options);
	const date = clock.date();
	const unseen = {
		dueOn: date,
		leftMs: 0,
		troubles: 0,
		doubts: 0,
		isEarlier: false,
		isLong: false,
	};
	const {
		dueOn,
		leftMs,
		status = isOwn ? 'pending' : undefined,
		...stored
	} = {
		...unseen,
		...wait,
	};
	const waitedMs = Math.max(date - run.startedOn, 0);
	const left = Math.min(Math.max(dueOn - date, 0), leftMs);
	return {
		is: 'waiting',
		wait: {
			...waitOf(run, options.value, parking, waitedMs),
			lastSeen: status === undefined ? undefined : { run_id: run.runId, status },
			...stored,
			dueAt: Math.max(clock.now() + left, parking.pollsFrom),
		},
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
		latestAt: endsAt + GRACE_BEFORE_END_MS,
	};
}

function whereOf(options: WaitOptions, parking: Parking): Wait['where'] {
	if (options.whereToWait === 'stored' && parking.obstacle === undefined) return 'stored';
	return options.whereToWait === 'memory' || isShort(options) ? 'memory' : 'auto';
}

/** n8n stores no wait of less than 65 s. */
function isShort({ pollIntervalMs }: WaitOptions): boolean {
	return pollIntervalMs > 0 && pollIntervalMs < SHORTEST_STORED_DELAY_MS;
}

/** Nobody who sets an interval knows how it goes with being stored. */
function hintAtInterval({ options, where, startedAt }: Wait, parking: Parking): void {
	if (!isShort(options) || parking.obstacle || options.whereToWait === 'memory') return;
	if (where === 'stored') {
		parking.hints.add(
			"The runs were polled every 65 seconds, and not at the 'Poll Interval (Seconds)': n8n stores no shorter waits. For shorter ones, set 'Where to Wait' to 'In Memory Only'.",
		);
	} else if (clock.now() - startedAt > STAYS_IN_MEMORY_MS) {
		parking.hints.add(
			"The wait stayed in memory, where a restart of n8n ends it: 'Poll Interval (Seconds)' is under 65. For waits that survive restarts, remove it, or set 'Where to Wait' to 'Stored From the Start'.",
		);
	}
}
