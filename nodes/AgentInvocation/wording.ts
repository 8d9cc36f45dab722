/** How many entries of a list a message names. */
const NAMED = 3;

/** A list that is short enough for a message: its first entries, and how many more there are. */
export function few(entries: Array<string | number>): string {
	const named = entries.slice(0, NAMED).join(', ');
	const more = entries.length - NAMED;
	return more > 0 ? `${named} and ${more} more` : named;
}

/** Halves of characters that were cut in two, such as an emoji. */
const HALVES = /\p{Cs}/gu;

/** The longest message or description, in UTF-16 units: n8n stores and shows them whole. */
const LONGEST_MESSAGE = 2_000;

/**
 * Limits a message, whatever a service or an expression put into it. Its middle is cut, since its end names
 * the run.
 */
export function bound(message: string): string {
	if (message.length <= LONGEST_MESSAGE) return message;
	const [start, end] = [message.slice(0, LONGEST_MESSAGE / 2), message.slice(-LONGEST_MESSAGE / 4)];
	return `${start} … ${end}`.replace(HALVES, '');
}

/** Limits each text of a record. The agent's output is the user's, however long it is. */
export function boundAll(record: object): Record<string, unknown> {
	const bounded = Object.entries(record).map(([name, value]: [string, unknown]) => [
		name,
		typeof value === 'string' && name !== 'output' ? bound(value) : value,
	]);
	return Object.fromEntries(bounded) as Record<string, unknown>;
}

/** Cuts a text that is quoted in a message. */
export function shorten(text: string): string {
	return text.length > 60 ? `${text.slice(0, 60)}…`.replace(HALVES, '') : text;
}

/** Prepares a sentence of the service for use inside a message. */
export function withoutPeriod(text: string): string {
	return text.trim().replace(/\.$/, '');
}

/** The end of a message about a run. Where only the message is kept, the run can still be found by it. */
export function nameRun({ agentId, runId }: { agentId: number; runId: string }): string {
	return ` (run ${runId} of agent ${agentId})`;
}
