import type { INodeProperties } from 'n8n-workflow';

/** The agent that a run belongs to: chosen from the organization's list, or given by its name or its ID. */
export const agentField: INodeProperties = {
	displayName: 'Agent',
	name: 'agentId',
	type: 'resourceLocator',
	default: { mode: 'list', value: '' },
	required: true,
	description: 'The published agent',
	modes: [
		{
			displayName: 'From List',
			name: 'list',
			type: 'list',
			placeholder: 'Select an agent...',
			typeOptions: { searchListMethod: 'searchAgents', searchable: true },
		},
		{
			displayName: 'By Name',
			name: 'name',
			type: 'string',
			placeholder: 'e.g. Regional report',
			hint: 'Looked up when the node runs. Not case-sensitive.',
		},
		{
			// The operations check the ID, not n8n: on a busy machine, its check by a regex runs out of time and
			// ends the execution (docs/n8n.md, The editor).
			displayName: 'By ID',
			name: 'id',
			type: 'string',
			placeholder: 'e.g. 42',
		},
	],
};
