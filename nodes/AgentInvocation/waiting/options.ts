import type { IExecuteFunctions } from 'n8n-workflow';

import { readChoice, readNumber, readOptions } from '../readValue';
import { succeed, type Result } from '../result';

const ON_TROUBLE = ['error', 'output'] as const;
const OUTPUT_FORMATS = ['text', 'json'] as const;
const PLACES = ['auto', 'stored', 'memory'] as const;

/** How an item's run is waited for, and what becomes of its end. */
export interface WaitOptions {
	/** ms; 0 for no limit. */
	timeoutMs: number;
	/** ms; 0 for automatic. */
	pollIntervalMs: number;
	onUnsuccessfulRun: (typeof ON_TROUBLE)[number];
	onTimeout: (typeof ON_TROUBLE)[number];
	outputFormat: (typeof OUTPUT_FORMATS)[number];
	/** In memory first and then stored, stored from the start, or in memory only. */
	whereToWait: (typeof PLACES)[number];
}

export const DEFAULT_TIMEOUT_S = 3_600;
export const TIMEOUT_RANGE_S = { minValue: 0, maxValue: 31_536_000 };
/** 0 is automatic, and anything between it and a second would flood the service. */
const POLL_INTERVAL_RANGE_S = { minValue: 1, maxValue: 86_400, orZero: true };
/** The same for the editor, which knows no gaps. */
export const POLL_INTERVAL_FIELD_S = { ...POLL_INTERVAL_RANGE_S, minValue: 0 };

/** Reads and checks an item's options. */
export function readWaitOptions(
	context: IExecuteFunctions,
	itemIndex: number,
): Result<WaitOptions> {
	const given = readOptions(context, itemIndex);
	const timeout = readNumber(
		given('timeout', DEFAULT_TIMEOUT_S),
		'Time Limit (Seconds)',
		TIMEOUT_RANGE_S,
	);
	if (!timeout.ok) return timeout;
	const interval = readNumber(
		given('pollInterval', 0),
		'Poll Interval (Seconds)',
		POLL_INTERVAL_RANGE_S,
	);
	if (!interval.ok) return interval;
	const onUnsuccessfulRun = readChoice(
		given('onUnsuccessfulRun', 'error'),
		'If Run Does Not Succeed',
		ON_TROUBLE,
	);
	if (!onUnsuccessfulRun.ok) return onUnsuccessfulRun;
	const onTimeout = readChoice(given('onTimeout', 'error'), 'If Time Limit Is Reached', ON_TROUBLE);
	if (!onTimeout.ok) return onTimeout;
	const outputFormat = readChoice(given('outputFormat', 'text'), 'Output Format', OUTPUT_FORMATS);
	if (!outputFormat.ok) return outputFormat;
	const whereToWait = readChoice(given('whereToWait', 'auto'), 'Where to Wait', PLACES);
	if (!whereToWait.ok) return whereToWait;
	return succeed({
		timeoutMs: timeout.value * 1_000,
		pollIntervalMs: interval.value * 1_000,
		onUnsuccessfulRun: onUnsuccessfulRun.value,
		onTimeout: onTimeout.value,
		outputFormat: outputFormat.value,
		whereToWait: whereToWait.value,
	});
}
