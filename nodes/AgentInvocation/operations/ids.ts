import { asText, fail } from '../failure';
import { isRunId, toAgentId } from '../service/types';
import { shorten } from '../wording';

/** Reads an agent ID. Only a whole number may become part of a path. */
export function readAgentId(value: unknown): number {
	const id = toAgentId(value);
	if (id !== undefined) return id;
	const given = asText(value ?? '').trim();
	return fail({
		message: given === '' ? "'Agent' is empty" : `'Agent' is not an agent ID: ${shorten(given)}`,
		description:
			"Choose an agent from the list in 'Agent', or enter its ID, a whole number such as 42. An expression must give that number for every item.",
	});
}

/** Reads a run ID: a UUID as documented, or any other text that is one plain segment of a path. */
export function readRunId(value: unknown): string {
	const text = asText(value ?? '').trim();
	const isGiven =
		typeof value === 'string' || Number.isSafeInteger(value) || typeof value === 'bigint';
	if (isGiven && isRunId(text)) return text;
	return fail({
		message: text === '' ? "'Run ID' is empty" : `'Run ID' is not a run ID: ${shorten(text)}`,
		description:
			"A run ID is a UUID such as 123e4567-e89b-12d3-a456-426614174000. Take it from 'run_id' in the output of 'Create a run'.",
	});
}
