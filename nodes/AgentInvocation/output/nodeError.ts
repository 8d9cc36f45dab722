import {
	NodeApiError,
	NodeOperationError,
	type IExecuteFunctions,
	type ILoadOptionsFunctions,
} from 'n8n-workflow';

import { sentences, type Failure } from '../result';

/** A run that some item of the execution has started. */
export interface StartedRun {
	itemIndex: number;
	agentId: number;
	runId: string;
}

// An error's text is read by a person; the whole list is in its context.
const RUNS_NAMED = 50;

/**
 * Makes n8n's error of a failure: a `NodeApiError` when the service answered, else a
 * `NodeOperationError`.
 *
 * @param otherRuns runs that other items started and whose results this error keeps from the workflow
 */
export function toNodeError(
	context: IExecuteFunctions,
	failure: Failure,
	itemIndex?: number,
	otherRuns: StartedRun[] = [],
): NodeApiError | NodeOperationError {
	const described = {
		...failure,
		description: sentences(failure.description, nameRuns(otherRuns)),
	};
	const isAnswered = failure.details.http_status !== undefined;
	const error = isAnswered ? apiError(context, described) : operationError(context, described);
	if (itemIndex !== undefined) error.context.itemIndex = itemIndex;
	if (Object.keys(failure.details).length > 0) error.context.details = { ...failure.details };
	if (otherRuns.length > 0) error.context.runs = otherRuns.map((run) => ({ ...run }));
	return error;
}

/**
 * Makes n8n's error of a failure that the editor met. Always a `NodeApiError`: the editor gets the
 * descriptions of no other errors.
 */
export function toEditorError(context: ILoadOptionsFunctions, failure: Failure): NodeApiError {
	return apiError(context, failure);
}

type Context = IExecuteFunctions | ILoadOptionsFunctions;

function apiError(context: Context, failure: Failure): NodeApiError {
	const { message, details } = failure;
	const description = escapeHtml(failure.description);
	const status = details.http_status === undefined ? {} : { httpCode: String(details.http_status) };
	const error = new NodeApiError(context.getNode(), {}, { message, description, ...status });
	return inOurWords(error, message, description);
}

function operationError(context: Context, failure: Failure): NodeOperationError {
	const { message, cause } = failure;
	const description = escapeHtml(failure.description);
	const error = new NodeOperationError(context.getNode(), cause ?? message, {
		message,
		description,
	});
	return inOurWords(error, message, description);
}

// n8n's classes put a text of their own in place of a message that holds the name of a system error
// anywhere, even inside a word, and drop a description that equals the message (docs/n8n.md, Errors).
function inOurWords<E extends NodeApiError | NodeOperationError>(
	error: E,
	message: string,
	description: string,
): E {
	error.message = message;
	error.description = description;
	return error;
}

/** n8n's editor renders a description as HTML, and parts of ours come from the service. */
function escapeHtml(text: string): string {
	return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

function nameRuns(runs: StartedRun[]): string {
	if (runs.length === 0) return '';
	const named = runs
		.slice(0, RUNS_NAMED)
		.map(({ itemIndex, agentId, runId }) => `item ${itemIndex}: run ${runId} of agent ${agentId}`);
	const more = runs.length - named.length;
	return `Runs of other items, which are not output: ${named.join('; ')}${
		more > 0 ? `; and ${more} more, in this error's context` : ''
	}. Use 'Get a run' to fetch their results.`;
}
