import '../../engineSettings.cts';

import { WorkflowExecute } from 'n8n-core';
import {
	Workflow,
	type EngineRequest,
	type EngineResponse,
	type IExecuteData,
	type INode,
	type INodeExecutionData,
	type INodeType,
	type IRun,
	type IRunExecutionData,
	type IRunNodeResponse,
	type IWorkflowExecuteAdditionalData,
	type WorkflowExecuteMode,
} from 'n8n-workflow';

import { tagOf, type Attempt } from './history.cts';
import { contextFor } from './nodeContext.cts';
import type { Process } from './process.cts';
import type { ExecutionSpec } from './world.cts';

export const NODE = 'Run';
const SOURCE = 'Loop';
const TRIGGER = 'Trigger';

/** A part of n8n's engine that it does not show: what it does with a node that is to work. */
interface Inside {
	executeNode(
		workflow: Workflow,
		node: INode,
		type: INodeType,
		customOperation: undefined,
		additionalData: IWorkflowExecuteAdditionalData,
		mode: WorkflowExecuteMode,
		data: IRunExecutionData,
		runIndex: number,
		connectionInputData: INodeExecutionData[],
		input: Record<string, INodeExecutionData[][]>,
		entry: IExecuteData,
		cancel: AbortSignal,
		response?: EngineResponse,
	): Promise<IRunNodeResponse | EngineRequest>;
}

/** An execution in n8n's own engine. Only the nodes in it, and what they are handed, are made up. */
export interface EngineRun {
	process: Process;
	attempt: Attempt;
	spec: ExecutionSpec;
	mode: WorkflowExecuteMode;
	/** What n8n had stored; absent at the beginning. */
	data?: IRunExecutionData;
	runIds(turn: number): string[];
	/** What n8n stores while the execution goes on. */
	onProgress(data: IRunExecutionData): void;
}

/** The node as the workflow has it. */
export function nodeOf({ onError, maxTries, waitBetweenMs }: ExecutionSpec): INode {
	return {
		id: 'run',
		name: NODE,
		type: 'n8n-nodes-agent-invocation.agentInvocation',
		typeVersion: 1,
		position: [0, 0],
		parameters: {},
		onError,
		...(maxTries > 0 && { retryOnFail: true, maxTries, waitBetweenTries: waitBetweenMs }),
	};
}

/** Ours has one output, and n8n adds that of errors; a loop has two. */
function typeOf(name: string): INodeType {
	const outputs = name === 'test' ? ['main', 'main'] : ['main'];
	return {
		description: { properties: [], inputs: ['main'], outputs },
		execute: () => Promise.resolve([]),
	} as unknown as INodeType;
}

/** The workflow: a trigger, a loop of so many turns, and in it the node. */
export function workflowOf(spec: ExecutionSpec): Workflow {
	const plain = (name: string): INode => ({
		id: name,
		name,
		type: 'test',
		typeVersion: 1,
		position: [0, 0],
		parameters: {},
	});
	const to = (node: string) => [{ node, type: 'main' as const, index: 0 }];
	const nodes = [plain(TRIGGER), plain(SOURCE), nodeOf(spec)];
	return new Workflow({
		id: 'workflow',
		active: false,
		nodes,
		connections: {
			[TRIGGER]: { main: [to(SOURCE)] },
			// The second output goes round, as that of n8n's own Loop node does.
			[SOURCE]: { main: [[], to(NODE)] },
			...(spec.turns > 1 && { [NODE]: { main: [to(SOURCE), to(SOURCE)] } }),
		},
		nodeTypes: {
			getByName: typeOf,
			getByNameAndVersion: typeOf,
			getKnownTypes: () => ({}),
		},
		settings: { executionOrder: 'v1' },
	});
}

/**
 * What n8n stores of an execution when it begins. Its Retry has the date of the first one.
 *
 * @param date of the beginning, in ms since the epoch
 */
export function atFirst(workflow: Workflow, date: number): IRunExecutionData {
	return {
		version: 1,
		startData: {},
		resultData: { runData: {} },
		executionData: {
			contextData: {},
			runtimeData: { version: 1, establishedAt: date, source: 'trigger' },
			nodeExecutionStack: [
				{ node: workflow.getNode(TRIGGER)!, data: { main: [[{ json: {} }]] }, source: null },
			],
			metadata: {},
			waitingExecution: {},
			waitingExecutionSource: {},
		},
	} as unknown as IRunExecutionData;
}

/** Begins an execution, or goes on with one. */
export function runEngine(
	run: EngineRun,
	workflow: Workflow,
	data: IRunExecutionData,
): { result: Promise<IRun>; cancel: () => void } {
	const { process, attempt } = run;
	const endsOn = endOf(run.spec, process);
	const hooks = {
		runHook(name: string, given: unknown[]) {
			if (name === 'nodeExecuteAfter' && run.spec.savesProgress) {
				const [lastNodeExecuted, , current] = given as [string, object, IRunExecutionData];
				current.resultData.lastNodeExecuted = lastNodeExecuted;
				run.onProgress(current);
			}
			return Promise.resolve();
		},
	};
	const additionalData = {
		hooks,
		currentNodeExecutionIndex: 0,
		executionId: attempt.id,
		restartExecutionId: attempt.id,
		variables: {},
	} as unknown as IWorkflowExecuteAdditionalData;
	const engine = new WorkflowExecute(additionalData, run.mode, data);
	(engine as unknown as Inside).executeNode = async (...given) =>
		await executeNode({ ...run, endsOn }, given);
	process.host.clock.owner = process;
	const result = engine.processRunExecutionData(workflow);
	return { result, cancel: () => result.cancel() };
}

/** When n8n says that it ends an execution that it now begins, or goes on with; undefined for never. */
export function endOf({ workflowTimeoutS }: ExecutionSpec, { host }: Process): number | undefined {
	return workflowTimeoutS > 0 ? host.clock.date + workflowTimeoutS * 1_000 : undefined;
}

async function executeNode(
	run: EngineRun & { endsOn: number | undefined },
	given: Parameters<Inside['executeNode']>,
): Promise<IRunNodeResponse | EngineRequest> {
	const [, node, , , , mode, data, runIndex, , input, entry, cancel, response] = given;
	const { spec, attempt, process } = run;
	if (node.name === TRIGGER) return { data: [[{ json: {} }]] };
	if (node.name === SOURCE) {
		if (runIndex >= spec.turns) return { data: [[{ json: {} }], []] };
		const items = Array.from({ length: spec.items.length }, (_, item) => ({
			json: { tag: tagOf(attempt.index, runIndex, item) },
			pairedItem: { item: 0 },
		}));
		return { data: [[], items] };
	}
	const items = input.main?.[0] ?? [];
	const tag = items[0]?.json.tag;
	const turn = typeof tag === 'string' ? Number(tag.split(/\D/).filter(Boolean)[1]) : runIndex;
	const { clock } = process.host;
	attempt.calls.push({ at: clock.now, turn });
	const context = contextFor({
		process,
		attempt,
		spec,
		turn,
		runIndex,
		mode,
		node,
		entry,
		items,
		data,
		cancel,
		endsOn: run.endsOn,
		runIds: run.runIds(turn),
	});
	try {
		const output = await process.code.execute.call(
			context,
			spec.host === 'oldHost' ? undefined : response,
		);
		if (!process.isAlive()) return await new Promise<never>(() => {});
		if ('actions' in output) return output;
		// Parking does not end the node's work.
		if (!data.waitTill) attempt.endings.set(turn, { at: clock.now, outputs: output });
		return { data: output };
	} catch (thrown) {
		if (!process.isAlive()) return await new Promise<never>(() => {});
		attempt.endings.set(turn, { at: clock.now, error: thrown as Error });
		throw thrown;
	}
}
