import type { IExecuteFunctions } from 'n8n-workflow';

import { isJsonObject } from '../service/types';
import { storedExecution } from './host';
import type { Suspension } from './suspend';

/** How much sooner than planned n8n may resume an execution, in ms: the clocks of main and workers may differ. */
const EARLY_MS = 10_000;

/**
 * Whether items may have begun after n8n stored the memory, in an execution that then crashed or was stopped. None has if
 * it was stopped while it was parked, which the date in its stored error shows (docs/n8n.md, Memory). The current date
 * shows nothing, since the clock may have been set back. If the node started no runs when it was suspended, nothing counts
 * as begun, whatever its operation is now.
 *
 * @param found what n8n has stored for the node in its latest execution
 */
export async function mayHaveBegun(
	context: IExecuteFunctions,
	{ executionId, suspension }: { executionId: string; suspension?: Suspension },
): Promise<boolean> {
	if (!suspension?.startsRuns || executionId === (context.getExecutionId() ?? '')) return false;
	const { beganOn, resumesOn = beganOn } = suspension;
	const stored = await storedExecution(context, executionId);
	const error: unknown = stored?.resultData?.error;
	const stoppedOn = isJsonObject(error) ? error.timestamp : undefined;
	// A checkpoint has no date on which it is resumed: the execution goes on at once.
	const wasParked =
		typeof stoppedOn === 'number' && stoppedOn >= beganOn && stoppedOn < resumesOn - EARLY_MS;
	return !wasParked;
}
