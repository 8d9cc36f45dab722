import {
	deepCopy,
	type EngineRequest,
	type IExecuteData,
	type IExecuteFunctions,
	type INodeExecutionData,
} from 'n8n-workflow';

import { executionInMemory } from './host';
import { isJsonObject } from '../service/types';

/**
 * The node suspends itself: it asks n8n's engine to run it once more, as an action, and then to run it again.
 * The action parks the execution, which is n8n's own way to wait. On resume n8n passes over the action and runs
 * the node, which goes on from its memory. Without a date the action only makes n8n store the execution, if it
 * saves progress: a checkpoint. (docs/n8n.md, Parking)
 */

/** The key of the action's input. No item has it. */
const MARK = 'agentInvocationSuspension';

/** A suspension: the node hands control to the engine, and gets it back later. */
export interface Suspension {
	/** When n8n is to resume a parked execution, in ms since the epoch; absent for a checkpoint. */
	resumesOn?: number;
	/** Where the node's input came from, which the engine overwrites. */
	source: unknown;
	/** When it began, in ms since the epoch. */
	beganOn: number;
	/** Whether the node was to start runs. */
	startsRuns: boolean;
	/** Whether the node was to be retried on failure. */
	retriesOnFail: boolean;
	/** How many items the node has. */
	count: number;
	/** How many early checkpoints in a row were made, each before all of the first items had begun; absent otherwise. */
	earlyCheckpoints?: number;
	/** The hints for the output panel so far. */
	hints: string[];
}

/** What the action is to do. */
interface Action extends Pick<Suspension, 'resumesOn' | 'source'> {
	/** How many runs are waited for. */
	runs: number;
}

/** Asks the engine for a suspension. All that the node needs to go on must be in its memory by now. */
export function requestSuspension(context: IExecuteFunctions, action: Action): EngineRequest {
	// An execution that n8n retries may still hold its old error, which the engine would take for the action's.
	delete executionInMemory(context)?.resultData.error;
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

/** The action, if the engine runs this pass of the node as one; otherwise undefined. */
export function readAction(context: IExecuteFunctions): Action | undefined {
	if (context.getExecuteData().node.rewireOutputLogTo !== 'main') return undefined;
	const mark = context.getInputData()[0]?.json[MARK];
	if (!isJsonObject(mark) || typeof mark.runs !== 'number') return undefined;
	const resumesOn = typeof mark.resumesOn === 'number' ? mark.resumesOn : undefined;
	return { resumesOn, runs: mark.runs, source: mark.source };
}

/** Carries out the action. Its output is what n8n shows of the node while the execution waits. */
export async function carryOut(
	context: IExecuteFunctions,
	{ resumesOn, runs, source }: Action,
): Promise<INodeExecutionData[][]> {
	const entry = context.getExecuteData();
	restoreSource(context, source);
	// The engine has set this on the node object that all entries share. It would redirect the node's output.
	delete entry.node.rewireOutputLogTo;
	// On resume, n8n switches off the node of this entry, so the entry needs a node object of its own.
	entry.node = { ...entry.node, alwaysOutputData: false, executeOnce: false, retryOnFail: false };
	// On resume, n8n passes over an entry without input.
	entry.data = { ...entry.data, main: [null] };
	if (resumesOn === undefined) return [[]];
	const date = new Date(resumesOn);
	await context.putExecutionToWait(date);
	stackEntry(context, entry);
	const json = { waiting_for_runs: runs, next_poll_at: date.toISOString() };
	return [[{ json }]];
}

/**
 * Puts the action's entry on the stack before n8n does so itself. n8n may save progress in between. A Retry from that
 * save would find only the entry with which the node goes on, switch it off, and output the node's input. On resume, n8n
 * passes over the action's entries, however many there are.
 *
 * Behind it goes an entry whose node is not in the workflow. Without that, n8n's 'Retry with currently saved
 * workflow' would give all entries of the node the same node object, and switch it off. With it, n8n refuses,
 * and its message shows the name, which says what to choose instead.
 */
function stackEntry(context: IExecuteFunctions, entry: IExecuteData): void {
	const name = `${entry.node.name}, which waits: choose 'Retry with original workflow'`;
	const refusing = {
		...entry,
		node: { ...entry.node, name, disabled: true },
		// With this, n8n does not announce that the entry is executed.
		metadata: { ...entry.metadata, nodeWasResumed: true },
	};
	executionInMemory(context)?.executionData?.nodeExecutionStack.unshift(entry, refusing);
}

/** Where the node's input comes from, to be put back after a suspension. */
export function sourceOf(context: IExecuteFunctions): unknown {
	return deepCopy(context.getExecuteData().source?.main ?? null);
}

/**
 * Puts back where the node's input comes from, which the engine has overwritten. Its own entry would break
 * `$('...').item` behind an If or a loop. And while the execution waits, the node would be its own source,
 * which n8n's Execute Workflow follows endlessly when this workflow's caller goes on.
 */
function restoreSource(context: IExecuteFunctions, source: unknown): void {
	const main = context.getExecuteData().source?.main;
	// In place, since the engine already holds this array for the node's run data.
	if (main && Array.isArray(source)) main.splice(0, main.length, ...(source as typeof main));
}

/** Removes the traces of a suspension from the node's entry and from its run data. */
export function removeTraces(context: IExecuteFunctions, source: unknown): void {
	const entry = context.getExecuteData();
	restoreSource(context, source);
	delete entry.metadata?.nodeWasResumed;
	delete entry.metadata?.subNodeExecutionData;
	// n8n appends a run-data entry for each action, and removes it only when it resumes a parked execution.
	const runs = executionInMemory(context)?.resultData.runData[context.getNode().name];
	runs?.splice(Number(context.getWorkflowDataProxy(0).$runIndex));
}
