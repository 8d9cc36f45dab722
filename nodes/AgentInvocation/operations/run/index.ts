import type { INodeProperties } from 'n8n-workflow';

import { create, createFields } from './create';
import { get, getFields } from './get';

export const runOperations = { create, get };

export const runDescription: INodeProperties[] = [
	{
		displayName: 'Operation',
		name: 'operation',
		type: 'options',
		noDataExpression: true,
		displayOptions: { show: { resource: ['run'] } },
		options: [
			{
				name: 'Create',
				value: 'create',
				description: 'Start a run of an agent and, unless told otherwise, wait for its result',
				action: 'Create a run',
			},
			{
				name: 'Get',
				value: 'get',
				description: 'Get the status and result of a run that was started before',
				action: 'Get a run',
			},
		],
		default: 'create',
	},
	...createFields,
	...getFields,
];
