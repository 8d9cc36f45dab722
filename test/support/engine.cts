import './engineSettings.cts';

import { parse, stringify } from 'flatted';
import {
	ExecuteContext,
	ExecutionLifecycleHooks,
	LoadOptionsContext,
	WorkflowExecute,
} from 'n8n-core';
import type {
	ICredentialDataDecryptedObject,
	ICredentialsHelper,
	IDataObject,
	IHttpRequestOptions,
	ILoadOptionsFunctions,
	INode,
	INodeExecutionData,
	INodeParameters,
	INodeType,
	IRun,
	IRunExecutionData,
	IWorkflowExecuteAdditionalData,
	WorkflowExecuteMode,
} from 'n8n-workflow';
import { createEmptyRunExecutionData, NodeConnectionTypes, Workflow } from 'n8n-workflow';

import { AgentInvocationApi } from '../../credentials/AgentInvocationApi.credentials.ts';
import { AgentInvocation } from '../../nodes/AgentInvocation/AgentInvocation.node.ts';
import type { Item } from '../../nodes/AgentInvocation/item.ts';

const NODE = 'n8n-nodes-agent-invocation.agentInvocation';
const NAME = 'Agent Invocation';
const SOURCE = 'Source';

/** A workflow of two nodes in the real engine: one that gives the items, and ours. */
export interface Execution {
	credential: { baseUrl: string; apiKey: string };
	parameters: INodeParameters;
	/** The json of the input items; one empty item when absent. */
	items?: IDataObject[];
	/** The json of items on the source's first output, which lead nowhere; the input is its second then. */
	aside?: IDataObject[];
	/** Whether the workflow still has a connection from a node that was deleted to ours. */
	hasGhost?: boolean;
	/** Settings of the node itself: onError, retryOnFail and so on. */
	node?: Partial<INode>;
	/** Cancels the execution once this is so. */
	cancelWhen?: () => boolean;
	/** Called with what n8n stores after each node where it saves progress. */
	onProgress?: (data: IRunExecutionData) => void;
}

/** What became of our node, and how often it was tried. */
export interface Outcome {
	run: IRun;
	/** The items of the first output. */
	output: INodeExecutionData[];
	/** The items of the error output. */
	errors: INodeExecutionData[];
	/** The error that ended the node. */
	error?: IDataObject & { message: string; description: string; context: IDataObject };
}

/** Runs our node in n8n-core's engine, with the real request helper, over real HTTP. */
export async function execute(execution: Execution): Promise<Outcome> {
	const workflow = makeWorkflow(execution);
	const running = new WorkflowExecute(makeAdditionalData(execution), 'trigger').run({
		workflow,
		startNode: workflow.getNode(SOURCE)!,
	});
	const timer = setInterval(() => {
		if (execution.cancelWhen?.()) running.cancel();
	}, 20);
	return outcomeOf(await running.finally(() => clearInterval(timer)));
}

/** An execution that n8n has stored goes on, and ends before its first node, as when n8n itself is not ready yet. */
export async function resumeTooEarly(
	execution: Execution,
	data: IRunExecutionData,
): Promise<Outcome> {
	const additionalData = { ...makeAdditionalData(execution), restartExecutionId: '1' };
	additionalData.hooks!.addHandler('workflowExecuteResume', () => {
		throw new Error('OTel settings not yet initialized');
	});
	return await goOn(execution, additionalData, 'trigger', stored(data));
}

/** What n8n has of an execution that was stopped, where it has stored nothing since its start. */
export function stoppedAtItsStart(execution: Execution): IRunExecutionData {
	const node = makeWorkflow(execution).getNode(SOURCE)!;
	const data = {
		startData: {},
		resultData: {
			runData: {},
			error: { message: 'The execution was cancelled manually', stack: '' },
		},
		executionData: {
			contextData: {},
			nodeExecutionStack: [{ node, data: { main: [[{ json: {} }]] }, source: null }],
			metadata: {},
			waitingExecution: {},
			waitingExecutionSource: {},
		},
	};
	return data as unknown as IRunExecutionData;
}

/** What n8n's Retry with the original workflow makes of an execution that has waited, once its waits are due. */
export async function retry(execution: Execution, before: IRunExecutionData): Promise<Outcome> {
	const data = onceDue(before);
	if (data.resultData.lastNodeExecuted) delete data.resultData.error;
	const additionalData = { ...makeAdditionalData(execution), executionId: '2' };
	return await goOn(execution, additionalData, 'retry', data);
}

/**
 * An execution that waits goes on, once its waits are due.
 *
 * @param executionId the execution's; another one for its Retry
 */
export async function resume(
	execution: Execution,
	before: IRunExecutionData,
	executionId = '1',
): Promise<Outcome> {
	const ids = { executionId, restartExecutionId: executionId };
	const additionalData = { ...makeAdditionalData(execution), ...ids };
	return await goOn(execution, additionalData, 'trigger', onceDue(before));
}

/** What n8n has stored, at a time at which all that the node waits for is due. */
function onceDue(before: IRunExecutionData): IRunExecutionData {
	const data = stored(before);
	const { agentInvocation } = (data.executionData!.contextData[`node:${NAME}`] ?? {}) as {
		agentInvocation?: { byRunIndex: Record<string, { items: Record<string, Item> }> };
	};
	for (const { items } of Object.values(agentInvocation?.byRunIndex ?? {})) {
		for (const item of Object.values(items)) {
			if (item.is === 'waiting') item.wait.dueOn = 0;
		}
	}
	return data;
}

/** As n8n stores it and reads it again. */
function stored(data: IRunExecutionData): IRunExecutionData {
	return parse(stringify(data)) as IRunExecutionData;
}

async function goOn(
	execution: Execution,
	additionalData: IWorkflowExecuteAdditionalData,
	mode: WorkflowExecuteMode,
	data: IRunExecutionData,
): Promise<Outcome> {
	const execute = new WorkflowExecute(additionalData, mode, data);
	return outcomeOf(await execute.processRunExecutionData(makeWorkflow(execution)));
}

function makeWorkflow(execution: Execution): Workflow {
	const { items = [{}], aside, hasGhost = false } = execution;
	const node = makeNode(execution);
	const toNode = { node: node.name, type: NodeConnectionTypes.Main, index: 0 };
	const source: INode = {
		id: 'source',
		name: SOURCE,
		type: 'test.items',
		typeVersion: 1,
		position: [0, 0],
		parameters: { outputs: JSON.stringify(aside ? [aside, items] : [items]) },
	};
	return new Workflow({
		id: 'workflow',
		name: 'Test',
		active: false,
		nodes: [source, node],
		connections: {
			[source.name]: {
				main: [...(aside ? [[]] : []), [toNode]],
			},
			...(hasGhost && { Deleted: { main: [[toNode]] } }),
		},
		nodeTypes,
		settings: { executionOrder: 'v1' },
	});
}

/** Runs our node alone, without an execution, as n8n's own agents do. */
export async function executeAlone(execution: Execution): Promise<INodeExecutionData[][]> {
	const node = makeNode(execution);
	const workflow = new Workflow({ nodes: [node], connections: {}, active: false, nodeTypes });
	const additionalData = { ...makeAdditionalData(execution), executionId: undefined };
	const items = (execution.items ?? [{}]).map((json) => ({ json }));
	const main = { main: [items] };
	const context = new ExecuteContext(
		workflow,
		node,
		additionalData,
		'internal',
		createEmptyRunExecutionData(),
		0,
		items,
		main,
		{ node, data: main, source: null },
		[],
	);
	return (await new AgentInvocation().execute.call(context)) as INodeExecutionData[][];
}

function outcomeOf(run: IRun): Outcome {
	// On n8n 1 the entry of a checkpoint comes before that of a failure.
	const task = run.data.resultData.runData[NAME]?.at(-1);
	const [output, errors] = task?.data?.main ?? [];
	return {
		run,
		output: output ?? [],
		errors: errors ?? [],
		...(task?.error && { error: task.error as unknown as NonNullable<Outcome['error']> }),
	};
}

/** The context in which the editor loads lists and fields for our node. */
export function loadOptionsContext(execution: Execution): ILoadOptionsFunctions {
	const node = makeNode(execution);
	const workflow = new Workflow({
		id: 'workflow',
		active: false,
		nodes: [node],
		connections: {},
		nodeTypes,
	});
	return new LoadOptionsContext(workflow, node, makeAdditionalData(execution), '');
}

function makeNode({ parameters, node }: Execution): INode {
	return {
		id: 'agent',
		name: NAME,
		type: NODE,
		typeVersion: 1,
		position: [200, 0],
		credentials: { agentInvocationApi: { id: '1', name: 'Sandbox' } },
		...node,
		parameters,
	};
}

const items: INodeType = {
	description: {
		displayName: 'Items',
		name: 'items',
		group: ['input'],
		version: 1,
		description: 'Gives items',
		defaults: { name: 'Items' },
		inputs: [],
		outputs: [NodeConnectionTypes.Main, NodeConnectionTypes.Main],
		properties: [{ displayName: 'Outputs', name: 'outputs', type: 'string', default: '' }],
	},
	execute() {
		const outputs = JSON.parse(this.getNodeParameter('outputs', 0) as string) as IDataObject[][];
		return Promise.resolve(
			outputs.map((output) =>
				output.map((item, index) => ({ json: item, pairedItem: { item: index } })),
			),
		);
	},
};

const types: Record<string, INodeType> = {
	'test.items': items,
	[NODE]: new AgentInvocation(),
	[`${NODE}Tool`]: new AgentInvocation(),
};

const nodeTypes = {
	getByName: (name: string) => types[name]!,
	getByNameAndVersion: (name: string) => types[name]!,
	getKnownTypes: () => ({}),
};

function makeAdditionalData({ credential, onProgress }: Execution): IWorkflowExecuteAdditionalData {
	const hooks = new ExecutionLifecycleHooks('trigger', '1', {
		id: 'workflow',
		name: 'Test',
		active: false,
		isArchived: false,
		createdAt: new Date(),
		updatedAt: new Date(),
		nodes: [],
		connections: {},
		activeVersionId: null,
	});
	if (onProgress) {
		hooks.addHandler('nodeExecuteAfter', (name, _, data) => {
			data.resultData.lastNodeExecuted = name;
			onProgress(stored(data));
		});
	}
	const url = 'http://127.0.0.1/';
	const data: Partial<IWorkflowExecuteAdditionalData> & { hooks: ExecutionLifecycleHooks } = {
		credentialsHelper: credentialsHelper(credential),
		currentNodeExecutionIndex: 0,
		executionId: '1',
		restApiUrl: url,
		instanceBaseUrl: url,
		formBaseUrl: url,
		formWaitingBaseUrl: url,
		formTestBaseUrl: url,
		webhookBaseUrl: url,
		webhookWaitingBaseUrl: url,
		webhookTestBaseUrl: url,
		variables: {},
		hooks,
	};
	return data as IWorkflowExecuteAdditionalData;
}

function credentialsHelper(credential: ICredentialDataDecryptedObject): ICredentialsHelper {
	const type = new AgentInvocationApi();
	const helper: Partial<ICredentialsHelper> = {
		getParentTypes: () => [],
		isCredentialUsableByNode: () => true,
		getDecrypted: () => Promise.resolve({ ...credential }),
		preAuthentication: () => Promise.resolve(undefined),
		authenticate: async (credentials, _type, options) =>
			await type.authenticate(credentials, options as IHttpRequestOptions),
	};
	return helper as ICredentialsHelper;
}
