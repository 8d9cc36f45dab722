import type { IExecuteFunctions } from 'n8n-workflow';

import { isJsonObject } from '../service/types';
import { storedExecution } from './host';
import type { Suspension } from './suspend';

/** How much sooner than planned n8n may resume an execution, in ms: the clocks of main and workers may differ. */
const EARLY_MS = 10_000;

/**
 * Whether an execution that crashed or was stopped after a suspension may have begun items since n8n stored
 * it. It has not if it ended while it was parked: before its resume date, which is either still to come or
 * later than the date on which it was stopped (docs/n8n.md, Memory).
 *
 * @param crashedIn the ID of that execution
 */
export async function mayHaveGoneOn(
	context: IExecuteFunctions,
	crashedIn: string,
	{ until = 0 }: Suspension,
): Promise<boolean> {
	// A checkpoint has no such date: the execution goes on at once.
	const resumesFrom = until - EARLY_MS;
	if (Date.now() < resumesFrom) return false;
	const stored = await storedExecution(context, crashedIn);
	const error: unknown = stored?.resultData?.error;
	const stoppedOn = isJsonObject(error) ? error.timestamp : undefined;
	return !(typeof stoppedOn === 'number' && stoppedOn < resumesFrom);
}
