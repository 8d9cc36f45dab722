import { clock, within } from '../clock';
import { asError } from '../failure';
import { hashOf } from '../hashOf';
import { readResponse, readThrown, type Answer, type RawResponse } from './answer';
import {
	CREDENTIAL_TYPE,
	isCredentialGone,
	readCredential,
	type Context,
	type ServiceCredential,
} from './credential';
import type { ServiceRequest } from './endpoints';
import { RateLimiter } from './rateLimiter';
import { shareByKey } from './shareByKey';
import { withoutApiKey } from './withoutApiKey';

/**
 * How long a request may take, in ms. A create gets longer, since giving it up leaves a run behind; and longer than
 * Linux tries to connect (134 s), since what has no connection has surely started nothing. A poll between long delays
 * gets less, since the next one will do.
 */
export const requestTimeouts = { GET: 30_000, POST: 150_000, shortPoll: 10_000 };

/** How long a credential is used before it is read again, in ms. An item's requests often follow one another sooner. */
const CREDENTIAL_USED_MS = 1_000;

/**
 * How long opening the service for a wait may take, in ms, since the wait's time limit may be near. After that it opens
 * without the credential, and each request waits for it.
 */
const READING_FOR_WAIT_MS = 5_000;

const limiters = shareByKey(() => new RateLimiter());

/** The service behind one credential. */
export interface Service {
	/** From the credential, without a slash at its end. */
	readonly baseUrl: string;
	/** A hash of base URL and API key, under which their users share things; '' until both are read. Not secret. */
	readonly key: string;
	/** Whose requests these are: the rate limiter is fair between owners. */
	readonly owner: object;
	/** Where every request waits for its turn; all that use one API key share it. */
	readonly limiter: RateLimiter;
	/**
	 * Reads the credential again if it was read over a second ago: the API key may have been replaced, and with it
	 * the limiter. Never throws.
	 *
	 * @returns why nothing can be sent; undefined if requests can be
	 */
	renew(): Promise<Answer<never> | undefined>;
	/** Sends a request once. Never throws: what became of it is in the answer. */
	send<T>(request: ServiceRequest<T>): Promise<Answer<T>>;
}

/** For whom and for what the service is opened. */
interface OpenedFor {
	/** The pass of the node that sends the requests; the context when absent. */
	owner?: object;
	/** The item for which n8n evaluates the credential's expressions. */
	itemIndex?: number;
	/** Aborted when the execution is cancelled. */
	cancel?: AbortSignal;
	/**
	 * The base URL of the service that has the item's run. Nothing is sent to another one. If the credential
	 * cannot be read at the moment, the service opens all the same, since each request can read it again.
	 */
	runBaseUrl?: string;
}

/**
 * Opens the service with an item's credential. Requests go through n8n's own helper, which brings proxies
 * and certificates and adds the API key. The service does not show the API key.
 *
 * @throws FailureError if the credential may not be used
 */
export async function openService(
	context: Context,
	{ owner = context, itemIndex, cancel, runBaseUrl }: OpenedFor = {},
): Promise<Service> {
	let readAt = clock.now();
	let reading = readCredential(context, itemIndex);
	const tried = reading.catch(() => undefined);
	const first = await (runBaseUrl === undefined ? reading : within(READING_FOR_WAIT_MS, tried));
	const baseUrl = runBaseUrl ?? first?.baseUrl ?? '';
	let key = '';
	let apiKey = '';
	const use = (credential: ServiceCredential): Answer<never> | undefined => {
		if (credential.baseUrl !== baseUrl) {
			return { kind: 'credentialChanged', reason: "The credential's Base URL has changed" };
		}
		({ apiKey } = credential);
		const former = key;
		key = hashOf([baseUrl, apiKey]);
		if (former !== '' && former !== key) limiters(former).release(owner);
		return undefined;
	};
	if (first) use(first);

	async function renew(): Promise<Answer<never> | undefined> {
		if (clock.now() - readAt > CREDENTIAL_USED_MS) {
			readAt = clock.now();
			reading = readCredential(context, itemIndex).finally(() => {
				readAt = clock.now();
			});
		}
		try {
			return use(await reading);
		} catch (thrown) {
			const { message } = asError(asError(thrown).cause ?? thrown);
			return { kind: isCredentialGone(message) ? 'credentialChanged' : 'notSent', reason: message };
		}
	}

	async function send<T>(request: ServiceRequest<T>): Promise<Answer<T>> {
		const refused = await renew();
		if (refused) return refused;
		const sentApiKey = apiKey;
		let response: RawResponse;
		try {
			response = (await context.helpers.httpRequestWithAuthentication.call(
				context,
				CREDENTIAL_TYPE,
				{
					method: request.method,
					url: `${baseUrl}${request.path}`,
					...(request.query && { qs: request.query }),
					...(request.body && { body: request.body }),
					json: true,
					// As text, to tell JSON from a web page that came in its place.
					encoding: 'text',
					returnFullResponse: true,
					ignoreHttpStatusErrors: true,
					// n8n's helper would send the API key on to wherever a redirect points.
					disableFollowRedirect: true,
					timeout: request.timeoutMs ?? requestTimeouts[request.method],
				},
				// n8n's helper would read the credential once more, and always that of the first item.
				{
					credentialsDecrypted: {
						id: '',
						name: '',
						type: CREDENTIAL_TYPE,
						data: { baseUrl, apiKey: sentApiKey },
					},
				},
			)) as RawResponse;
		} catch (error) {
			return withoutApiKey(readThrown(error, cancel?.aborted ?? false), sentApiKey);
		}
		return withoutApiKey(readResponse(response, request.hasShape), sentApiKey);
	}

	return {
		baseUrl,
		owner,
		renew,
		send,
		get key() {
			return key;
		},
		get limiter() {
			return limiters(key);
		},
	};
}
