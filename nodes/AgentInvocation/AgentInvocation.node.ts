import {
	NodeConnectionTypes,
	type IExecuteFunctions,
	type INodeExecutionData,
	type INodeType,
	type INodeTypeDescription,
} from 'n8n-workflow';

import { searchAgents } from './listSearch/searchAgents';
import { getAgentParameters } from './resourceMapping/getAgentParameters';
import { agentDescription, agentOperations } from './resources/agent';
import { runDescription, runOperations } from './resources/run';

export class AgentInvocation implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Agent Invocation',
		name: 'agentInvocation',
		icon: {
			light: 'file:../../icons/agentInvocation.svg',
			dark: 'file:../../icons/agentInvocation.dark.svg',
		},
		group: ['transform'],
		version: 1,
		subtitle: '={{ $parameter["operation"] + ": " + $parameter["resource"] }}',
		description: "Run your organization's published agents and use their output",
		defaults: { name: 'Agent Invocation' },
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		usableAsTool: true,
		credentials: [{ name: 'agentInvocationApi', required: true }],
		properties: [
			{
				displayName: 'Resource',
				name: 'resource',
				type: 'options',
				noDataExpression: true,
				options: [
					{ name: 'Agent', value: 'agent' },
					{ name: 'Run', value: 'run' },
				],
				default: 'run',
			},
			...agentDescription,
			...runDescription,
		],
	};

	methods = {
		listSearch: { searchAgents },
		resourceMapping: { getAgentParameters },
	};

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		const operation = this.getNodeParameter('operation', 0);
		switch (operation) {
			case 'list':
				return [await agentOperations.list.call(this)];
			case 'get':
				return [await runOperations.get.call(this)];
			default:
				return [await runOperations.create.call(this)];
		}
	}
}
