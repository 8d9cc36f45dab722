import type { INodeProperties } from 'n8n-workflow';

import type { Operation } from '../items/operation';
import { list, listFields } from './agent/list';
import { create, createFields } from './run/create';
import { get, getFields } from './run/get';

/** By the values of 'Resource' and 'Operation'. */
export const operations = new Map<string, Operation>([
	['agent list', list],
	['run create', create],
	['run get', get],
]);

/** The node's fields. */
export const operationFields: INodeProperties[] = [
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
				description:
					"Start a run of an agent and, if 'Wait for Completion' is on, wait for its result",
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
	...listFields,
	...createFields,
	...getFields,
];
