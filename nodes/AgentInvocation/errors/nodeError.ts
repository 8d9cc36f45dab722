import {
	NodeApiError,
	NodeOperationError,
	type IExecuteFunctions,
	type ILoadOptionsFunctions,
} from 'n8n-workflow';

import { sentences, type Failure } from '../result';
import type { StartedRun } from '../runs/itemMemory';

type Context = IExecuteFunctions | ILoadOptionsFunctions;

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
	const { message, details, cause } = failure;
	const error =
		details.http_status === undefined
			? new NodeOperationError(context.getNode(), cause ?? message, { message })
			: apiError(context, failure);
	if (itemIndex !== undefined) error.context.itemIndex = itemIndex;
	if (Object.keys(details).length > 0) error.context.details = { ...details };
	if (otherRuns.length > 0) error.context.runs = otherRuns.map((run) => ({ ...run }));
	return inOurWords(error, message, sentences(failure.description, nameRuns(otherRuns)));
}

/**
 * Makes n8n's error of a failure that the editor met. Always a `NodeApiError`: the editor gets the
 * descriptions of no other errors.
 */
export function toEditorError(context: ILoadOptionsFunctions, failure: Failure): NodeApiError {
	return inOurWords(apiError(context, failure), failure.message, failure.description);
}

/**
 * The error of a node whose execution was cancelled. n8n shows an execution as canceled, not as failed,
 * when the message of its error says so.
 *
 * @param runs that the node has started
 * @param failures of items that have failed already
 */
export function cancelledError(
	context: IExecuteFunctions,
	runs: StartedRun[],
	failures: Failure[],
): Error {
	if (runs.length === 0 && failures.length === 0) {
		return new NodeOperationError(context.getNode(), 'The execution was canceled');
	}
	const said = failures.map(({ message, description }) => `${message}. ${description}`);
	const message = 'The execution was canceled. Its runs go on at the service.';
	const failure = { message, description: said.join(' '), details: {} };
	return toNodeError(context, failure, undefined, runs);
}

function apiError(context: Context, { message, details }: Failure): NodeApiError {
	const httpCode = details.http_status?.toString();
	return new NodeApiError(context.getNode(), {}, { message, httpCode });
}

// n8n's classes put a text of their own in place of a message that holds the name of a system error
// anywhere, even inside a word, and drop a description that equals the message (docs/n8n.md, Errors).
function inOurWords<E extends NodeApiError | NodeOperationError>(
	error: E,
	message: string,
	description: string,
): E {
	error.message = message;
	error.description = escapeHtml(description);
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
