import type { IExecuteFunctions } from 'n8n-workflow';

import { hostVersion, isTool, runsInAgent, workflowSettings } from './host';
import { TRIED_VERSIONS } from './triedVersions';

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
