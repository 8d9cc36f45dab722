import type { IExecuteFunctions } from 'n8n-workflow';

import { SHORTEST_STORED_DELAY_MS } from '../waiting/schedule';
import { hostVersion, isDeleted, isTool, runsInAgent, workflowSettings } from './host';
import { TRIED_VERSIONS } from './triedVersions';
import { whoWaits } from './whoWaits';

/** With less time than this left, in ms, the execution is not parked. */
const LEAST_TIME_LEFT_MS = 2 * SHORTEST_STORED_DELAY_MS;

/** The ID of an execution in n8n's engine v2, a UUID of version 7. Those of the engine v1 are whole numbers. */
const ID_IN_ENGINE_V2 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-/i;

/**
 * Why n8n's engine cannot be asked for a suspension (a park or a checkpoint), as the end of a sentence;
 * undefined if it can. Sources: docs/n8n.md, Obstacles.
 *
 * @param passesResponse whether the host passes a response to `execute`, as hosts that carry out such
 *   requests do
 */
export async function engineObstacle(
	context: IExecuteFunctions,
	passesResponse: boolean,
): Promise<string | undefined> {
	const { source } = context.getExecuteData();
	const isAsTool = isTool(context) || runsInAgent(context);
	const settings = workflowSettings(context);
	const executionId = context.getExecutionId();
	// The engine v2 of n8n 2.41 does not tell the workflow's settings.
	const isEngineV2 = settings?.engineType === 'v2' || ID_IN_ENGINE_V2.test(executionId ?? '');
	const hasPreviousNode = source?.main?.[0]?.previousNode !== undefined;
	const isTried = TRIED_VERSIONS.includes((await hostVersion()).major);
	const obstacles: Array<[stands: boolean, why: string]> = [
		[isAsTool, 'the node is the tool of an AI Agent, which waits for its answer'],
		[isEngineV2, "the workflow runs on n8n's engine v2, which cannot store the wait of this node"],
		[!passesResponse || !settings, 'this version of n8n is too old to store it'],
		[!isTried, 'this package was not tested with this version of n8n'],
		[
			settings?.executionOrder !== 'v1',
			"the workflow's setting 'Execution Logic' ('Execution Order' in n8n 1) is not v1",
		],
		[!hasPreviousNode, 'no node comes before this one'],
		[!executionId, 'n8n does not store this execution'],
	];
	return obstacles.find(([stands]) => stands)?.[1];
}

/** What decides whether the execution may be parked. */
interface ParkingFacts {
	/** Why n8n's engine cannot suspend the node; undefined if it can. */
	engine: string | undefined;
	/** How long a wait may last before it has to end because of the workflow's own timeout, in ms. */
	timeLeftMs(this: void): number;
	/** Whether the execution was parked before. */
	wasParked: boolean;
	/** Whether n8n's recovery may have failed the execution. n8n then deletes it if it stores no failed executions. */
	wasRecovered: boolean;
}

/** Gives a function that tells why the execution may not be parked now, as the end of a sentence, or undefined if it may. */
export function parkingObstacle(
	context: IExecuteFunctions,
	{ engine, timeLeftMs, wasParked, wasRecovered }: ParkingFacts,
): () => Promise<string | undefined> {
	// Asked only when needed, since it reads executions from n8n's database.
	let waiter: Promise<string | undefined> | undefined;
	return async () => {
		if (engine !== undefined) return engine;
		if (timeLeftMs() < LEAST_TIME_LEFT_MS)
			return "the workflow's own timeout, or n8n's (EXECUTIONS_TIMEOUT), is near";
		if (wasRecovered && (await isDeleted(context))) return 'n8n no longer stores this execution';
		// Nobody waits for an execution that was parked once.
		return wasParked ? undefined : await (waiter ??= whoWaits(context));
	};
}
