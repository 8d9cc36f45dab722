import {
	NodeApiError,
	NodeOperationError,
	type IExecuteFunctions,
	type ILoadOptionsFunctions,
} from 'n8n-workflow';

import type { Failure } from '../api/failure';

/** A run that some item of the execution started. */
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
	const { message, details } = failure;
	const description = escapeHtml(
		[failure.description, nameRuns(otherRuns)].filter(Boolean).join(' '),
	);
	const options = { message, description, ...(itemIndex !== undefined && { itemIndex }) };
	const error =
		details.http_status === undefined
			? new NodeOperationError(context.getNode(), failure.cause ?? message, options)
			: new NodeApiError(
					context.getNode(),
					{},
					{ ...options, httpCode: String(details.http_status) },
				);

	if (Object.keys(details).length > 0) error.context.details = { ...details };
	if (otherRuns.length > 0) error.context.runs = otherRuns.map((run) => ({ ...run }));
	return inOurWords(error, message, description);
}

/**
 * Makes n8n's error of a failure that the editor met. Always a `NodeApiError`: the editor gets the
 * descriptions of no other errors.
 */
export function toEditorError(
	context: ILoadOptionsFunctions,
	{ message, description, details }: Failure,
): NodeApiError {
	const httpCode =
		details.http_status === undefined ? {} : { httpCode: String(details.http_status) };
	const error = new NodeApiError(context.getNode(), {}, { message, description, ...httpCode });
	return inOurWords(error, message, description);
}

// n8n's classes put a text of their own in place of a message that holds the name of a system error
// anywhere, even inside a word, and drop a description that equals the message.
function inOurWords<E extends NodeApiError | NodeOperationError>(
	error: E,
	message: string,
	description: string,
): E {
	error.message = message;
	error.description = description;
	return error;
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

/** n8n's editor renders a description as HTML, and parts of ours come from the service. */
function escapeHtml(text: string): string {
	return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}
