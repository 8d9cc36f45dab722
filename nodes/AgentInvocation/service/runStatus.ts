import type { Run } from './types';

const FINISHED = ['succeeded', 'failed', 'cancelled'];
const UNFINISHED = ['pending', 'running'];

/** A run's status as the interface document writes it, also where it has another case or American spelling. */
export function statusOf({ status }: Run): string {
	return status.trim().toLowerCase().replace('canceled', 'cancelled');
}

/** Whether a run has ended well. */
export function hasSucceeded(run: Run): boolean {
	return statusOf(run) === 'succeeded';
}

/**
 * Whether a run has ended. One with a status that the interface document does not list has ended once `completed_at`
 * is set: not absent, null, empty, a word such as 'None', or a zero date as some languages and databases write it.
 */
export function isFinished(run: Run): boolean {
	const status = statusOf(run);
	if (FINISHED.includes(status)) return true;
	if (UNFINISHED.includes(status)) return false;
	const { completed_at: completedAt = '' } = run;
	if (typeof completedAt === 'number') return completedAt > 0;
	const isSet = typeof completedAt === 'string' && /[1-9]/.test(completedAt);
	return isSet && !(Date.parse(completedAt) <= 0);
}
