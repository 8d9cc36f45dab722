/** When a run of which nothing is known is first polled, in ms after its creation. */
const FIRST_POLL_MS = 300;
/** The shortest delay between its polls, in ms. */
const SHORTEST_DELAY_MS = 1_000;
/** The longest delay between its polls, in ms. */
const LONGEST_DELAY_MS = 600_000;
/**
 * The shortest delay for which n8n stores an execution, in ms: n8n's Wait node sleeps through anything
 * shorter in memory, since n8n looks for executions to resume once a minute.
 */
export const SHORTEST_STORED_DELAY_MS = 65_000;
/** How late a run may be seen to save one poll, on average and as a share of its duration. */
const WORTH_OF_A_POLL = 0.009;

/** What decides when a run is polled next. All in ms. */
export interface Schedule {
	/** Time since the run was created, or since waiting for it began. */
	waitedMs: number;
	/** A fixed delay; 0 for the automatic one. */
	pollIntervalMs: number;
	/** No delay is shorter. */
	leastMs?: number;
	/** When runs of the same agent end: times of equal likelihood, ascending; none when that is not known. */
	endsMs?: readonly number[];
}

/**
 * How long to wait before the next poll of a run.
 *
 * The automatic delay is a fifth of the time already waited, so that a run's end is seen at most 20 %
 * late (or {@link SHORTEST_DELAY_MS}, for short runs), and an hour takes some forty requests.
 *
 * Where it is known when runs end, the next poll is as soon as it is worth it: when the runs that
 * may have ended by then would be seen {@link WORTH_OF_A_POLL} late, on average of all that may still go
 * on. So polls are few where hardly any run ends and dense where most do. The bounds stay: 20 % late from the
 * earliest likely end on, and before it {@link SHORTEST_STORED_DELAY_MS} or 20 %, whichever is more. A run
 * that outlasts all that is known is polled as if nothing were.
 *
 * @returns ms, more than 0
 */
export function delayBeforeNextPoll({ leastMs = 0, ...schedule }: Schedule): number {
	return Math.max(schedule.pollIntervalMs || automaticDelay(schedule), leastMs);
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

/** When the runs that end at these times would be seen too late, on average. */
function worthwhilePoll(endsMs: readonly number[]): number {
	let pollMs = Infinity;
	// Of the ends so far: the sum of (poll - end) / end is what all ends together may be late.
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
 * How long to wait after a poll that met a temporary failure: where delays are short, the time that
 * attempts are apart; where they are long enough to be stored, from the shortest of those on, doubling.
 * These are never longer than without a failure.
 *
 * @param failures how many polls in a row have met one
 * @param scheduledMs the delay without one
 * @param backoffMs how far attempts are apart
 * @returns ms
 */
export function delayAfterTemporaryFailure(
	failures: number,
	scheduledMs: number,
	backoffMs: number,
): number {
	if (scheduledMs < SHORTEST_STORED_DELAY_MS) return backoffMs;
	return Math.min(SHORTEST_STORED_DELAY_MS * 2 ** (failures - 1), scheduledMs);
}
