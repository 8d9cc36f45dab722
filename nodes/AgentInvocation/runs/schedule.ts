/** When a run is first polled, in ms after its creation. */
const FIRST_POLL_MS = 300;
/** The shortest automatic delay between two polls, in ms. */
const SHORTEST_DELAY_MS = 1_000;
/** The longest automatic delay between two polls, in ms. */
const LONGEST_DELAY_MS = 600_000;
/**
 * The shortest delay for which n8n stores an execution, in ms: n8n's Wait node sleeps through anything
 * shorter in memory, since n8n looks for executions to resume once a minute.
 */
export const SHORTEST_STORED_DELAY_MS = 65_000;
/** How long after its expected end a run is polled, in ms. */
const AFTER_EXPECTED_END_MS = 50;

/** What decides when a run is polled next. All in ms. */
export interface Schedule {
	/** Time since the run was created, or since waiting for it began. */
	waitedMs: number;
	/** A fixed delay; 0 for the automatic one. */
	pollIntervalMs: number;
	/** No delay is shorter. */
	leastMs?: number;
	/** How long runs of the same agent took; absent when that is not known. */
	expectedMs?: number | undefined;
}

/**
 * How long to wait before the next poll of a run.
 *
 * The automatic delay is a fifth of the time already waited, so that a run's end is seen at most 20 %
 * late (or {@link SHORTEST_DELAY_MS}, for short runs), and an hour takes some forty requests. A poll
 * that would pass over the end that is expected comes forward to it, never later, so that bound stays.
 *
 * @returns ms, more than 0
 */
export function delayBeforeNextPoll({ leastMs = 0, ...schedule }: Schedule): number {
	return Math.max(schedule.pollIntervalMs || automaticDelay(schedule), leastMs);
}

function automaticDelay({ waitedMs, expectedMs }: Schedule): number {
	if (expectedMs === undefined && waitedMs < FIRST_POLL_MS) return FIRST_POLL_MS - waitedMs;
	const delay = Math.min(Math.max(waitedMs / 5, SHORTEST_DELAY_MS), LONGEST_DELAY_MS);
	const untilExpected = (expectedMs ?? 0) + AFTER_EXPECTED_END_MS - waitedMs;
	return untilExpected > 0 ? Math.min(delay, untilExpected) : delay;
}

/**
 * How long to wait after a poll that met trouble in passing: where delays are short, the time that
 * attempts are apart; where they are long enough to be stored, from the shortest of those on, doubling.
 * Never longer than without trouble.
 *
 * @param troubles how many polls in a row have met trouble
 * @param scheduledMs the delay without trouble
 * @param backoffMs how far attempts are apart
 * @returns ms
 */
export function delayAfterTrouble(
	troubles: number,
	scheduledMs: number,
	backoffMs: number,
): number {
	if (scheduledMs < SHORTEST_STORED_DELAY_MS) return backoffMs;
	return Math.min(SHORTEST_STORED_DELAY_MS * 2 ** (troubles - 1), scheduledMs);
}
