import type { IExecuteFunctions, ILoadOptionsFunctions } from 'n8n-workflow';

import { Gate } from '../waiting/gate';
import { systemClock } from '../waiting/clock';
import { readResponse, readThrown, type Answer, type RawResponse } from './answer';
import { checkCredential } from './credential';
import type { ServiceRequest } from './endpoints';
import { asError, fail, succeed, type Result } from './failure';

/** The name of the credential type, as workflows store it. */
export const CREDENTIAL_TYPE = 'agentInvocationApi';

/** How long a request may take, in ms. A create has longer, since giving it up leaves a run behind. */
export const requestTimeouts = { GET: 30_000, POST: 120_000 };

/** The service behind one credential. */
export interface Service {
	/** From the credential, without a slash at its end. */
	readonly baseUrl: string;
	/** What every request passes before it is sent. */
	readonly gate: Gate;
	/** Sends a request once. Never throws: what became of it is in the answer. */
	send<T>(request: ServiceRequest<T>): Promise<Answer<T>>;
}

/**
 * Opens the service with the node's credential. Requests go through n8n's own helper, which brings
 * proxies and certificates and adds the API key; the key itself never leaves this file.
 *
 * @param cancel aborted when the execution is cancelled
 */
export async function openService(
	context: IExecuteFunctions | ILoadOptionsFunctions,
	cancel?: AbortSignal,
): Promise<Result<Service>> {
	const credential = await readCredential(context);
	if (!credential.ok) return credential;
	const { baseUrl } = credential.value;

	async function send<T>(request: ServiceRequest<T>): Promise<Answer<T>> {
		// n8n's helper reads the key anew for each request. One that belongs elsewhere stays there.
		const current = await readCredential(context);
		if (!current.ok) {
			const { message, cause } = current.failure;
			return { kind: 'notSent', reason: cause?.message ?? message };
		}
		if (current.value.baseUrl !== baseUrl) {
			return { kind: 'notSent', reason: "The credential's Base URL was changed meanwhile" };
		}
		const { apiKey } = current.value;
		try {
			const response = (await context.helpers.httpRequestWithAuthentication.call(
				context,
				CREDENTIAL_TYPE,
				{
					method: request.method,
					url: `${baseUrl}${request.path}`,
					...(request.query && { qs: request.query }),
					...(request.body && { body: request.body }),
					json: true,
					// As text, so that a page in place of JSON is told apart from JSON.
					encoding: 'text',
					returnFullResponse: true,
					ignoreHttpStatusErrors: true,
					// n8n's helper sends the API key along to wherever a redirect points.
					disableFollowRedirect: true,
					timeout: requestTimeouts[request.method],
				},
			)) as RawResponse;
			return withoutKey(readResponse(response, request.hasShape), apiKey);
		} catch (error) {
			return withoutKey(readThrown(error, cancel?.aborted ?? false), apiKey);
		}
	}

	return succeed({ baseUrl, send, gate: new Gate(systemClock) });
}

async function readCredential(context: IExecuteFunctions | ILoadOptionsFunctions) {
	try {
		return checkCredential(await context.getCredentials(CREDENTIAL_TYPE));
	} catch (thrown) {
		const cause = asError(thrown);
		return fail({
			message: 'The credential of this node cannot be used',
			description: `Choose or create one under 'Credential to connect with'. n8n says: ${cause.message}`,
			cause,
		});
	}
}

/** A service or a proxy may quote the key in what it says, and what it says is shown and stored. */
function withoutKey<T>(answer: Answer<T>, apiKey: string): Answer<T> {
	const clean = (text: string) => text.split(apiKey).join('(API key)');
	return {
		...answer,
		...(answer.serviceError && {
			serviceError: {
				...answer.serviceError,
				code: clean(answer.serviceError.code),
				message: clean(answer.serviceError.message),
			},
		}),
		...(answer.requestId !== undefined && { requestId: clean(answer.requestId) }),
		...(answer.reason !== undefined && { reason: clean(answer.reason) }),
	};
}
