import {
	NodeApiError,
	NodeOperationError,
	type IExecuteFunctions,
	type ILoadOptionsFunctions,
} from 'n8n-workflow';

import { failureOf, sentences, type Failure, type FailureDetails } from '../failure';
import type { RunOfItem } from '../item';
import type { Context } from '../service/credential';
import { WORD_JOINER } from '../storedText';
import { bound, few } from '../wording';

/**
 * Turns a failure into n8n's error: a `NodeApiError` if the service answered, else a `NodeOperationError`.
 *
 * @param otherRuns runs that other items started and whose results this error keeps from the workflow
 */
export function toNodeError(
	context: IExecuteFunctions,
	failure: Failure,
	itemIndex?: number,
	otherRuns: RunOfItem[] = [],
): NodeApiError | NodeOperationError {
	const { message, details, expression } = failure;
	const error =
		details.http_status === undefined
			? new NodeOperationError(context.getNode(), message)
			: apiError(context, failure);
	if (Object.keys(details).length > 0) error.context.details = { ...details };
	if (otherRuns.length > 0) error.context.runs = otherRuns.map((run) => ({ ...run }));
	// With other runs, the editor would show only n8n's explanation, and not the runs.
	else Object.assign(error.context, expression);
	if (itemIndex !== undefined) error.context.itemIndex = itemIndex;
	const description = sentences(failure.description, references(details, otherRuns));
	return inWords(error, harmless(message), escapeHtml(description));
}

/**
 * Turns what was thrown into n8n's error for the editor. It is always a `NodeApiError`, since the editor
 * shows the description of no other error. It shows the description as plain text.
 */
export function toEditorError(context: ILoadOptionsFunctions, thrown: unknown): NodeApiError {
	const failure = failureOf(thrown);
	const description = sentences(failure.description, references(failure.details));
	return inWords(apiError(context, failure), failure.message, description);
}

/**
 * The error of a node whose execution was canceled. n8n shows an execution as canceled, not as failed, if the
 * message of its error contains that word.
 *
 * @param runs the runs that the node has started
 * @param failures those of items that had failed already
 */
export function cancelledError(
	context: IExecuteFunctions,
	runs: RunOfItem[],
	failures: Failure[],
): Error {
	const message = 'The execution was canceled';
	const said = few(failures.map((failure) => `'${failure.message}'`));
	const description = sentences(
		runs.length > 0 && 'Its runs continue at the service.',
		failures.length > 0 && `Items had already failed: ${said}.`,
	);
	const error = toNodeError(context, { message, description, details: {} }, undefined, runs);
	// `toNodeError` has broken the word.
	return Object.assign(error, { message });
}

function apiError(context: Context, { message, details }: Failure): NodeApiError {
	const httpCode = details.http_status?.toString();
	return new NodeApiError(context.getNode(), {}, { message, httpCode });
}

// Puts our texts back. n8n's classes replace a message that contains the name of a system error, even inside
// a word, and drop a description that equals the message (docs/n8n.md, Errors).
function inWords<E extends NodeApiError | NodeOperationError>(
	error: E,
	message: string,
	description: string,
): E {
	error.message = bound(message);
	error.description = bound(description);
	return error;
}

/**
 * Escapes a text for where n8n's editor renders HTML: a node's error, a notice and a hint. Parts of these come from
 * the service.
 */
export function escapeHtml(text: string): string {
	return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

/** What helps to look a failure up: other runs, codes and IDs. */
function references(details: FailureDetails, otherRuns: RunOfItem[] = []): string {
	const runs = otherRuns.map(
		({ itemIndex, agentId, runId }) => `item ${itemIndex}: run ${runId} of agent ${agentId}`,
	);
	const codes = [
		details.code && `code: ${details.code}`,
		details.http_status !== undefined && `HTTP status: ${details.http_status}`,
		details.request_id && `request ID: ${details.request_id}`,
	].filter(Boolean);
	return sentences(
		runs.length > 0 && `'Get a run' gives the results of these: ${few(runs)}.`,
		codes.length > 0 && `(${codes.join(', ')})`,
	);
}

/**
 * Breaks, with an invisible character, what n8n takes for more than text: `<` before a tag, since its notification
 * renders HTML and removes only scripts, and the word by which it takes a failed execution for a canceled one
 * (docs/n8n.md, Errors). What the service says may contain both.
 */
function harmless(message: string): string {
	return message.replace(/<(?=[a-z/!?])|cancel(?=ed)/gi, `$&${WORD_JOINER}`);
}
