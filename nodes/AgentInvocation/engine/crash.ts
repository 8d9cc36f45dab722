import type { IExecuteFunctions } from 'n8n-workflow';

import { clock } from '../clock';
import { isJsonObject } from '../service/types';
import { storedExecution } from './host';
import type { Suspension } from './suspend';

/** How much sooner than planned n8n may resume an execution, in ms: the clocks of main and workers may differ. */
const EARLY_MS = 10_000;

/**
 * Whether an execution that crashed or was stopped after a suspension may have begun items since n8n stored
 * it. It has not if it ended while it was parked: before its resume date, which is either still to come or
 * later than the date on which it was stopped (docs/n8n.md, Memory). A date before the suspension is that of a
 * clock that was set back, and tells nothing.
 *
 * @param crashedIn the ID of that execution
 */
export async function mayHaveGoneOn(
	context: IExecuteFunctions,
	crashedIn: string,
	{ beganOn, resumesOn = beganOn }: Suspension,
): Promise<boolean> {
	// A checkpoint has no such date: the execution goes on at once.
	const isParkedOn = (date: unknown) =>
		typeof date === 'number' && date >= beganOn && date < resumesOn - EARLY_MS;
	if (isParkedOn(clock.date())) return false;
	const stored = await storedExecution(context, crashedIn);
	const error: unknown = stored?.resultData?.error;
	return !(isJsonObject(error) && isParkedOn(error.timestamp));
}
