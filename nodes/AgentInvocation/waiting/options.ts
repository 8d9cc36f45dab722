import type { IExecuteFunctions } from 'n8n-workflow';

import type { WaitOptions } from '../item';
import { readChoice, readNumber, readOptions } from '../readValue';

export const DEFAULT_TIMEOUT_S = 3_600;
export const TIMEOUT_RANGE_S = { minValue: 0, maxValue: 31_536_000 };
/** 0 is automatic. A value between 0 and 1 would flood the service. */
const POLL_INTERVAL_RANGE_S = { minValue: 1, maxValue: 86_400, orZero: true };
/** The same for the editor, whose fields can only have one minimum and one maximum. */
export const POLL_INTERVAL_FIELD_S = { minValue: 0, maxValue: POLL_INTERVAL_RANGE_S.maxValue };

/**
 * Reads and checks an item's options.
 *
 * @throws FailureError if one of them has a wrong value
 */
export function readWaitOptions(context: IExecuteFunctions, itemIndex: number): WaitOptions {
	const given = readOptions(context, itemIndex);
	// The first choice is the default.
	const choice = <T extends string>(name: string, label: string, choices: readonly [T, ...T[]]) =>
		readChoice(given(name, choices[0]), label, choices);
	const timeout = given('timeout', DEFAULT_TIMEOUT_S);
	const interval = given('pollInterval', 0);
	return {
		timeoutMs: readNumber(timeout, 'Time Limit (Seconds)', TIMEOUT_RANGE_S) * 1_000,
		pollIntervalMs: readNumber(interval, 'Poll Interval (Seconds)', POLL_INTERVAL_RANGE_S) * 1_000,
		onUnsuccessfulRun: choice('onUnsuccessfulRun', 'If Run Does Not Succeed', ['error', 'output']),
		onTimeout: choice('onTimeout', 'If Time Limit Is Reached', ['error', 'output']),
		outputFormat: choice('outputFormat', 'Output Format', ['text', 'json']),
		whereToWait: choice('whereToWait', 'Where to Wait', ['auto', 'stored', 'memory']),
	};
}
