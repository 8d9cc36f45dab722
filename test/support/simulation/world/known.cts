import type { Violation } from './invariants.cts';

/** What the simulation finds and nobody has mended yet. Each goes with its mend. */
export const KNOWN: Array<{ says: RegExp; why: string }> = [
	{
		says: /^A rate limit pauses all requests/,
		why: 'a poll at its time limit is sent into a pause',
	},
	{
		says: /^A run that has ended within its time limit/,
		why: 'the last poll is not repeated through temporary failures, and an answer that comes after the limit counts as one of then',
	},
	{
		says: /did not come from|rejected the request/,
		why: "a 4xx without the service's envelope ends a wait",
	},
	{
		says: /No published agent is named 'STRASSE'/,
		why: 'letters with two capitals are not found',
	},
	{
		says: /rate limit was exceeded for longer/,
		why: 'a create fails since others are queued before it',
	},
	{
		says: /after an answer that asked for/,
		why: 'Retry-After is forgotten by a park, and on run_not_found',
	},
	{
		says: /credential cannot be used|An earlier attempt may have started|connection to the service was lost/,
		why: 'an attempt that finds its credential unreadable leaves the wait, and items in doubt that sent nothing',
	},
	{ says: /^Few requests are refused|was polled again within/, why: 'not judged yet' },
];

export function isKnown({ promise, what }: Violation): boolean {
	return KNOWN.some(({ says }) => says.test(`${promise}: ${what}`));
}
