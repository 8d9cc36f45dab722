import type { Run } from './types';

const FINISHED = ['succeeded', 'failed', 'cancelled'];
const UNFINISHED = ['pending', 'running'];

/** A run's status as the interface document writes it. */
export function statusOf({ status }: Run): string {
	return status.trim().toLowerCase();
}

/** Whether a run has ended well. */
export function hasSucceeded(run: Run): boolean {
	return statusOf(run) === 'succeeded';
}

/**
 * Whether a run has ended. One with a status that the interface document does not list has ended once `completed_at`
 * is set: not absent, null, empty, or a zero date as some languages write it.
 */
export function isFinished(run: Run): boolean {
	const status = statusOf(run);
	if (FINISHED.includes(status)) return true;
	if (UNFINISHED.includes(status)) return false;
	const { completed_at: completedAt = '' } = run;
	if (typeof completedAt === 'number') return completedAt > 0;
	return (
		typeof completedAt === 'string' && completedAt.trim() !== '' && !(Date.parse(completedAt) <= 0)
	);
}
