import type { IExecuteFunctions } from 'n8n-workflow';

import { hostVersion, isTool, runsInAgent, workflowSettings } from '../host';
import { SHORTEST_STORED_DELAY_MS } from '../runs/schedule';
import { isJsonObject } from '../service/types';

/** The major versions of n8n in which the pause was tried. */
const TRIED_VERSIONS = [1, 2];

/** The modes in which nobody waits for the execution's result, or it is found out whether somebody does. */
const UNAWAITED_MODES = ['manual', 'trigger', 'webhook', 'retry', 'error', 'integrated'];

/** Why the first one that stands in the way does, as the end of a sentence. Sources: docs/n8n.md, The pause. */
function firstOf(obstacles: Array<[stands: boolean, why: string]>): string | undefined {
	return obstacles.find(([stands]) => stands)?.[1];
}

/**
 * Why the engine cannot be asked for anything, neither a checkpoint nor a pause.
 *
 * @param passesResponses whether the host does to `execute`, as those do that can be asked
 */
export async function engineObstacle(
	context: IExecuteFunctions,
	passesResponses: boolean,
): Promise<string | undefined> {
	const { source } = context.getExecuteData();
	const isAsTool = isTool(context) || runsInAgent(context);
	const { executionOrder } = workflowSettings(context);
	const hasPreviousNode = source?.main?.[0]?.previousNode !== undefined;
	const isTried = TRIED_VERSIONS.includes((await hostVersion()).major);
	return firstOf([
		[isAsTool, 'the node is the tool of an AI Agent, which waits for its answer'],
		[!passesResponses, 'this version of n8n is too old to store it'],
		[!isTried, 'this package was not tried with this version of n8n'],
		[
			executionOrder !== 'v1',
			'the workflow has the execution order v0 (legacy), which its settings can change',
		],
		[!hasPreviousNode, 'no node comes before this one'],
		[!context.getExecutionId(), 'n8n does not store this execution'],
	]);
}

/**
 * Why the execution is not to be paused, though the engine could.
 *
 * @param hasPaused whether it has been already, so that nobody waits for it
 * @param msLeft until the workflow's own timeout
 */
export async function pauseObstacle(
	context: IExecuteFunctions,
	hasPaused: boolean,
	msLeft: number,
): Promise<string | undefined> {
	return firstOf([
		[
			isAnsweredWithOutput(context),
			'the webhook or chat that started this workflow is answered with its result',
		],
		[
			!UNAWAITED_MODES.includes(context.getMode()),
			'whoever started this workflow waits for its result',
		],
		[
			!hasPaused && (await mayBeCalledForEachItem(context)),
			'another workflow may have called this one once for each item, and n8n then loses items',
		],
		[msLeft < 2 * SHORTEST_STORED_DELAY_MS, "the workflow's own timeout is near"],
	]);
}

/**
 * n8n answers a webhook or a chat as soon as the execution waits; in queue mode, one that a node below
 * is to answer as well.
 */
function isAnsweredWithOutput(context: IExecuteFunctions): boolean {
	const { name } = context.getNode();
	const before = context.getParentNodes(name, { includeNodeParameters: true });
	const modes = before.map(({ type, parameters = {} }) => {
		const options: unknown = parameters.options;
		const chosen =
			parameters.responseMode ?? (isJsonObject(options) ? options.responseMode : undefined);
		return chosen ?? (type.endsWith('.chatTrigger') ? 'lastNode' : undefined);
	});
	if (modes.includes('lastNode') || modes.includes('streaming')) return true;
	const below = context.getChildNodes(name);
	return (
		modes.includes('responseNode') && below.some(({ type }) => type.endsWith('.respondToWebhook'))
	);
}

/**
 * Whether another workflow waits for this one and may have called it once for each of its items. Surely
 * not where the caller does not wait, or has given it several items.
 */
async function mayBeCalledForEachItem(context: IExecuteFunctions): Promise<boolean> {
	if (context.getMode() !== 'integrated') return false;
	try {
		const stored = await context.getExecutionDataById(context.getExecutionId());
		if (stored?.parentExecution?.shouldResume === false) return false;
		// What the first node gave, or what it is to be given where none has been stored yet.
		const tasks = Object.values(stored?.resultData.runData ?? {}).flat();
		const first = tasks.find(({ executionIndex }) => executionIndex === 0);
		const [next] = stored?.executionData?.nodeExecutionStack ?? [];
		return ((first ?? next)?.data?.main?.[0]?.length ?? 0) < 2;
	} catch {
		return true;
	}
}
