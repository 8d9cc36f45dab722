import type { IExecuteFunctions } from 'n8n-workflow';

import { PassTime, clock } from '../clock';
import { SHORTEST_STORED_DELAY_MS } from '../waiting/schedule';
import type { Pass } from '../waiting/wait';
import { workflowSettings } from './host';
import { engineObstacle, parkingObstacle } from './parkingObstacles';

/**
 * How long before the workflow's own timeout a wait ends, in ms. A stored wait has to be resumed before it
 * can end.
 */
const BEFORE_WORKFLOW_TIMEOUT_MS = 30_000;

/**
 * If the workflow's timeout leaves less than this for a wait, in ms, the wait does not end early: n8n ends
 * the execution.
 */
const SHORTEST_WORKFLOW_MS = 60_000;

/** Moments of the clock: when n8n loaded the node, and when it first resumed an execution after that. */
export const hostStart = { loadedAt: clock.now(), resumedAt: Infinity };

/**
 * How long n8n's recovery may take after the first resume, in ms. Recovery reads executions that are running,
 * and a moment later overwrites their status with 'crashed'. So no resumed execution may
 * end before `beforeEnds` has passed, and none may be parked again before `beforeParks` has.
 */
const RECOVERY_MS = { beforeEnds: 30_000, beforeParks: 60_000 };

/**
 * What this pass of the node may do while it waits: whether and when it is parked, when it polls, and the hints that
 * it leaves.
 */
export interface Parking extends Pass {
	/** Why n8n may not store the execution, as the end of a sentence; undefined if it may. */
	obstacle(this: void): Promise<string | undefined>;
	/** Whether checkpoints may be made. n8n stores one if the workflow saves its progress. */
	checkpoints: boolean;
	/** The moment of the clock before which nothing is polled. */
	pollsFrom: number;
	/** The moment of the clock before which nothing is parked. */
	parksFrom: number;
	/** Hints for the output panel. */
	hints: Set<string>;
}

/** What the node's first pass in an execution found; in a loop, the node has many. Dates are ms since the epoch. */
export interface ExecutionTimes {
	/** When that pass began. */
	firstBeganOn: number;
	/** When n8n is to end the execution, as it then told; absent if never. */
	endsOn?: number;
}

/** What is known when a pass of the node begins. */
interface PassStart {
	/** Whether the host passes a response to `execute`. */
	passesResponse: boolean;
	/** When the node began, in ms since the epoch. */
	beganOn: number;
	execution: ExecutionTimes;
	/** Whether the last suspension was a park. */
	wasParked: boolean;
	/** Whether it was just resumed from being parked. */
	isResumed: boolean;
	/** The hints before the suspension that has just ended. */
	hints?: string[];
}

/** Finds out what this pass may do while it waits. */
export async function openParking(
	context: IExecuteFunctions,
	{ passesResponse, beganOn, execution, wasParked, isResumed, hints }: PassStart,
): Promise<Parking> {
	const engine = await engineObstacle(context, passesResponse);
	const time = new PassTime();
	const waitsEndOn = latestEndOf(context, execution);
	if (isResumed) hostStart.resumedAt = Math.min(hostStart.resumedAt, clock.now());
	const recoveryAt = isResumed && wasJustStarted() ? hostStart.resumedAt : -Infinity;
	const timeLeftMs = () => waitsEndOn - time.date();
	return {
		time,
		obstacle: parkingObstacle(context, {
			engine,
			timeLeftMs,
			wasParked,
			wasRecovered: wasJustStarted(),
		}),
		checkpoints: engine === undefined && savesProgress(context),
		latestEndOn: waitsEndOn - beganOn < SHORTEST_WORKFLOW_MS ? Infinity : waitsEndOn,
		pollsFrom: Math.min(recoveryAt + RECOVERY_MS.beforeEnds, time.momentOf(waitsEndOn)),
		parksFrom: recoveryAt + RECOVERY_MS.beforeParks,
		hints: new Set(hints),
	};
}

/**
 * Whether n8n had just been started when it first resumed an execution. A park lasts at least 65 s. If the first resume
 * comes sooner than that after n8n loaded the node, that park began before n8n was started.
 */
function wasJustStarted(): boolean {
	return hostStart.resumedAt - hostStart.loadedAt < SHORTEST_STORED_DELAY_MS;
}

/**
 * When a wait has to end because of the workflow's own timeout or n8n's, in ms since the epoch; parked time counts.
 * n8n's date is too late if the execution was resumed before this node first ran in it, so the workflow's timeout is
 * also counted from the execution's beginning. For a retry, n8n gives the beginning of the retried execution, so the
 * beginning of the node's first pass is used instead.
 */
function latestEndOf(
	context: IExecuteFunctions,
	{ firstBeganOn, endsOn = Infinity }: ExecutionTimes,
): number {
	const { executionTimeout = 0 } = workflowSettings(context) ?? {};
	const isRetry = context.getMode() === 'retry';
	const establishedOn = isRetry ? undefined : context.getExecutionContext?.()?.establishedAt;
	const from = establishedOn ?? firstBeganOn;
	const bySettings = executionTimeout > 0 ? from + executionTimeout * 1_000 : Infinity;
	return Math.min(bySettings, endsOn) - BEFORE_WORKFLOW_TIMEOUT_MS;
}

/**
 * Whether n8n may save the execution's progress. The default setting counts as yes, except in an execution that was
 * started by hand, since a person watches it.
 */
function savesProgress(context: IExecuteFunctions): boolean {
	const { saveExecutionProgress = 'DEFAULT' } = workflowSettings(context) ?? {};
	return saveExecutionProgress === 'DEFAULT'
		? context.getMode() !== 'manual'
		: saveExecutionProgress;
}
