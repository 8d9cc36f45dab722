/** What is known about a failure; a continued item carries it as `details`. */
export interface FailureDetails {
	code?: string;
	http_status?: number;
	request_id?: string;
	agent_id?: number;
	run_id?: string;
	status?: string;
	output?: string;
}

/** Why an item has no result. It becomes one of n8n's errors, or a continued item, only at the node's edge. */
export interface Failure {
	/** What went wrong, in the user's words. Plain text. */
	message: string;
	/** What to do about it. Plain text: it is escaped where n8n renders it. */
	description: string;
	details: FailureDetails;
}

/** A failure on its way to the item that it fails. */
export class FailureError extends Error {
	constructor(
		readonly failure: Failure,
		cause?: unknown,
	) {
		super(failure.message, { cause });
	}
}

/**
 * Ends the work on an item.
 *
 * @param cause what n8n or Node.js has thrown, if that is the reason
 * @throws FailureError
 */
export function fail(
	failure: Omit<Failure, 'details'> & Partial<Pick<Failure, 'details'>>,
	cause?: unknown,
): never {
	throw new FailureError({ details: {}, ...failure }, cause);
}

/** The failure that was thrown; of another error, such as n8n's about an expression, its own words. */
export function failureOf(thrown: unknown): Failure {
	if (thrown instanceof FailureError) return thrown.failure;
	const error = asError(thrown);
	const description =
		'description' in error && typeof error.description === 'string' ? error.description : '';
	return { message: error.message, description, details: {} };
}

/** What was thrown, as an error. */
export function asError(thrown: unknown): Error {
	return thrown instanceof Error ? thrown : new Error(asText(thrown));
}

/** Any value as a text for a message. Objects are not turned into text by their own means: some have none. */
export function asText(value: unknown): string {
	if (typeof value === 'string') return value;
	if (typeof value === 'object' && value !== null) {
		return Array.isArray(value) ? 'an array' : 'an object';
	}
	return typeof value === 'function' ? 'a function' : String(value);
}

/** Puts the parts of a message together that there are. */
export function sentences(...parts: Array<string | false | undefined>): string {
	return parts.filter(Boolean).join(' ');
}
