import { asText } from '../failure';
import type { AnswerKind } from './answerKinds';
import { isErrorCode, isJsonObject, readServiceError, type ServiceError } from './types';

/** What became of one request. Sending never throws: the caller judges the answer by its kind. */
export interface Answer<T = unknown> {
	kind: AnswerKind;
	/** HTTP status; absent when no response came. That of a refusal, if the request was too late to be sent. */
	status?: number;
	/** The body when `kind` is `ok`. */
	body?: T;
	/** The error envelope, when there was one. */
	serviceError?: ServiceError;
	/** From the envelope or the `X-Request-Id` header. */
	requestId?: string;
	/** The `Retry-After` header as it came, whatever the answer. */
	retryAfter?: string;
	/** The `Date` header: the time of the service's clock. */
	date?: string;
	/** What n8n or Node.js said when no response came. Never holds the API key. */
	reason?: string;
	/** When the request was sent, by the clock; always there if `kind` is `ok`. */
	sentAt?: number;
}

/** A response as n8n's request helper gives it, its body still text. */
export interface RawResponse {
	statusCode: number;
	headers: Record<string, unknown>;
	body: unknown;
}

/**
 * Sorts a response into an {@link Answer}.
 *
 * @param hasShape tells whether a 2xx body is what the endpoint promises
 */
export function readResponse<T>(
	response: RawResponse,
	hasShape: (body: unknown) => body is T,
): Answer<T> {
	const status = response.statusCode;
	const json = parseJson(response.body);
	const serviceError = readServiceError(json?.value);
	const requestId = serviceError?.requestId || header(response, 'x-request-id');
	const retryAfter = header(response, 'retry-after');
	const date = header(response, 'date');
	const facts = { status, serviceError, requestId, retryAfter, date };
	if (status >= 200 && status < 300) {
		if (json && hasShape(json.value)) return { kind: 'ok', ...facts, body: json.value };
		return { kind: 'foreign', ...facts };
	}
	return { kind: kindOfStatus(status, serviceError), ...facts };
}

/** The statuses below 500 that `sandbox/openapi.yaml` lists for some request, except 429. */
const LISTED = [400, 401, 404];

function kindOfStatus(status: number, error: ServiceError | undefined): AnswerKind {
	if (status === 429) return 'rateLimited';
	if (status >= 500) return 'serverError';
	// A rejected key may come with any body.
	if (status === 401) return 'rejected';
	// A proxy has not let the request pass.
	if (status === 407) return 'notConnected';
	// Without the envelope, the answer is a gateway's.
	if (status >= 400 && error && !error.isPartial) {
		if (error.code === 'run_not_found') return 'unknownRun';
		const isOfRequest = isErrorCode(error.code) && error.code !== 'internal_error';
		const isListed = LISTED.includes(status) || isOfRequest;
		return isListed ? 'rejected' : 'unlisted';
	}
	if (status === 302 || status === 303) return 'seeOther';
	return status >= 300 && status < 400 ? 'redirect' : 'foreign';
}

/** A run ID that is a number with more digits than JavaScript keeps. */
const LONG_RUN_ID = /("run_id"\s*:\s*)(-?\d{16,})(?=\s*[,}])/g;

function parseJson(body: unknown): { value: unknown } | undefined {
	if (typeof body !== 'string') return { value: body };
	try {
		return { value: body === '' ? null : JSON.parse(body.replace(LONG_RUN_ID, '$1"$2"')) };
	} catch {
		return undefined;
	}
}

function header(response: RawResponse, name: string): string | undefined {
	const value = response.headers[name];
	return typeof value === 'string' ? value : undefined;
}

// System error codes which mean that the request was not sent (nodejs.org/api/errors.html, libuv).
const NOT_CONNECTED = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN)$/;
/** The system calls that connect, or look up the address before. */
const CONNECTING = /^(connect|getaddrinfo|query.*)$/;
/** What Node.js and the library of n8n's proxies say if the other side hangs up before anything is sent. */
const HUNG_UP_BEFORE =
	/^(Client network socket disconnected before secure TLS connection|Proxy connection ended before receiving CONNECT)/;
/** Codes of requests whose answer did not come in time. */
const TIMED_OUT = /^(ECONNABORTED|ETIMEDOUT)$/;
// Codes of a failed handshake, before the request is sent. Later, OpenSSL gives other ERR_SSL_... codes, as for a broken
// record.
const NOT_SECURED = /^ERR_TLS_(?!CERT)|^ERR_SSL_.*CERT/;
/** What Node.js says of a certificate that it has checked, or of a list of revoked ones. */
const NOT_TRUSTED =
	/CERT|CRL|^UNABLE_TO_|^(INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH|UNSPECIFIED)$/;
/** Codes of requests that Node.js refuses to send. */
const NOT_SENT = /^ERR_(INVALID|UNESCAPED|BAD_OPTION)/;
/** The names of n8n's own refusals, which have no code: its protection against requests to internal addresses. */
const REFUSED_BY_N8N = /^SsrfBlocked/;

/**
 * Sorts what n8n's request helper threw into an {@link Answer}. The helper wraps the error of its
 * HTTP client, whose code is somewhere along the chain of causes.
 */
export function readThrown(thrown: unknown, cancelled: boolean): Answer<never> {
	if (cancelled) return { kind: 'cancelled' };
	const chain = causes(thrown);
	// Where n8n 2.0 drops the cause, its own error has the code as `httpCode`.
	const codes = chain
		.flatMap(({ code, httpCode }) => [code, httpCode])
		.filter((code) => typeof code === 'string')
		.filter((code) => /^[A-Z]/.test(code));
	const reason = asText(chain.at(-1)?.message ?? thrown);
	const unread = chain.map(({ response }) => response).find(isResponse);
	if (unread) {
		const { status: statusCode, headers } = unread;
		const read = readResponse({ statusCode, headers, body: '' }, (_): _ is never => false);
		// Of any other kind, the status says enough without the body.
		if (read.kind !== 'foreign') return read;
	}
	const has = (pattern: RegExp) => codes.some((code) => pattern.test(code));

	if (has(NOT_SECURED) || chain.some(wasSecuring)) return { kind: 'notSecured', reason };
	if (has(NOT_TRUSTED)) return { kind: 'notTrusted', reason };
	if (has(NOT_CONNECTED) || chain.some(wasConnecting)) return { kind: 'notConnected', reason };
	if (has(TIMED_OUT)) return { kind: 'timedOut', reason };
	const isRefusedByN8n = chain.some(({ name }) => REFUSED_BY_N8N.test(asText(name)));
	if (isRefusedByN8n || has(NOT_SENT)) return { kind: 'notSent', reason };
	// Also an error without a code: n8n 1 drops the code if an answer breaks off, even if the create was
	// carried out.
	return { kind: 'connectionLost', reason };
}

/** Whether it is a response of the HTTP client, which adds it to an error if the body could not be read. */
function isResponse(
	response: unknown,
): response is { status: number; headers: Record<string, unknown> } {
	return (
		isJsonObject(response) && typeof response.status === 'number' && isJsonObject(response.headers)
	);
}

/**
 * Whether the connection was being made. Node.js tries each address of a host, and then throws one error with
 * all of theirs.
 */
function wasConnecting({ syscall, message, errors, request }: Record<string, unknown>): boolean {
	if (Array.isArray(errors) && errors.length > 0) {
		return errors.every((error) => isJsonObject(error) && wasConnecting(error));
	}
	const socket = isJsonObject(request) ? request.socket : undefined;
	const isSecuring = isJsonObject(socket) && socket.secureConnecting === true;
	return isSecuring || CONNECTING.test(asText(syscall)) || HUNG_UP_BEFORE.test(asText(message));
}

/**
 * Whether the handshake failed, for example because the server speaks plain http. Any other such error may also come
 * later, instead of an answer (tried with Node.js 20).
 */
function wasSecuring({ code, syscall }: Record<string, unknown>): boolean {
	return code === 'EPROTO' && syscall === 'write';
}

function causes(thrown: unknown): Array<Record<string, unknown>> {
	const chain: Array<Record<string, unknown>> = [];
	for (let error = thrown; isJsonObject(error) && chain.length < 8; error = error.cause) {
		chain.push(error);
	}
	return chain;
}
