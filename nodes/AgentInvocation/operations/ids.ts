import { asText, fail } from '../failure';
import { isRunId, toAgentId } from '../service/types';
import { visibleIn } from '../textKey';
import { shorten } from '../wording';

/** Reads an agent ID. Only a whole number may become part of a path. */
export function readAgentId(value: unknown): number {
	const given = visibleIn(asText(value ?? ''));
	const id = toAgentId(typeof value === 'string' ? given : value);
	if (id !== undefined) return id;
	return fail({
		message: given === '' ? "'Agent' is empty" : `'Agent' is not an agent ID: ${shorten(given)}`,
		description:
			"Choose an agent from the list in 'Agent', or enter its ID, a whole number such as 42. An expression must give that number for every item. To give its name, choose 'By Name'.",
	});
}

/** Quotation marks and the like, with which an ID may be copied. */
const AROUND_ID = /^["'`‘’“”«<([{\s]+|["'`‘’“”»>)\]}.,;\s]+$/g;

/** A longer text is no run ID, even without what is around it. */
const LONGEST_ID = 300;

/** What is left of a text without its UUID if it has no more than a label, or quotation marks and the like. */
const LABEL = /^[^\p{L}\p{N}]*(run[\s_-]*id[^\p{L}\p{N}]*)?$/iu;

const UUID = /(?<![\da-z])[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}(?![\da-z])/gi;

/**
 * Reads a run ID: a UUID as documented, or any other text that is one plain segment of a path. A longer text, such as
 * a message or a web address, may contain one UUID.
 */
export function readRunId(value: unknown): string {
	const text = visibleIn(asText(value ?? ''));
	const id = text.length > LONGEST_ID ? text : text.replace(AROUND_ID, '');
	const isGiven =
		typeof value === 'string' || Number.isSafeInteger(value) || typeof value === 'bigint';
	const [uuid, ...others] = (isGiven && text.match(UUID)) || [];
	const isOnly = others.every((other) => other.toLowerCase() === uuid?.toLowerCase());
	if (uuid !== undefined && isOnly && LABEL.test(text.replaceAll(UUID, ''))) return uuid;
	if (isGiven && isRunId(id) && !/["{},]/.test(id)) return id;
	if (uuid !== undefined && isOnly) return uuid;
	return fail({
		message: text === '' ? "'Run ID' is empty" : `'Run ID' is not a run ID: ${shorten(text)}`,
		description:
			"A run ID is a UUID such as 123e4567-e89b-12d3-a456-426614174000. Take it from 'run_id' in the output of 'Create a run'.",
	});
}
