/** How many entries of a list a message names. */
const NAMED = 3;

/** A list that is short enough for a message: its first entries, and how many more there are. */
export function few(entries: Array<string | number>): string {
	const named = entries.slice(0, NAMED).join(', ');
	const more = entries.length - NAMED;
	return more > 0 ? `${named} and ${more} more` : named;
}

/** The longest message or description, in UTF-16 units: n8n stores and shows them whole. */
const LONGEST_MESSAGE = 2_000;

/** A message that is not too long, whatever a service or an expression put into it. Its end names the run. */
export function bound(message: string): string {
	if (message.length <= LONGEST_MESSAGE) return message;
	return `${message.slice(0, LONGEST_MESSAGE / 2)} … ${message.slice(-LONGEST_MESSAGE / 4)}`;
}

/** A text that is short enough for a message. */
export function shorten(text: string): string {
	return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** A sentence of the service's as a part of a message. */
export function withoutPeriod(text: string): string {
	return text.trim().replace(/\.$/, '');
}

/** The end of a message about a run: where nothing is kept but the message, the run is found by it. */
export function nameRun({ agentId, runId }: { agentId: number; runId: string }): string {
	return ` (run ${runId} of agent ${agentId})`;
}
