import {
	NodeConnectionTypes,
	NodeOperationError,
	type EngineResponse,
	type IExecuteFunctions,
	type INodeType,
	type INodeTypeDescription,
	type NodeOutput,
} from 'n8n-workflow';

import { subtitle, waitingTooltip } from './editor/nodeTexts';
import { searchAgents } from './editor/searchAgents';
import { describeParameters } from './editor/describeParameters';
import { getAgentParameters } from './editor/getAgentParameters';
import { carryOut, readAction } from './engine/suspend';
import { asText } from './failure';
import { processItems } from './items/processItems';
import { operationFields, operations } from './operations';
import { shorten } from './wording';

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
		subtitle,
		description: "Run your organization's published agents and use their output",
		defaults: { name: 'Agent Invocation' },
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		usableAsTool: true,
		credentials: [{ name: 'agentInvocationApi', required: true }],
		waitingNodeTooltip: waitingTooltip,
		properties: operationFields,
	};

	methods = {
		listSearch: { searchAgents },
		resourceMapping: { describeParameters, getAgentParameters },
	};

	async execute(this: IExecuteFunctions, response?: EngineResponse): Promise<NodeOutput> {
		const action = readAction(this);
		if (action) return await carryOut(this, action);

		const resource = this.getNodeParameter('resource', 0);
		const operation = asText(this.getNodeParameter('operation', 0));
		const known = operations.get(`${resource} ${operation}`);
		if (known) return await processItems(this, response, known);
		throw new NodeOperationError(
			this.getNode(),
			`The operation '${shorten(operation)}' is not known`,
			{ description: "Choose one in 'Operation'." },
		);
	}
}
