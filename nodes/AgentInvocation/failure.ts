import { boundAll } from './wording';

/** What is known about a failure. An error item carries it as `details`. */
export interface FailureDetails {
	code?: string;
	http_status?: number;
	request_id?: string;
	agent_id?: number;
	run_id?: string;
	status?: string;
	output?: string;
}

/** Why an item has no result. Only `engine` turns it into an error of n8n's or an error item. */
export interface Failure {
	/** What went wrong, in the user's words. Plain text. */
	message: string;
	/** What to do about it. Plain text: it is escaped where n8n renders it. */
	description: string;
	details: FailureDetails;
	/** What a model that uses the node as its tool is to do, if it cannot do what the description says. */
	advice?: string;
	/**
	 * If an expression cannot be evaluated: the context of n8n's error. With it, the editor shows n8n's own explanation
	 * instead of this message, so it is left out if the message says more (docs/n8n.md, Errors).
	 */
	expression?: Record<string, unknown>;
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

/** A failure that says nothing about the item: the service, or n8n's store of credentials, gave no answer. */
export class UnansweredError extends FailureError {}

/** A failure after which nothing more may be started. */
export class UnsafeError extends UnansweredError {}

/**
 * Throws a failure.
 *
 * @param cause what n8n or Node.js has thrown, if that is the reason
 * @throws FailureError
 */
export function fail(failure: Omit<Failure, 'details'> & Partial<Failure>, cause?: unknown): never {
	throw new FailureError({ details: {}, ...failure }, cause);
}

/** The failure that was thrown. Another error, such as n8n's about an expression, becomes one in its own words. */
export function failureOf(thrown: unknown): Failure {
	if (thrown instanceof FailureError) return thrown.failure;
	const error: Error & { description?: unknown; context?: object } = asError(thrown);
	const { message } = error;
	// Some of n8n's are HTML.
	const description = asText(error.description ?? '').replace(/<\/?[a-z][^>]*>/gi, '');
	const failure = { message, description, details: {} };
	if (!/^Expression/.test(asText(error.name))) return failure;
	const expression = boundAll(error.context ?? {});
	const cause = asText(expression.nodeCause ?? '');
	if (!message.includes(cause)) failure.message += ` ('${cause}')`;
	return { ...failure, expression };
}

/** What was thrown, as an error. */
export function asError(thrown: unknown): Error {
	return thrown instanceof Error ? thrown : new Error(asText(thrown));
}

/** Any value as text. Objects are only named as such, since some cannot be converted to text. */
export function asText(value: unknown): string {
	if (typeof value === 'string') return value;
	if (typeof value === 'object' && value !== null) {
		return Array.isArray(value) ? 'an array' : 'an object';
	}
	return typeof value === 'function' ? 'a function' : String(value);
}

/** Joins those parts of a message that are there. */
export function sentences(...parts: Array<string | false | undefined>): string {
	return parts.filter(Boolean).join(' ');
}
