import type { INode } from 'n8n-workflow';

import type { WorkflowFile } from '../../hosts/n8n.cts';

/** The credential of a test host, and the name that n8n would give it. */
export const CREDENTIAL_ID = 'sandboxAccount01';
export const CREDENTIAL_NAME = 'Agent Invocation account';

export type NodeFile = Partial<INode> & { name: string };

/** A node of ours with the credential for the sandbox. */
export function agentNode(
	name: string,
	parameters: INode['parameters'],
	more: Partial<INode> = {},
): NodeFile {
	return {
		id: name,
		name,
		type: 'n8n-nodes-agent-invocation.agentInvocation',
		typeVersion: 1,
		position: [600, 0],
		credentials: { agentInvocationApi: { id: CREDENTIAL_ID, name: CREDENTIAL_NAME } },
		parameters,
		...more,
	};
}

/** A node of n8n's own. */
export function n8nNode(
	name: string,
	type: string,
	typeVersion = 1,
	more: Partial<INode> = {},
): NodeFile {
	return {
		id: name,
		name,
		type: `n8n-nodes-base.${type}`,
		typeVersion,
		position: [0, 0],
		parameters: {},
		...more,
	};
}

/** Nodes that a node's outputs lead to, one list of names for each output. */
export type Wires = Record<string, string[][]>;

/**
 * A webhook that takes `{ "rows": [...] }` and gives each row as an item to the node `Rows`, followed by
 * other nodes.
 */
export function webhookWorkflow(
	id: string,
	nodes: NodeFile[],
	wires: Wires,
	responseMode = 'onReceived',
): WorkflowFile {
	const webhook = n8nNode('Webhook', 'webhook', 2, {
		webhookId: id,
		parameters: { httpMethod: 'POST', path: id, responseMode, options: {} },
	});
	const rows = n8nNode('Rows', 'splitOut', 1, {
		parameters: { fieldToSplitOut: 'body.rows', options: { destinationFieldName: 'row' } },
	});
	return workflow(id, [webhook, rows, ...nodes], { Webhook: [['Rows']], ...wires });
}

/**
 * A workflow that is started by hand: code that gives items, then other nodes, one after the other.
 *
 * @param jsCode what n8n's Code node, here `Rows`, runs once for all items
 */
export function manualWorkflow(id: string, jsCode: string, nodes: NodeFile[]): WorkflowFile {
	const rows = n8nNode('Rows', 'code', 2, { parameters: { jsCode } });
	const chain = [n8nNode('Start', 'manualTrigger'), rows, ...nodes];
	const wires = chain.slice(1).map(({ name }, index) => [chain[index]?.name, [[name]]]);
	return workflow(id, chain, Object.fromEntries(wires) as Wires);
}

function workflow(id: string, nodes: NodeFile[], wires: Wires): WorkflowFile {
	const connections = Object.entries(wires).map(([from, outputs]) => [
		from,
		{ main: outputs.map((names) => names.map((node) => ({ node, type: 'main', index: 0 }))) },
	]);
	return {
		id,
		name: id,
		nodes: nodes.map((node, index) => ({
			...node,
			position: [index * 220, 0] as [number, number],
		})),
		connections: Object.fromEntries(connections) as Record<string, unknown>,
		settings: { executionOrder: 'v1' },
	};
}

/** Rows, then `node`, then `Good` after its first and `Bad` after its error output. */
export function rowsWorkflow(id: string, node: NodeFile): WorkflowFile {
	return webhookWorkflow(id, [node, n8nNode('Good', 'noOp'), n8nNode('Bad', 'noOp')], {
		Rows: [[node.name]],
		[node.name]: [['Good'], ['Bad']],
	});
}

/** Rows, each in a turn of its own of Loop Over Items around `node`, then `Good`. */
export function loopWorkflow(id: string, node: NodeFile): WorkflowFile {
	return webhookWorkflow(
		id,
		[n8nNode('Loop', 'splitInBatches', 3), node, n8nNode('Good', 'noOp')],
		{ Rows: [['Loop']], Loop: [['Good'], [node.name]], [node.name]: [['Loop']] },
	);
}

/** Starts a run for each row in `Start`, then waits for all in `Run`, a 'Get a run' with `more`. */
export function collectWorkflow(id: string, more: INode['parameters'] = {}): WorkflowFile {
	const start = agentNode('Start', { ...createForRow, waitForCompletion: false });
	const collect = agentNode('Run', {
		resource: 'run',
		operation: 'get',
		agentId: { __rl: true, mode: 'id', value: '={{ $json.agent_id }}' },
		runId: '={{ $json.run_id }}',
		waitForCompletion: true,
		...more,
	});
	return webhookWorkflow(id, [start, collect, n8nNode('Good', 'noOp')], {
		Rows: [['Start']],
		Start: [['Run']],
		Run: [['Good']],
	});
}

/** Parameters that create a run of the row's agent with the row's values. */
export const createForRow: INode['parameters'] = {
	resource: 'run',
	operation: 'create',
	agentId: { __rl: true, mode: 'id', value: '={{ $json.row.agent }}' },
	specifyParameters: 'json',
	parametersJson: '={{ JSON.stringify($json.row.values ?? {}) }}',
	options: {},
};

/** The workflow, with n8n's 'Save execution progress' on or off. */
export function savingProgress(workflow: WorkflowFile, saves = true): WorkflowFile {
	return { ...workflow, settings: { ...workflow.settings, saveExecutionProgress: saves } };
}

/** n8n's AI Agent with a chat model and nodes of ours as its tools. */
export function toolWorkflow(id: string, credentialId: string, ...tools: NodeFile[]): WorkflowFile {
	const agent = n8nNode('AI Agent', 'agent', 2, {
		type: '@n8n/n8n-nodes-langchain.agent',
		parameters: { promptType: 'define', text: 'Use the tool.', options: {} },
	});
	const model = n8nNode('Model', 'lmChatOpenAi', 1.2, {
		type: '@n8n/n8n-nodes-langchain.lmChatOpenAi',
		credentials: { openAiApi: { id: credentialId, name: credentialId } },
		parameters: { model: { __rl: true, mode: 'id', value: 'test' }, options: {} },
	});
	const workflow = webhookWorkflow(
		id,
		[
			agent,
			model,
			...tools.map((tool) => ({ ...tool, type: `${tool.type}Tool` })),
			n8nNode('Good', 'noOp'),
		],
		{ Rows: [[agent.name]], [agent.name]: [['Good']] },
	);
	const into = (type: string) => ({ [type]: [[{ node: agent.name, type, index: 0 }]] });
	Object.assign(workflow.connections, {
		[model.name]: into('ai_languageModel'),
		...Object.fromEntries(tools.map(({ name }) => [name, into('ai_tool')])),
	});
	return workflow;
}
