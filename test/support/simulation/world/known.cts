import type { Violation } from './invariants.cts';

/** What the simulation finds and nobody has mended yet. Each goes with its mend. */
export const KNOWN: Array<{ says: RegExp; why: string }> = [
	{
		says: /^A rate limit pauses all requests/,
		why: 'the limiter does not learn of a 429 to a poll that was given up meanwhile',
	},
	{
		says: /No published agent is named 'STRASSE'/,
		why: 'letters with two capitals are not found',
	},
	{
		says: /^Few requests are refused/,
		why: 'where a refusal does not say when to come back, many gets at once are refused',
	},
	{
		says: /after an answer that asked for/,
		why: 'Retry-After is passed over on run_not_found',
	},
];

export function isKnown({ promise, what }: Violation): boolean {
	return KNOWN.some(({ says }) => says.test(`${promise}: ${what}`));
}
