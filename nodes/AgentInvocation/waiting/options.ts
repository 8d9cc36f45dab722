import type { IExecuteFunctions } from 'n8n-workflow';

import type { WaitOptions } from '../item';
import { readChoice, readNumber, readOptions } from '../readValue';
import { succeed, type Result } from '../result';

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
	const seconds = given('timeout', DEFAULT_TIMEOUT_S);
	const timeout = readNumber(seconds, 'Time Limit (Seconds)', TIMEOUT_RANGE_S);
	if (!timeout.ok) return timeout;
	const every = given('pollInterval', 0);
	const interval = readNumber(every, 'Poll Interval (Seconds)', POLL_INTERVAL_RANGE_S);
	if (!interval.ok) return interval;
	const choice = <T extends string>(name: string, label: string, choices: readonly [T, ...T[]]) =>
		readChoice(given(name, choices[0]), label, choices);
	const onUnsuccessfulRun = choice('onUnsuccessfulRun', 'If Run Does Not Succeed', [
		'error',
		'output',
	]);
	if (!onUnsuccessfulRun.ok) return onUnsuccessfulRun;
	const onTimeout = choice('onTimeout', 'If Time Limit Is Reached', ['error', 'output']);
	if (!onTimeout.ok) return onTimeout;
	const outputFormat = choice('outputFormat', 'Output Format', ['text', 'json']);
	if (!outputFormat.ok) return outputFormat;
	const whereToWait = choice('whereToWait', 'Where to Wait', ['auto', 'stored', 'memory']);
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
