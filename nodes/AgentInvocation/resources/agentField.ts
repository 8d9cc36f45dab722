import type { INodeProperties } from 'n8n-workflow';

/** The agent that a run belongs to: chosen from the organization's list, or given by its ID. */
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
			displayName: 'By ID',
			name: 'id',
			type: 'string',
			placeholder: 'e.g. 42',
			validation: [
				{
					type: 'regex',
					properties: {
						regex: '^\\s*[0-9]+\\s*$',
						errorMessage: "'Agent' by ID must be a whole number, such as 42",
					},
				},
			],
		},
	],
};
