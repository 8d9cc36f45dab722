import { textFormsOf } from '../../keySearch.cts';
import type { SeenRequest } from './history.cts';
import type { FaultKind, FaultSpec } from './world.cts';

/** A response as n8n's request helper gives it. */
export interface Answered {
	statusCode: number;
	headers: Record<string, string>;
	body: string;
}

const PAGE = '<!DOCTYPE html><html><body><h1>Welcome</h1></body></html>';

/** The key of an organization, by its number. It looks another way in what escapes something. */
export function apiKeyOf(key: number): string {
	return `secret/key+${key}&of"an-organization`;
}

/** The key as a service or a proxy may quote it. */
function quotedKey({ number, key }: SeenRequest): string {
	const forms = [...textFormsOf(apiKeyOf(key)).values()];
	return forms[number % forms.length]!;
}

/** How the lookup of an address fails: of the system's resolver, or of another one. */
const LOOKUPS = [
	['ENOTFOUND', 'getaddrinfo'],
	['EAI_FAIL', 'getaddrinfo'],
	['ESERVFAIL', 'queryA'],
] as const;

/** How a connection is not made: it is refused, or the server or a proxy hangs up. */
const CONNECTIONS: Array<Parameters<typeof thrown>> = [
	['ECONNREFUSED', 'connect', 'connect ECONNREFUSED 192.0.2.1:443'],
	[
		'ECONNRESET',
		undefined,
		'Client network socket disconnected before secure TLS connection was established',
	],
	[undefined, undefined, 'Proxy connection ended before receiving CONNECT response'],
];

type Makes = (seen: SeenRequest, spec: FaultSpec) => Answered | Error;

const page =
	(status: number): Makes =>
	() =>
		answer(status, PAGE);

/** Those that come before anything is sent. */
export const UNSENT: FaultKind[] = ['refused', 'dns', 'certificate', 'handshake', 'blocked'];

/** What comes in place of an answer. */
const ANSWERS: Record<FaultKind, Makes> = {
	reset: () => thrown('ECONNRESET', 'read', 'read ECONNRESET'),
	timeout: () => thrown('ECONNABORTED', undefined, 'timeout exceeded'),
	refused: ({ number }) => thrown(...CONNECTIONS[number % CONNECTIONS.length]!),
	dns: ({ number }) => {
		const [code, syscall] = LOOKUPS[number % LOOKUPS.length]!;
		return thrown(code, syscall, `${syscall} ${code} agents.example.com`);
	},
	certificate: ({ number }) =>
		number % 2 === 0
			? thrown('CERT_HAS_EXPIRED', undefined, 'certificate has expired')
			: thrown('INVALID_PURPOSE', undefined, 'unsuitable certificate purpose'),
	handshake: ({ number }) =>
		number % 2 === 0
			? thrown('EPROTO', 'write', 'wrong version number')
			: thrown('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'read', 'certificate required'),
	serverError: (seen, { status }) =>
		answer(
			status,
			JSON.stringify({
				error: {
					code: 'internal_error',
					message: `Try later with ${quotedKey(seen)}.`,
					request_id: `q${seen.number}`,
				},
			}),
		),
	badGateway: ({ number }, { status }) => perhapsUnread(number, answer(status, '')),
	html200: page(200),
	html404: page(404),
	html502: page(502),
	empty4xx: (_, { status }) => answer(status, ''),
	foreign4xx: ({ number }, { status }) => {
		const message = 'Not here';
		// Some gateways' errors look like the service's, but for the ID of the request.
		const body = number % 2 === 0 ? { message } : { error: { code: 'NotFound', message } };
		return answer(status, JSON.stringify(body));
	},
	redirect: (_, { status }) => ({
		...answer(status, ''),
		headers: { location: 'https://elsewhere.example.com/' },
	}),
	otherRun: () =>
		answer(
			200,
			JSON.stringify({
				run_id: '99999999-2222-4333-8444-555555555555',
				status: 'succeeded',
				output: 'of somebody else',
				completed_at: '2026-01-01T00:00:00Z',
			}),
		),
	rejected: ({ number }) =>
		answer(
			400,
			JSON.stringify({
				error: {
					code: 'agent_misconfigured',
					message: 'The agent has no model.',
					request_id: `q${number}`,
				},
			}),
		),
	unknownRun: (seen) => {
		seen.code = 'run_not_found';
		const error = { code: seen.code, message: 'There is no such run.', request_id: 'q' };
		return answer(404, JSON.stringify({ error }));
	},
	otherShape: ({ number }) => {
		// A page about the health of a proxy looks like a run that has no ID.
		const health = { status: number % 4 < 2 ? 'failed' : 'succeeded', output: 'all is well' };
		return answer(200, JSON.stringify(number % 2 === 0 ? { ok: true, items: [] } : health));
	},
	stray429: ({ number }) => perhapsUnread(number, answer(429, '')),
	drips: () => thrown('ERR_NEVER', undefined, 'never'),
	blocked: () =>
		Object.assign(new Error('The address is not allowed'), { name: 'SsrfBlockedIpError' }),
};

/** What a request gets that meets a fault. */
export function answerOf(
	kind: FaultKind,
	seen: SeenRequest,
	spec: FaultSpec = { kind, on: 'any', share: 1, isDone: false, status: 500 },
): Answered | Error {
	const made = ANSWERS[kind](seen, spec);
	const response = responseOf(made);
	if (response && spec.retryAfter !== undefined) {
		response.headers['retry-after'] = spec.retryAfter;
	}
	return made;
}

/** An answer; of every other one, the body is not what its headers say, so that n8n's request helper throws. */
function perhapsUnread(number: number, answered: Answered): Answered | Error {
	if (number % 2 === 0) return answered;
	const response = { ...answered, status: answered.statusCode };
	const cause = Object.assign(new Error('incorrect header check'), {
		code: 'Z_DATA_ERROR',
		response,
	});
	return new Error('The request could not be completed', { cause });
}

/** The response that came, even if its body could not be read. */
export function responseOf(
	made: Answered | Error,
): Pick<Answered, 'statusCode' | 'headers'> | undefined {
	if (!(made instanceof Error)) return made;
	return (made.cause as { response?: Answered } | undefined)?.response;
}

function answer(statusCode: number, body: string): Answered {
	return { statusCode, headers: {}, body };
}

/** As n8n's request helper throws where no response came. */
function thrown(code: string | undefined, syscall: string | undefined, message: string): Error {
	const known = { ...(code && { code }), ...(syscall && { syscall }) };
	const cause = Object.assign(new Error(message), known);
	return new Error('The request could not be completed', { cause });
}

/** An answer of the service in JSON. */
export function json(statusCode: number, body: unknown): Answered {
	return { statusCode, headers: {}, body: JSON.stringify(body) };
}
