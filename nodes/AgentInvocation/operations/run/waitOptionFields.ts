import type { INodeProperties } from 'n8n-workflow';

import { DEFAULT_TIMEOUT_S, POLL_INTERVAL_FIELD_S, TIMEOUT_RANGE_S } from '../../waiting/options';

export const waitForCompletion: INodeProperties = {
	displayName: 'Wait for Completion',
	name: 'waitForCompletion',
	type: 'boolean',
	default: true,
	description:
		'Whether to wait until the run has finished, up to the time limit (an hour unless changed), and output its result',
};

export const whileWaiting = { displayOptions: { show: { '/waitForCompletion': [true] } } };

/** The options of both run operations. Those of the wait itself appear while waiting is on. */
export const waitOptionFields: INodeProperties[] = [
	{
		displayName: 'If Run Does Not Succeed',
		name: 'onUnsuccessfulRun',
		type: 'options',
		options: [
			{
				name: 'Fail the Item',
				value: 'error',
				description:
					"A failed or cancelled run fails its item, and the node does what is set under 'On Error'",
			},
			{
				name: 'Output the Run',
				value: 'output',
				description:
					'A failed or cancelled run is output like any other; its status says how it ended',
			},
		],
		default: 'error',
	},
	{
		displayName: 'If Time Limit Is Reached',
		name: 'onTimeout',
		type: 'options',
		options: [
			{
				name: 'Fail the Item',
				value: 'error',
				description: "A run that has not finished fails its item, whose error has the run's ID",
			},
			{
				name: 'Output the Run',
				value: 'output',
				description: 'A run that has not finished is output with its current status',
			},
		],
		default: 'error',
		description:
			'What to do when a run has not finished at the time limit. It continues at the service.',
		...whileWaiting,
	},
	{
		displayName: 'Output Format',
		name: 'outputFormat',
		type: 'options',
		options: [
			{
				name: 'JSON',
				value: 'json',
				description: "Parses the agent's output: JSON, or one Markdown code block with JSON",
			},
			{ name: 'Text', value: 'text', description: "The agent's output as it is" },
		],
		default: 'text',
	},
	{
		displayName: 'Poll Interval (Seconds)',
		name: 'pollInterval',
		type: 'number',
		typeOptions: POLL_INTERVAL_FIELD_S,
		default: 0,
		description:
			"Time between two polls of a run, at least 1. 0 is automatic: the node polls when the agent's runs usually end, and more rarely the longer a run takes.",
		...whileWaiting,
	},
	{
		displayName: 'Time Limit (Seconds)',
		name: 'timeout',
		type: 'number',
		typeOptions: TIMEOUT_RANGE_S,
		default: DEFAULT_TIMEOUT_S,
		description: 'How long to wait for a run: 3600 is an hour, 0 is no limit',
		...whileWaiting,
	},
	{
		displayName: 'Where to Wait',
		name: 'whereToWait',
		type: 'options',
		options: [
			{
				name: 'In Memory First, Then Stored',
				value: 'auto',
				description:
					'After a few minutes, n8n stores the wait, which then survives restarts and occupies no worker',
			},
			{
				name: 'In Memory Only',
				value: 'memory',
				description: 'A restart of n8n ends the wait; the runs continue at the service',
			},
			{
				name: 'Stored From the Start',
				value: 'stored',
				description: 'Waits survive restarts of n8n; polls are at least 65 seconds apart',
			},
		],
		default: 'auto',
		...whileWaiting,
	},
];
