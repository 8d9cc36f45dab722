import type { INodeProperties } from 'n8n-workflow';

import { list, listFields } from './list';

export const agentOperations = { list };

export const agentDescription: INodeProperties[] = [
	{
		displayName: 'Operation',
		name: 'operation',
		type: 'options',
		noDataExpression: true,
		displayOptions: { show: { resource: ['agent'] } },
		options: [
			{
				name: 'List',
				value: 'list',
				description:
					'List the published agents of your organization and the parameters they accept',
				action: 'List agents',
			},
		],
		default: 'list',
	},
	...listFields,
];
