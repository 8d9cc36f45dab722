import type { IDataObject, IExecuteFunctions, INodeProperties } from 'n8n-workflow';

import { succeed, type Result } from '../../api/failure';
import { readNumber } from '../readNumber';

type OnTrouble = 'error' | 'output';

/** How an item's run is waited for, and what becomes of its end. */
export interface WaitOptions {
	/** ms; 0 for no limit. */
	timeoutMs: number;
	/** ms; 0 for automatic. */
	pollIntervalMs: number;
	onUnsuccessfulRun: OnTrouble;
	onTimeout: OnTrouble;
	outputFormat: 'text' | 'json';
	/** Whether n8n may store the execution during long delays. */
	parksLongWaits: boolean;
}

const DEFAULT_TIMEOUT_S = 3_600;
const LONGEST_TIMEOUT_S = 31_536_000;
const LONGEST_POLL_INTERVAL_S = 86_400;

export const whileWaiting = { displayOptions: { show: { '/waitForCompletion': [true] } } };

/** The options of both run operations. Time limit and poll interval appear while waiting is on. */
export const waitOptionFields: INodeProperties[] = [
	{
		displayName: 'If Run Does Not Succeed',
		name: 'onUnsuccessfulRun',
		type: 'options',
		options: [
			{
				name: 'Stop or Continue as Set Under On Error',
				value: 'error',
				description: 'A failed or cancelled run counts as a failed item',
			},
			{
				name: 'Output the Run',
				value: 'output',
				description: 'A failed or cancelled run is output like any other; its status tells',
			},
		],
		default: 'error',
		description: 'What to do when a run failed or was cancelled at the service',
	},
	{
		displayName: 'If Time Limit Is Reached',
		name: 'onTimeout',
		type: 'options',
		options: [
			{
				name: 'Stop or Continue as Set Under On Error',
				value: 'error',
				description: 'A run that is still going counts as a failed item; its ID is in the message',
			},
			{
				name: 'Output the Run',
				value: 'output',
				description: 'A run that is still going is output with its present status',
			},
		],
		default: 'error',
		description:
			'What to do when a run is still going at the time limit. It goes on at the service.',
		...whileWaiting,
	},
	{
		displayName: 'Output Format',
		name: 'outputFormat',
		type: 'options',
		options: [
			{ name: 'JSON', value: 'json', description: "The agent's output is JSON: parse it" },
			{ name: 'Text', value: 'text', description: "The agent's output as it is" },
		],
		default: 'text',
		description: "How to give the agent's output",
	},
	{
		displayName: 'Park Long Waits',
		name: 'parkLongWaits',
		type: 'boolean',
		default: true,
		description:
			'Whether n8n may store the execution while nothing is to be done for 65 seconds or more. It then survives restarts and holds no worker; a sub-workflow looks at the runs.',
		...whileWaiting,
	},
	{
		displayName: 'Poll Interval',
		name: 'pollInterval',
		type: 'number',
		typeOptions: { minValue: 0, maxValue: LONGEST_POLL_INTERVAL_S },
		default: 0,
		description:
			"Seconds between two looks at a run. 0 is automatic: soon at first, then after a fifth of the time waited, so that a run's end is seen at most 20% late.",
		...whileWaiting,
	},
	{
		displayName: 'Time Limit',
		name: 'timeout',
		type: 'number',
		typeOptions: { minValue: 0, maxValue: LONGEST_TIMEOUT_S },
		default: DEFAULT_TIMEOUT_S,
		description: 'Seconds to wait for a run. 0 is no limit.',
		...whileWaiting,
	},
];

/** Reads and checks an item's options. */
export function readWaitOptions(
	context: IExecuteFunctions,
	itemIndex: number,
): Result<WaitOptions> {
	const options = context.getNodeParameter('options', itemIndex, {}) as IDataObject;
	const timeout = readNumber(options.timeout ?? DEFAULT_TIMEOUT_S, 'Time Limit', {
		min: 0,
		max: LONGEST_TIMEOUT_S,
	});
	if (!timeout.ok) return timeout;
	const interval = readNumber(options.pollInterval ?? 0, 'Poll Interval', {
		min: 0,
		max: LONGEST_POLL_INTERVAL_S,
	});
	if (!interval.ok) return interval;
	return succeed({
		timeoutMs: timeout.value * 1_000,
		pollIntervalMs: interval.value * 1_000,
		onUnsuccessfulRun: options.onUnsuccessfulRun === 'output' ? 'output' : 'error',
		onTimeout: options.onTimeout === 'output' ? 'output' : 'error',
		outputFormat: options.outputFormat === 'json' ? 'json' : 'text',
		parksLongWaits: options.parkLongWaits !== false,
	});
}
