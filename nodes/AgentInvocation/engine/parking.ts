import type { IExecuteFunctions } from 'n8n-workflow';

import { PassTime, clock } from '../clock';
import { SHORTEST_STORED_DELAY_MS } from '../waiting/schedule';
import type { Pass } from '../waiting/wait';
import { whoWaits } from './callers';
import { workflowSettings } from './host';
import { engineObstacle } from './obstacles';

/** How long before the workflow's own timeout a wait ends, in ms: a stored one has to be resumed first. */
const BEFORE_WORKFLOW_TIMEOUT_MS = 30_000;

/** Workflows that leave less time, in ms, are ended by n8n. */
const SHORTEST_WORKFLOW_MS = 60_000;

/** The execution is not parked for less, in ms. */
const LEAST_TIME_LEFT_MS = 2 * SHORTEST_STORED_DELAY_MS;

const TIMEOUT_IS_NEAR = "the workflow's own timeout is near";

/** When n8n loaded the node, and when it first resumed an execution of it since, by the clock. */
export const hostStart = { loadedAt: clock.now(), resumedAt: Infinity };

/**
 * How long n8n's recovery may take after the first resume of its start, in ms. It reads executions that run
 * and writes 'crashed' over what they are a moment later, so for some seconds none that was resumed ends, and
 * for a minute none is parked again.
 */
const RECOVERY_MS = { beforeEnds: 30_000, beforeParks: 60_000 };

/** Whether, when and why not the execution of a node is parked. */
export interface Parking extends Pass {
	/** Why n8n may not store the execution; undefined when it may. */
	obstacle(this: void): Promise<string | undefined>;
	/** Whether a checkpoint may be made, which n8n stores where it saves progress. */
	checkpoints: boolean;
	/** Before that time, by the clock, nothing is polled. */
	pollsFrom: number;
	/** Before that time, by the clock, nothing is parked. */
	parksFrom: number;
	/** What the output panel is to say. */
	hints: Set<string>;
}

/** What the node knows of its run so far. */
interface Begun {
	/** Whether the host passes a response to `execute`. */
	passesResponse: boolean;
	/** When the node began, in ms since the epoch. */
	beganOn: number;
	/** Whether the execution has been parked before, and whether it was just now. */
	hasParked: boolean;
	isResumed: boolean;
}

/** Finds out what this host allows. */
export async function openParking(
	context: IExecuteFunctions,
	{ passesResponse, beganOn, hasParked, isResumed }: Begun,
): Promise<Parking> {
	const engine = await engineObstacle(context, passesResponse);
	const time = new PassTime();
	const endsOn = endOfWorkflow(context, beganOn);
	const holdsFrom = isResumed ? startOfRecovery(clock.now()) : -Infinity;
	// Seldom asked for, and dear: what n8n has stored is read.
	let waiter: Promise<string | undefined> | undefined;
	return {
		time,
		obstacle: async () => {
			if (engine !== undefined) return engine;
			if (endsOn - time.date() < LEAST_TIME_LEFT_MS) return TIMEOUT_IS_NEAR;
			// Nobody waits for an execution that was parked before.
			return hasParked ? undefined : await (waiter ??= whoWaits(context));
		},
		checkpoints: engine === undefined && savesProgress(context),
		latestEndOn: endsOn - beganOn < SHORTEST_WORKFLOW_MS ? Infinity : endsOn,
		pollsFrom: Math.min(holdsFrom + RECOVERY_MS.beforeEnds, time.momentOf(endsOn)),
		parksFrom: holdsFrom + RECOVERY_MS.beforeParks,
		hints: new Set(),
	};
}

/**
 * When n8n's recovery may have begun, by the clock; -Infinity when that is long ago. What is resumed sooner
 * after n8n has loaded the node than any pause takes was stored before, so n8n has just started.
 *
 * @param now at which an execution is resumed
 */
function startOfRecovery(now: number): number {
	hostStart.resumedAt = Math.min(hostStart.resumedAt, now);
	const { loadedAt, resumedAt } = hostStart;
	return resumedAt - loadedAt < SHORTEST_STORED_DELAY_MS ? resumedAt : -Infinity;
}

/**
 * When a wait has to end because n8n ends the execution, in ms since the epoch: its timeout counts
 * parked time. A retry has the beginning of the execution that it repeats.
 *
 * @param beganOn when the node began, where the host does not tell when the execution did
 */
function endOfWorkflow(context: IExecuteFunctions, beganOn: number): number {
	const { executionTimeout = 0 } = workflowSettings(context);
	if (executionTimeout <= 0) return Infinity;
	const isRetry = context.getMode() === 'retry';
	const establishedOn = isRetry ? undefined : context.getExecutionContext?.()?.establishedAt;
	return (establishedOn ?? beganOn) + executionTimeout * 1_000 - BEFORE_WORKFLOW_TIMEOUT_MS;
}

/** Whether n8n may save the execution's progress. A person watches one that is started by hand. */
function savesProgress(context: IExecuteFunctions): boolean {
	const { saveExecutionProgress = 'DEFAULT' } = workflowSettings(context);
	return saveExecutionProgress === 'DEFAULT'
		? context.getMode() !== 'manual'
		: saveExecutionProgress;
}
