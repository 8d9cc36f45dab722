import type { IExecuteFunctions } from 'n8n-workflow';

import { hostMajorVersion, isTool } from '../host';
import { SHORTEST_STORED_DELAY_MS } from '../runs/schedule';
import { isJsonObject } from '../service/types';

/** The major versions of n8n in which the pause was tried. */
const TRIED_VERSIONS = [1, 2];

/** The modes in which nobody takes what a node outputs while its execution waits for its result. */
const UNAWAITED_MODES = ['manual', 'trigger', 'webhook', 'retry', 'error'];

/** What speaks against asking the engine for anything: neither a checkpoint nor a pause is made. */
interface EngineFacts {
	passesResponses: boolean;
	majorVersion: number;
	isTool: boolean;
	executionOrder: string | undefined;
	hasPreviousNode: boolean;
	isStored: boolean;
}

/** What speaks against a pause. */
interface PauseFacts {
	isAnswered: boolean;
	isAwaited: boolean;
	mayBeCalledForEachItem: boolean;
	msLeft: number;
}

interface Obstacle<Facts> {
	stands(facts: Facts): boolean;
	/** Why, as the end of a sentence. */
	why: string;
}

/** Each with a source in docs/n8n.md, The pause. */
const ENGINE: Array<Obstacle<EngineFacts>> = [
	{
		stands: (facts) => facts.isTool,
		why: 'the node is the tool of an AI Agent, which waits for its answer',
	},
	{
		stands: (facts) => !facts.passesResponses,
		why: 'this version of n8n is too old to store it',
	},
	{
		stands: (facts) => !TRIED_VERSIONS.includes(facts.majorVersion),
		why: 'storing it was not tried with this version of n8n',
	},
	{
		stands: (facts) => facts.executionOrder !== 'v1',
		why: 'the workflow is executed in the old order (v0), which its settings can change',
	},
	{
		stands: (facts) => !facts.hasPreviousNode,
		why: 'no node comes before this one',
	},
	{
		stands: (facts) => !facts.isStored,
		why: 'n8n does not store this execution',
	},
];

const PAUSE: Array<Obstacle<PauseFacts>> = [
	{
		stands: (facts) => facts.isAnswered,
		why: 'the webhook or chat that started this workflow is answered with its result',
	},
	{
		stands: (facts) => facts.isAwaited,
		why: 'whoever started this workflow waits for its result',
	},
	{
		stands: (facts) => facts.mayBeCalledForEachItem,
		why: 'another workflow may have called this one once for each item, and n8n then loses items',
	},
	{
		stands: (facts) => facts.msLeft < 2 * SHORTEST_STORED_DELAY_MS,
		why: "the workflow's own timeout is near",
	},
];

/**
 * Why the engine cannot be asked for a checkpoint or a pause.
 *
 * @param passesResponses whether the host does to `execute`, as those do that can be asked
 */
export async function engineObstacle(
	context: IExecuteFunctions,
	passesResponses: boolean,
): Promise<string | undefined> {
	const { node, source } = context.getExecuteData();
	const facts: EngineFacts = {
		passesResponses,
		majorVersion: await hostMajorVersion(),
		// Run in the process of an AI Agent, the entry is the agent's own.
		isTool: isTool(context) || node.name !== context.getNode().name,
		executionOrder: context.getWorkflowSettings().executionOrder,
		hasPreviousNode: source?.main?.[0]?.previousNode !== undefined,
		isStored: Boolean(context.getExecutionId()),
	};
	return ENGINE.find(({ stands }) => stands(facts))?.why;
}

/**
 * Why the execution is not to be paused, though the engine could.
 *
 * @param hasPaused whether it has been already, so that nobody waits for it
 * @param msLeft until the workflow's own timeout
 */
export async function pauseObstacle(
	context: IExecuteFunctions,
	{ hasPaused, msLeft }: { hasPaused: boolean; msLeft: number },
): Promise<string | undefined> {
	const facts: PauseFacts = {
		isAnswered: isAnsweredWithOutput(context),
		isAwaited: ![...UNAWAITED_MODES, 'integrated'].includes(context.getMode()),
		mayBeCalledForEachItem: !hasPaused && (await mayBeCalledForEachItem(context)),
		msLeft,
	};
	return PAUSE.find(({ stands }) => stands(facts))?.why;
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
