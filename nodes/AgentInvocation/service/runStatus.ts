import type { Run } from './types';

const FINISHED = ['succeeded', 'failed', 'cancelled'];
const UNFINISHED = ['pending', 'running'];

/**
 * Whether a run has come to its end. A status that the interface document does not know is
 * unfinished for as long as `completed_at` is not set.
 */
export function isFinished(run: Run): boolean {
	if (FINISHED.includes(run.status)) return true;
	if (UNFINISHED.includes(run.status)) return false;
	return typeof run.completed_at === 'string';
}
