import type {
	IDataObject,
	IExecuteFunctions,
	INode,
	IRunExecutionData,
	IWorkflowSettings,
} from 'n8n-workflow';

/** Whether the node is the tool of an AI Agent: n8n gives its type then another name. */
export function isTool(context: { getNode(): INode }): boolean {
	return context.getNode().type.endsWith('Tool');
}

/**
 * Whether the node runs in the process of an AI Agent, as its tool: the entry that is executed is then the
 * agent's own (docs/n8n.md, Obstacles).
 */
export function runsInAgent(context: IExecuteFunctions): boolean {
	return context.getExecuteData().node.name !== context.getNode().name;
}

/**
 * What n8n keeps for the node over its runs in an execution ('node'), or for all nodes of the execution
 * ('flow').
 *
 * @returns an object to write into; undefined where the host keeps nothing, since it has no execution data
 */
export function keptBy(context: IExecuteFunctions, of: 'node' | 'flow'): IDataObject | undefined {
	try {
		return context.getContext(of);
	} catch {
		return undefined;
	}
}

/** The version of the host's n8n-workflow, which goes with n8n's own; zeros when the host does not tell. */
export async function hostVersion(): Promise<{ major: number; minor: number }> {
	try {
		const { version } = await import('n8n-workflow/package.json');
		const [major, minor] = version.split('.').map(Number);
		return { major: major || 0, minor: minor || 0 };
	} catch {
		return { major: 0, minor: 0 };
	}
}

/** The workflow's settings. Older hosts do not tell them: it is empty then. */
export function workflowSettings(context: IExecuteFunctions): IWorkflowSettings {
	const host: Partial<Pick<IExecuteFunctions, 'getWorkflowSettings'>> = context;
	return host.getWorkflowSettings?.() ?? {};
}

/** What n8n holds of the execution. It does not promise it to nodes; it may be missing. */
export function heldBy(context: IExecuteFunctions): IRunExecutionData | undefined {
	return (context as { runExecutionData?: IRunExecutionData }).runExecutionData;
}

/** What n8n has stored of an execution; undefined where it does not tell. */
export async function storedExecution(
	context: IExecuteFunctions,
	executionId: string | undefined,
): Promise<IRunExecutionData | undefined> {
	try {
		return executionId ? await context.getExecutionDataById(executionId) : undefined;
	} catch {
		return undefined;
	}
}

/** Whether an item that fails is output: n8n would output the node's input in place of an error that is thrown. */
export function continues(context: IExecuteFunctions): boolean {
	// A model gets no more than the message of an error that is thrown, and from some hosts nothing.
	return context.continueOnFail() || isTool(context);
}

/** The most attempts that n8n makes with Retry On Fail. */
export const MOST_ATTEMPTS = 5;

/** How many attempts Retry On Fail allows, the first included: as many as n8n does (docs/n8n.md, Memory). */
export function mostAttempts(context: IExecuteFunctions): number {
	const { retryOnFail, maxTries } = context.getNode();
	return retryOnFail ? Math.min(MOST_ATTEMPTS, Math.max(2, maxTries || 3)) : 1;
}
