import type { INodeProperties } from 'n8n-workflow';

import { agentField } from '../agentField';
import { parameterFields } from './parameterFields';
import { waitOptionFields, whileWaiting } from './waitOptionFields';

/** How many items may have begun and not ended, where the user says. */
export const LARGEST_CONCURRENCY = 1_000;

const displayOptions = { show: { resource: ['run'], operation: ['create'] } };

export const createFields: INodeProperties[] = [
	{ ...agentField, displayOptions },
	...parameterFields,
	{
		displayName: 'Dry Run',
		name: 'dryRun',
		type: 'boolean',
		default: false,
		description: 'Whether to get the compiled prompt and parameters without running the agent',
		displayOptions,
	},
	{
		displayName: 'Wait for Completion',
		name: 'waitForCompletion',
		type: 'boolean',
		default: true,
		description: 'Whether to wait until the run has finished and output its result',
		displayOptions: { show: { ...displayOptions.show, dryRun: [false] } },
	},
	{
		displayName: 'Options',
		name: 'options',
		type: 'collection',
		placeholder: 'Add option',
		default: {},
		options: [
			...waitOptionFields.map((field) => ({ ...field, ...whileWaiting })),
			{
				displayName: 'Max Concurrency',
				name: 'maxConcurrency',
				type: 'number',
				typeOptions: { minValue: 0, maxValue: LARGEST_CONCURRENCY },
				default: 0,
				description:
					'How many input items are worked on at a time. 0 is automatic: of many items, ten begin; once one run has succeeded, or all have gone on for 5 seconds, the others begin as fast as the service takes them.',
			},
			{
				displayName: 'Retry Create on Server Error',
				name: 'retryCreateOnServerError',
				type: 'boolean',
				default: false,
				description:
					'Whether to send a create again after the service answered with a status of 500 or more. The first one may have started a run all the same, so a run can then be started twice.',
			},
		],
		displayOptions,
	},
];
