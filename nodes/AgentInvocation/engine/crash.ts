import type { IExecuteFunctions } from 'n8n-workflow';

import { isJsonObject } from '../service/types';
import { storedExecution } from './host';
import type { Suspension } from './suspend';

/** How much sooner than planned n8n may resume an execution, in ms: the clocks of main and workers may differ. */
const EARLY_MS = 10_000;

/**
 * Whether an execution that ended unforeseen after a suspension may have begun items since n8n stored it. It
 * has not while n8n had it parked: it ended then if the date of its resume has not come yet, or had not come
 * when it was stopped, which n8n notes (docs/n8n.md, Memory).
 *
 * @param crashedIn its ID
 */
export async function mayHaveGoneOn(
	context: IExecuteFunctions,
	crashedIn: string,
	{ until = 0 }: Suspension,
): Promise<boolean> {
	// A checkpoint is over at once.
	const resumesFrom = until - EARLY_MS;
	if (Date.now() < resumesFrom) return false;
	const stored = await storedExecution(context, crashedIn);
	const error: unknown = stored?.resultData?.error;
	const stoppedOn = isJsonObject(error) ? error.timestamp : undefined;
	return !(typeof stoppedOn === 'number' && stoppedOn < resumesFrom);
}
