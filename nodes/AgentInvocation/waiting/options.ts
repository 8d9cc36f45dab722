import type { IExecuteFunctions } from 'n8n-workflow';

import type { WaitOptions } from '../item';
import { readChoice, readNumber, readParameter, type Range } from '../readValue';

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
	const given = (name: string, byDefault: unknown) =>
		readParameter(context, itemIndex, `options.${name}`, byDefault);
	const seconds = (name: string, byDefault: number, range: Range) =>
		readNumber(given(name, byDefault), name, range) * 1_000;
	// The first choice is the default.
	const choice = <T extends string>(name: string, ...choices: [T, ...T[]]) =>
		readChoice(given(name, choices[0]), name, choices);
	return {
		timeoutMs: seconds('timeout', DEFAULT_TIMEOUT_S, TIMEOUT_RANGE_S),
		pollIntervalMs: seconds('pollInterval', 0, POLL_INTERVAL_RANGE_S),
		onUnsuccessfulRun: choice('onUnsuccessfulRun', 'error', 'output'),
		onTimeout: choice('onTimeout', 'error', 'output'),
		outputFormat: choice('outputFormat', 'text', 'json'),
		whereToWait: choice('whereToWait', 'auto', 'stored', 'memory'),
	};
}
