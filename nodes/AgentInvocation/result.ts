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

/**
 * Why an item has no result, as a value: it becomes one of n8n's errors, or a continued item, only at
 * the node's edge.
 */
export interface Failure {
	/** What went wrong, in the user's words. Plain text. */
	message: string;
	/** What to do about it. Plain text: it is escaped where n8n renders it. */
	description: string;
	details: FailureDetails;
	/** Set when n8n itself said why, for example about an expression. */
	cause?: Error;
}

/** Something, or why there is none. */
export type Result<T> = { ok: true; value: T } | Failed;

export interface Failed {
	ok: false;
	failure: Failure;
}

export function succeed<T>(value: T): Result<T> {
	return { ok: true, value };
}

export function fail(failure: Omit<Failure, 'details'> & Partial<Failure>): Failed {
	return { ok: false, failure: { details: {}, ...failure } };
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
