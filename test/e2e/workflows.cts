import type { INode } from 'n8n-workflow';

import type { WorkflowFile } from '../../hosts/n8n.cts';

export const CREDENTIAL_ID = 'sandboxAccount01';

type NodeFile = Partial<INode> & { name: string };

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
		credentials: { agentInvocationApi: { id: CREDENTIAL_ID, name: 'Sandbox' } },
		parameters,
		...more,
	};
}

/** A webhook that takes `{ "rows": [...] }` and gives each row as an item, then `node`. */
export function rowsWorkflow(id: string, node: NodeFile): WorkflowFile {
	const after = (name: string): NodeFile => ({
		id: name,
		name,
		type: 'n8n-nodes-base.noOp',
		typeVersion: 1,
		position: [800, 0],
		parameters: {},
	});
	return {
		id,
		name: id,
		nodes: [
			{
				id: 'webhook',
				name: 'Webhook',
				type: 'n8n-nodes-base.webhook',
				typeVersion: 2,
				position: [0, 0],
				webhookId: id,
				parameters: { httpMethod: 'POST', path: id, responseMode: 'onReceived', options: {} },
			},
			{
				id: 'rows',
				name: 'Rows',
				type: 'n8n-nodes-base.splitOut',
				typeVersion: 1,
				position: [200, 0],
				parameters: { fieldToSplitOut: 'body.rows', options: { destinationFieldName: 'row' } },
			},
			node,
			after('Good'),
			after('Bad'),
		],
		connections: {
			Webhook: { main: [[{ node: 'Rows', type: 'main', index: 0 }]] },
			Rows: { main: [[{ node: node.name, type: 'main', index: 0 }]] },
			[node.name]: {
				main: [
					[{ node: 'Good', type: 'main', index: 0 }],
					[{ node: 'Bad', type: 'main', index: 0 }],
				],
			},
		},
		settings: { executionOrder: 'v1' },
	};
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
