import {
	NodeConnectionTypes,
	NodeOperationError,
	type EngineResponse,
	type IExecuteFunctions,
	type INodeType,
	type INodeTypeDescription,
	type NodeOutput,
} from 'n8n-workflow';

import { searchAgents } from './editor/searchAgents';
import { describeParameters } from './editor/describeParameters';
import { getAgentParameters } from './editor/getAgentParameters';
import { readAction, suspend } from './engine/suspend';
import { agentDescription, agentOperations } from './operations/agent';
import type { Operation } from './items/operation';
import { processItems } from './items/processItems';
import { runDescription, runOperations } from './operations/run';
import { waitingTooltip } from './editor/waitingTooltip';

const resources: Record<string, Record<string, Operation>> = {
	agent: agentOperations,
	run: runOperations,
};

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
		// 'Regional report', since n8n names the node by its operation. `$parameter.agentId` gives the ID alone,
		// `toJSON` all that is stored, and so the name of the list's entry.
		subtitle:
			'={{ $parameter["resource"] === "agent" ? ($parameter["returnAll"] ? "all agents" : "up to " + $parameter["limit"] + " agents") : [$parameter["dryRun"] ? "dry run" : "", (({ mode, value, cachedResultName }) => mode === "list" ? (cachedResultName ?? "").split(" — ")[0] : !value || String(value).startsWith("=") ? "" : mode === "id" ? "agent " + value : value)($parameter.toJSON?.().agentId ?? {})].filter(Boolean).join(": ") || $parameter["operation"] + " run" }}',
		description: "Run your organization's published agents and use their output",
		defaults: { name: 'Agent Invocation' },
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		usableAsTool: true,
		credentials: [{ name: 'agentInvocationApi', required: true }],
		waitingNodeTooltip: waitingTooltip,
		hints: [
			{
				message:
					"These runs go on at the service. To get a result later, use 'Get a run' with the agent_id and run_id of its item.",
				displayCondition:
					'={{ $parameter["operation"] === "create" && $parameter["waitForCompletion"] === false && !$parameter["dryRun"] }}',
				whenToDisplay: 'afterExecution',
				location: 'outputPane',
			},
			{
				message: 'Dry run: nothing was started. This is what the service would have worked with.',
				displayCondition:
					'={{ $parameter["operation"] === "create" && $parameter["dryRun"] === true }}',
				whenToDisplay: 'afterExecution',
				location: 'outputPane',
			},
		],
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
		resourceMapping: { describeParameters, getAgentParameters },
	};

	async execute(this: IExecuteFunctions, response?: EngineResponse): Promise<NodeOutput> {
		const action = readAction(this);
		if (action) return await suspend(this, action);

		const resource = this.getNodeParameter('resource', 0);
		const operation = this.getNodeParameter('operation', 0);
		const operations = new Map(Object.entries(resources[resource] ?? {}));
		const known = operations.get(operation);
		if (known) return await processItems(this, response, known);
		throw new NodeOperationError(this.getNode(), `The operation '${operation}' is not known`, {
			description: "Choose one in 'Operation'.",
		});
	}
}
