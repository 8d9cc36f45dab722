import {
	deepCopy,
	type EngineRequest,
	type IExecuteData,
	type IExecuteFunctions,
	type INodeExecutionData,
} from 'n8n-workflow';

import { heldBy } from './host';
import { isJsonObject } from '../service/types';

/**
 * The node suspends itself: it asks n8n's engine to run it once more, as an action, and then to go on with it.
 * The action parks the execution, which is n8n's own way to wait. On resume n8n passes over the action and runs
 * the node, which goes on from its memory. Without a date the action only makes n8n store the execution where it
 * saves progress: a checkpoint. (docs/n8n.md, Parking)
 */

/** The key of the action's input. No item has it. */
const MARK = 'agentInvocationSuspension';

/** The node hands control to the engine, and gets it back. */
export interface Suspension {
	/** A park's: when n8n is to resume, in ms since the epoch. Absent for a checkpoint. */
	until?: number;
	/** Where the node's input came from, which the engine overwrites. */
	source: unknown;
}

/** What the action is to do. */
interface Action extends Suspension {
	/** How many runs are waited for. */
	runs: number;
}

/** Asks the engine for a suspension. The node's memory must hold all that it is to go on with. */
export function requestSuspension(context: IExecuteFunctions, action: Action): EngineRequest {
	// That of an execution that n8n retries: it would take it for one of the action.
	delete heldBy(context)?.resultData.error;
	return {
		actions: [
			{
				actionType: 'ExecutionNodeAction',
				nodeName: context.getNode().name,
				type: 'main',
				id: MARK,
				input: { [MARK]: { ...action } },
				metadata: {},
			},
		],
		metadata: {},
	};
}

/** What this pass of the node is to do if the engine runs it as the action; undefined if it does not. */
export function readAction(context: IExecuteFunctions): Action | undefined {
	if (context.getExecuteData().node.rewireOutputLogTo !== 'main') return undefined;
	const mark = context.getInputData()[0]?.json[MARK];
	if (!isJsonObject(mark) || typeof mark.runs !== 'number') return undefined;
	const until = typeof mark.until === 'number' ? mark.until : undefined;
	return { until, runs: mark.runs, source: mark.source };
}

/** Does what the action is to do, and gives what the node shows while the execution waits. */
export async function suspend(
	context: IExecuteFunctions,
	{ until, runs, source }: Action,
): Promise<INodeExecutionData[][]> {
	const entry = context.getExecuteData();
	putSource(context, source);
	// The engine has set it on the node that all entries share. It would redirect the node's output.
	delete entry.node.rewireOutputLogTo;
	// n8n switches the node of the entry that waited off, so that one must not be shared.
	entry.node = { ...entry.node, alwaysOutputData: false, executeOnce: false, retryOnFail: false };
	// Without input, n8n passes over it.
	entry.data = { ...entry.data, main: [null] };
	if (until === undefined) return [[]];
	const resumesOn = new Date(until);
	await context.putExecutionToWait(resumesOn);
	putBack(context, entry);
	const json = { waiting_for_runs: runs, next_poll_at: resumesOn.toISOString() };
	return [[{ json }]];
}

/**
 * Puts the action's entry on the stack once more, before n8n does. Where n8n saves progress, it does so in
 * between: retried from there, it would switch off the first entry that it finds, the one that is to go on,
 * and give the node's input as its output. Over those of the action n8n passes.
 *
 * After it comes one that has the name of no node in the workflow. n8n's Retry with the saved workflow would
 * give all entries of the node one object, and switch that off; it refuses instead, and says the name.
 */
function putBack(context: IExecuteFunctions, entry: IExecuteData): void {
	const name = `${entry.node.name}, which waits: choose 'Retry with original workflow'`;
	const refusing = {
		...entry,
		node: { ...entry.node, name, disabled: true },
		// n8n tells nobody that it is executed.
		metadata: { ...entry.metadata, nodeWasResumed: true },
	};
	heldBy(context)?.executionData?.nodeExecutionStack.unshift(entry, refusing);
}

/** Where the node's input comes from, to be kept over a suspension. */
export function sourceOf(context: IExecuteFunctions): unknown {
	return deepCopy(context.getExecuteData().source?.main ?? null);
}

/**
 * Puts the source of the node's input back: the engine has put its own in its place. That breaks
 * `$('...').item` behind an If or a loop; and while the execution waits, the node would be its own source,
 * which n8n's Execute Workflow follows for ever when the caller of this workflow goes on.
 */
function putSource(context: IExecuteFunctions, source: unknown): void {
	const main = context.getExecuteData().source?.main;
	// In place: the engine already holds the array for the node's run data.
	if (main && Array.isArray(source)) main.splice(0, main.length, ...(source as typeof main));
}

/** Takes the traces of a suspension from the node's entry, and from what the execution shows of the node. */
export function removeTraces(context: IExecuteFunctions, source: unknown): void {
	const entry = context.getExecuteData();
	putSource(context, source);
	delete entry.metadata?.nodeWasResumed;
	delete entry.metadata?.subNodeExecutionData;
	// n8n appends one for each action, and removes it only where that has put the execution to wait.
	const runs = heldBy(context)?.resultData.runData[context.getNode().name];
	runs?.splice(Number(context.getWorkflowDataProxy(0).$runIndex));
}
