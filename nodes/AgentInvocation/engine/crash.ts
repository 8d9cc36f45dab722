import type { IExecuteFunctions } from 'n8n-workflow';

import { isJsonObject } from '../service/types';
import { storedExecution } from './host';
import type { Suspension } from './suspend';

/** How much sooner than planned n8n may resume an execution, in ms: the clocks of main and workers may differ. */
const EARLY_MS = 10_000;

/**
 * Whether another execution that crashed or was stopped after a suspension may have begun items since n8n stored it. It
 * has not if it was stopped while it was parked: n8n notes when (docs/n8n.md, Memory). The date of now proves nothing,
 * since the clock may have been set back. If the node's operation started no runs when it was suspended, nothing counts
 * as begun, whatever operation it has now.
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
