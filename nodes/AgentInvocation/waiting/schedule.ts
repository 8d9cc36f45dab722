/** When a run is first looked at, in ms after its creation. */
export const FIRST_LOOK_MS = 300;
/** The shortest automatic delay between two looks, in ms. */
export const SHORTEST_DELAY_MS = 1_000;
/** The longest automatic delay between two looks, in ms. */
export const LONGEST_DELAY_MS = 600_000;
/**
 * The shortest delay for which an execution is parked, in ms. n8n's Wait node sleeps through anything
 * shorter in memory, since n8n looks for executions to resume once a minute.
 */
export const SHORTEST_PARKED_DELAY_MS = 65_000;
/** How long after its expected end a run is looked at, in ms. */
const AFTER_EXPECTED_END_MS = 50;

/** What decides when a run is looked at next. All in ms. */
export interface Schedule {
	/** Time since the run was created, or since waiting for it began. */
	waitedMs: number;
	/** A fixed delay; 0 for the automatic one. */
	pollIntervalMs: number;
	/** How long runs of the same agent took; absent when that is not known. */
	expectedMs?: number;
}

/**
 * How long to wait before the next look at a run.
 *
 * The automatic delay is a fifth of the time already waited, so that a run's end is seen at most 20 %
 * late (or {@link SHORTEST_DELAY_MS}, for short runs), and an hour takes some forty requests. A look
 * that would pass over the end that is expected comes forward to it, never later, so that bound stays.
 *
 * @returns ms, more than 0
 */
export function delayBeforeNextLook({ waitedMs, pollIntervalMs, expectedMs }: Schedule): number {
	if (pollIntervalMs > 0) return pollIntervalMs;
	if (expectedMs === undefined && waitedMs < FIRST_LOOK_MS) return FIRST_LOOK_MS - waitedMs;
	const delay = Math.min(Math.max(waitedMs / 5, SHORTEST_DELAY_MS), LONGEST_DELAY_MS);
	const untilExpected = (expectedMs ?? 0) + AFTER_EXPECTED_END_MS - waitedMs;
	return untilExpected > 0 ? Math.min(delay, untilExpected) : delay;
}
