import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';

import { readNumber } from '../readNumber';
import { succeed, type Result } from '../result';

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
	/** In memory first and then stored, stored from the start, or in memory only. */
	whereToWait: 'auto' | 'stored' | 'memory';
}

export const DEFAULT_TIMEOUT_S = 3_600;
export const TIMEOUT_RANGE_S = { minValue: 0, maxValue: 31_536_000 };
export const POLL_INTERVAL_RANGE_S = { minValue: 0, maxValue: 86_400 };

/** Reads and checks an item's options. */
export function readWaitOptions(
	context: IExecuteFunctions,
	itemIndex: number,
): Result<WaitOptions> {
	const options = context.getNodeParameter('options', itemIndex, {}) as IDataObject;
	const { whereToWait } = options;
	const timeout = readNumber(
		options.timeout ?? DEFAULT_TIMEOUT_S,
		'Time Limit (Seconds)',
		TIMEOUT_RANGE_S,
	);
	if (!timeout.ok) return timeout;
	const interval = readNumber(
		options.pollInterval ?? 0,
		'Poll Interval (Seconds)',
		POLL_INTERVAL_RANGE_S,
	);
	if (!interval.ok) return interval;
	return succeed({
		timeoutMs: timeout.value * 1_000,
		pollIntervalMs: interval.value * 1_000,
		onUnsuccessfulRun: options.onUnsuccessfulRun === 'output' ? 'output' : 'error',
		onTimeout: options.onTimeout === 'output' ? 'output' : 'error',
		outputFormat: options.outputFormat === 'json' ? 'json' : 'text',
		whereToWait: whereToWait === 'stored' || whereToWait === 'memory' ? whereToWait : 'auto',
	});
}
