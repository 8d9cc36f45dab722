/** When a run of which nothing is known is first polled, in ms after its creation. */
const FIRST_POLL_MS = 300;
/** The shortest delay between two polls of a run, in ms. */
const SHORTEST_DELAY_MS = 1_000;
/** The longest automatic delay between two polls of a run, in ms. */
const LONGEST_DELAY_MS = 600_000;
/**
 * The shortest delay for which n8n stores an execution, in ms: n8n's Wait node sleeps through anything
 * shorter in memory, since n8n looks for executions to resume once a minute.
 */
export const SHORTEST_STORED_DELAY_MS = 65_000;
/** How much earlier than due a run may be polled so that its execution can be stored, in ms. */
export const LONGEST_EARLY_MS = 60_000;
/** A run that has lasted this long, in ms, has not failed at once. During a trial, other items wait to see that. */
export const TRIAL_MS = 4_000;
/** How much later, on average and as a share of its duration, a run's end may be noticed to save one poll. */
const WORTH_OF_A_POLL = 0.009;

/** What decides when a run is polled next. All in ms. */
interface Schedule {
	/** Time since the run was created, or since waiting for it began. */
	waitedMs: number;
	/** A fixed delay; 0 for the automatic one. */
	pollIntervalMs: number;
	/**
	 * When runs of the same agent end, in ms after their creation: equally likely times, ascending; none if
	 * that is not known.
	 */
	endsMs?: readonly number[];
}

/**
 * How long to wait before the next poll of a run.
 *
 * The automatic delay is a fifth of the time already waited, so that a run's end is noticed at most 20 % late
 * (or {@link SHORTEST_DELAY_MS}, for short runs), and an hour takes about forty requests.
 *
 * If it is known when runs end, the next poll is as soon as it is worth it: when the runs that may have ended
 * by then would be noticed {@link WORTH_OF_A_POLL} late, averaged over all runs that may still go on. So
 * polls are rare where hardly any run ends, and frequent where most do. Two bounds remain: from the earliest
 * likely end on, 20 %; before it, {@link SHORTEST_STORED_DELAY_MS} or 20 %, whichever is more. A run that
 * outlasts all known ones is polled as if nothing were known.
 *
 * @returns ms, more than 0
 */
export function delayBeforeNextPoll(schedule: Schedule): number {
	return schedule.pollIntervalMs || automaticDelay(schedule);
}

function automaticDelay({ waitedMs, endsMs = [] }: Schedule): number {
	const [earliest = 0] = endsMs;
	const left = endsMs.filter((end) => end > waitedMs);
	if (left.length > 0) {
		const from = Math.max(waitedMs, earliest);
		const latest = waitedMs + Math.max(fifthOf(waitedMs), SHORTEST_STORED_DELAY_MS);
		return Math.min(worthwhilePoll(left), from + fifthOf(from), latest) - waitedMs;
	}
	if (endsMs.length === 0 && waitedMs < FIRST_POLL_MS) return FIRST_POLL_MS - waitedMs;
	return Math.min(fifthOf(waitedMs), LONGEST_DELAY_MS);
}

function fifthOf(waitedMs: number): number {
	return Math.max(waitedMs / 5, SHORTEST_DELAY_MS);
}

/**
 * The moment at which the runs that end at these times would, on average, be noticed late enough to be worth
 * a poll.
 */
function worthwhilePoll(endsMs: readonly number[]): number {
	let pollMs = Infinity;
	// Solves for the poll at which the sum of (poll - end) / duration, over the ends before it, is what all may
	// be late together.
	let [late, perMs] = [WORTH_OF_A_POLL * endsMs.length, 0];
	for (const end of endsMs) {
		if (end >= pollMs) break;
		const duration = Math.max(end, SHORTEST_DELAY_MS);
		late += end / duration;
		perMs += 1 / duration;
		pollMs = late / perMs;
	}
	return pollMs;
}

/**
 * How long to wait after a poll that met a temporary failure. If the scheduled delay is too short to be
 * stored, it is `backoffMs`. Otherwise it is the shortest delay that can be stored, doubled
 * with each further failure, but never longer than the scheduled one.
 *
 * @param failures how many polls in a row have met a temporary failure
 * @param scheduledMs the delay without a failure
 * @param backoffMs the pause after a failure
 * @returns ms
 */
export function storableDelayAfterFailure(
	failures: number,
	scheduledMs: number,
	backoffMs: number,
): number {
	if (scheduledMs < SHORTEST_STORED_DELAY_MS) return backoffMs;
	return Math.min(SHORTEST_STORED_DELAY_MS * 2 ** (failures - 1), scheduledMs);
}
