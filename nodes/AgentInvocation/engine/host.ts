import type {
	IDataObject,
	IExecuteFunctions,
	INode,
	IRunExecutionData,
	IWorkflowSettings,
} from 'n8n-workflow';

import { hashOf } from '../hashOf';
import { escapeHtml } from './nodeError';
import { isJsonObject } from '../service/types';

/** Whether the node is the tool of an AI Agent: n8n then gives its type a name that ends in 'Tool'. */
export function isTool(context: { getNode(): INode }): boolean {
	return context.getNode().type.endsWith('Tool');
}

/**
 * Whether the node runs as a tool inside the process of its AI Agent. The entry that is executed is then the
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

/**
 * The version of the host's n8n-workflow; zeros if it cannot be read. Its major number is n8n's own, its
 * minor one can differ (1.120 in n8n 1.123).
 */
export async function hostVersion(): Promise<{ major: number; minor: number }> {
	try {
		const { version } = await import('n8n-workflow/package.json');
		const [major, minor] = version.split('.').map(Number);
		return { major: major || 0, minor: minor || 0 };
	} catch {
		return { major: 0, minor: 0 };
	}
}

/** The workflow's settings; undefined on hosts that do not give them (docs/n8n.md, Obstacles). */
export function workflowSettings(context: IExecuteFunctions): IWorkflowSettings | undefined {
	const host: Partial<Pick<IExecuteFunctions, 'getWorkflowSettings'>> = context;
	return host.getWorkflowSettings?.();
}

/** What n8n holds of the execution in memory. n8n does not promise it to nodes, so it may be missing. */
export function executionInMemory(context: IExecuteFunctions): IRunExecutionData | undefined {
	return (context as { runExecutionData?: IRunExecutionData }).runExecutionData;
}

/**
 * When n8n is to end the execution, in ms since the epoch, by the workflow's timeout or by n8n's; undefined if
 * never, or if the host does not tell. After a resume, n8n gives a date later than the real one (docs/n8n.md,
 * Obstacles).
 */
export function executionEndsOn(context: IExecuteFunctions): number | undefined {
	const { additionalData } = context as { additionalData?: { executionTimeoutTimestamp?: number } };
	return additionalData?.executionTimeoutTimestamp;
}

/** What n8n has stored of an execution; undefined if n8n does not give it. */
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

/** Whether n8n has deleted this execution although it is still running; false if n8n does not tell. */
export async function isDeleted(context: IExecuteFunctions): Promise<boolean> {
	const id = context.getExecutionId();
	try {
		return id !== undefined && (await context.getExecutionDataById(id)) === undefined;
	} catch {
		return false;
	}
}

/** Shows hints in the output panel, where n8n's editor renders them as HTML. */
export function showHints(context: IExecuteFunctions, hints: Iterable<string>): void {
	for (const message of hints) {
		context.addExecutionHints({ message: escapeHtml(message), location: 'outputPane' });
	}
}

/** Whether a failed item is output. If its error were thrown, n8n would output the node's input in its place. */
export function continues(context: IExecuteFunctions): boolean {
	// Of a thrown error, a model gets only the message, and from some hosts nothing.
	return context.continueOnFail() || isTool(context);
}

/** The most attempts that n8n makes with Retry On Fail. */
export const MOST_ATTEMPTS = 5;

/** How many attempts Retry On Fail allows, including the first; the same as n8n's own count (docs/n8n.md, Memory). */
export function mostAttempts(context: IExecuteFunctions): number {
	const { retryOnFail, maxTries } = context.getNode();
	return retryOnFail ? Math.min(MOST_ATTEMPTS, Math.max(2, maxTries || 3)) : 1;
}

/**
 * A hash of what the user has entered in the node, with expressions as they are written. It leaves out
 * 'Wait for Completion' and all of 'Options', none of which says what is started: after a change of the time
 * limit, for example, the node goes on with the same runs.
 */
export function enteredIn(context: IExecuteFunctions): string {
	const { parameters = {} } = context.getNode() as Partial<INode>;
	const fields = Object.entries(parameters).filter(
		([name]) => name !== 'options' && name !== 'waitForCompletion',
	);
	const text = JSON.stringify(Object.fromEntries(fields), (_, entry: unknown) => {
		if (!isJsonObject(entry)) return entry;
		const { mode, mappingMode, value, schema } = entry;
		// The label of a choice from a list, and its link, say nothing about what was chosen.
		if (entry.__rl === true) return { mode, value };
		// Nor does the editor's own copy of the fields.
		if (Array.isArray(schema)) return { mappingMode, value };
		// Nor does the order in which n8n has stored them.
		const sorted = Object.entries(entry).sort(([one], [other]) => (one < other ? -1 : 1));
		return Object.fromEntries(sorted);
	});
	return hashOf(text);
}
