import type { IExecuteFunctions } from 'n8n-workflow';

import type { RunMemory } from '../items/memory';
import { isJsonObject } from '../service/types';

/** How much sooner than planned n8n may resume an execution, in ms: the clocks of main and workers may differ. */
const EARLY_MS = 10_000;

/**
 * Whether an execution that ended unforeseen after a rest may have begun items since n8n stored it. Not while
 * it was stored: it ended then if the date of its resume has not come yet, or had not when it was stopped, of
 * which n8n notes when it was (docs/n8n.md, Memory).
 *
 * @param date the present one, in ms since the epoch
 */
export async function mayHaveGoneOn(
	context: IExecuteFunctions,
	{ crashedIn, rested }: RunMemory,
	date: number,
): Promise<boolean> {
	if (crashedIn === undefined) return false;
	// A checkpoint is not waited out.
	const resumesFrom = (rested?.until ?? 0) - EARLY_MS;
	if (date < resumesFrom) return false;
	try {
		const stored = await context.getExecutionDataById(crashedIn);
		const error: unknown = stored?.resultData.error;
		const stoppedOn = isJsonObject(error) ? error.timestamp : undefined;
		return !(typeof stoppedOn === 'number' && stoppedOn < resumesFrom);
	} catch {
		return true;
	}
}
