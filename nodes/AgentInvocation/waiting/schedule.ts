/** When a run is first looked at, in ms after its creation. */
export const FIRST_LOOK_MS = 300;
/** The shortest automatic delay between two looks, in ms. */
export const SHORTEST_DELAY_MS = 1_000;
/** The longest automatic delay between two looks, in ms. */
export const LONGEST_DELAY_MS = 600_000;

/**
 * How long to wait before the next look at a run.
 *
 * The automatic delay is a fifth of the time already waited, so that a run's end is seen at most 20 %
 * late (or {@link SHORTEST_DELAY_MS}, for short runs), and an hour takes some forty requests.
 *
 * @param waitedMs time since the run was created, or since waiting for it began
 * @param pollIntervalMs a fixed delay; 0 for the automatic one
 * @returns ms, more than 0
 */
export function delayBeforeNextLook(waitedMs: number, pollIntervalMs: number): number {
	if (pollIntervalMs > 0) return pollIntervalMs;
	if (waitedMs < FIRST_LOOK_MS) return FIRST_LOOK_MS - waitedMs;
	return Math.min(Math.max(waitedMs / 5, SHORTEST_DELAY_MS), LONGEST_DELAY_MS);
}
