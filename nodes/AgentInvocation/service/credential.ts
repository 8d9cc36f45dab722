import type {
	ICredentialDataDecryptedObject,
	IExecuteFunctions,
	IHttpRequestOptions,
	ILoadOptionsFunctions,
} from 'n8n-workflow';

import { within } from '../clock';
import { asError, fail, UnansweredError, type Failure } from '../failure';
import { INVISIBLE, visibleIn } from '../textKey';
import { toText } from './types';

/** The name of the credential type, as workflows store it. */
export const CREDENTIAL_TYPE = 'agentInvocationApi';

/** How long n8n may take to read the credential, perhaps from an external secret store, in ms. */
const LONGEST_READING_MS = 30_000;

/** A credential of the type `agentInvocationApi` that may be used. */
export interface ServiceCredential {
	/** Its scheme and host are the same however they were entered. Without a slash at its end. */
	baseUrl: string;
	apiKey: string;
}

/** For what n8n runs the package: an execution, or the editor. */
export type Context = IExecuteFunctions | ILoadOptionsFunctions;

/**
 * The replacements that make a base URL of what was entered: nothing invisible in it, `https://` if there is no
 * scheme, no slash at the end, `/api/v1` if there is no path. They are data, since the credential's test can
 * only do the same in an expression.
 */
export const BASE_URL_REPLACEMENTS: ReadonlyArray<[pattern: RegExp, by: string]> = [
	[INVISIBLE, ''],
	[/^\s+|\s+$/g, ''],
	// One slash is enough for a scheme: 'https:/host' is a typing error, not a host named 'https'.
	[/^(?![a-z][a-z\d+.-]*:[/\\])(\/\/)?/i, 'https://'],
	[/\/+$/, ''],
	[/^([^/]+:\/\/[^/?#]+)$/, '$1/api/v1'],
];

/**
 * Reads the node's credential.
 *
 * @param itemIndex the item for which n8n evaluates the credential's expressions
 * @throws FailureError if it cannot be read, or may not be used; an UnansweredError if n8n does not give it in time
 */
export async function readCredential(
	context: Context,
	itemIndex?: number,
): Promise<ServiceCredential> {
	let data: ICredentialDataDecryptedObject | undefined;
	try {
		data = await within(LONGEST_READING_MS, context.getCredentials(CREDENTIAL_TYPE, itemIndex));
	} catch (thrown) {
		const cause = asError(thrown);
		fail(unusable(cause.message), cause);
	}
	// It says nothing about this item: the others would wait in vain, too.
	if (!data) throw new UnansweredError(unusable('The credential could not be read in time'));
	return checkCredential(data);
}

function unusable(says: string): Failure {
	return {
		message: "This node's credential cannot be used",
		description: `Choose or create one under 'Credential to connect with'. n8n says: ${says}`,
		details: {},
	};
}

/**
 * Whether the credential is gone for good, by what n8n says. Otherwise, for example, a secret store may be unavailable
 * (docs/n8n.md, Credentials).
 */
export function isCredentialGone(message: string): boolean {
	return /does not exist for type|does not have any credentials/.test(message);
}

/**
 * Checks a credential before anything is sent with it: an address with a user, a query or a fragment
 * would take the API key, or the path, somewhere else than its reader thinks.
 *
 * @throws FailureError if it may not be used
 */
export function checkCredential(data: Record<string, unknown>): ServiceCredential {
	const given = typeof data.baseUrl === 'string' ? data.baseUrl : '';
	const baseUrl = BASE_URL_REPLACEMENTS.reduce(
		(url, [pattern, by]) => url.replace(pattern, by),
		given,
	);
	const apiKey = visibleIn(toText(data.apiKey));
	const isEmpty = visibleIn(given) === '';
	const wrongAddress = isEmpty ? 'is empty' : wrongBaseUrl(baseUrl);
	if (wrongAddress !== undefined) {
		return fail({
			message: `'Base URL' in the credential ${wrongAddress}`,
			description:
				"Open this node's credential and correct it. A base URL looks like https://agents.example.com/api/v1.",
		});
	}
	const wrongKey = wrongApiKey(apiKey, given);
	if (wrongKey !== undefined) {
		return fail({
			message: `'API Key' in the credential ${wrongKey}`,
			description:
				"Open this node's credential and paste the key again, as the service showed it to the admin who created it.",
		});
	}
	const { origin } = new URL(baseUrl);
	return { baseUrl: baseUrl.replace(/^[^/]+\/\/[^/]+/, () => origin), apiKey };
}

/**
 * Adds the API key to a request, whichever node sends it.
 *
 * @throws FailureError or Error when the credential may not be used, or the request goes to another host than its base URL
 */
export function addApiKey(
	data: Record<string, unknown>,
	// n8n's HTTP Request node calls it `uri`.
	request: IHttpRequestOptions & { uri?: string },
): IHttpRequestOptions {
	const { baseUrl, apiKey } = checkCredential(data);
	const { origin } = new URL(baseUrl);
	const { baseURL } = request;
	// `new URL` ignores the base if the address is complete, so the base is checked too.
	const asked = [parse(request.uri ?? request.url, baseURL), ...(baseURL ? [parse(baseURL)] : [])];
	if (asked.some((url) => url?.origin !== origin)) {
		throw new Error(
			`This credential works only for addresses at ${origin}, the host in its Base URL`,
		);
	}
	return { ...request, headers: { ...request.headers, 'x-api-key': apiKey } };
}

/** A host, and not a second scheme. */
const HOST = /^(?!https?$)[\w.-]+$|^\[/;

function wrongBaseUrl(baseUrl: string): string | undefined {
	if (!/^https?:/i.test(baseUrl)) return 'must start with https:// or http://';
	if (/[\s\\"'<>‘’“”„«»]/.test(baseUrl)) {
		return 'contains a space, a quotation mark or a backslash';
	}
	const url = parse(baseUrl);
	if (!/^https?:\/\/[^/]/i.test(baseUrl) || !url || !HOST.test(url.hostname)) {
		return 'is not a web address';
	}
	if (url.username || url.password) return 'must not contain a user name or password';
	if (baseUrl.includes('?')) return 'must not contain a query (?)';
	if (baseUrl.includes('#')) return 'must not contain a fragment (#)';
	return undefined;
}

// Not with `URL.canParse`: called often, it rejects some hosts with non-ASCII letters (Node.js 20.20.2).
function parse(url: string, base?: string): URL | undefined {
	try {
		return new URL(url, base);
	} catch {
		return undefined;
	}
}

/** An address as it is often entered, without a scheme. */
const BARE_ADDRESS = /^[\w-]+(\.[\w-]+)*\.[a-z]{2,}(:\d+)?(\/|$)/;

function wrongApiKey(apiKey: string, givenBaseUrl: string): string | undefined {
	if (apiKey === '') return 'is empty';
	// The two fields are easily swapped. Nothing is sent then: the key would be looked up as a host.
	const mayBeSwapped = BARE_ADDRESS.test(apiKey) && /^[\w-]+$/.test(givenBaseUrl.trim());
	if (mayBeSwapped || /^https?:\/\//i.test(apiKey)) return 'is a web address';
	if (/[\r\n]/.test(apiKey)) return 'contains a line break';
	// The visible characters of ASCII, which HTTP allows in a header's value (RFC 9110, section 5.5).
	if (!/^[\x21-\x7e]+$/.test(apiKey)) return 'contains a space or a character that no key has';
	return undefined;
}
