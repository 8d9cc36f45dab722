import { once } from 'node:events';
import { createServer } from 'node:http';
import { request } from 'node:https';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';

import { readResponse, readThrown } from '../../nodes/AgentInvocation/service/answer.ts';
import { explainAnswer } from '../../nodes/AgentInvocation/service/explainAnswer.ts';
import { isFinished } from '../../nodes/AgentInvocation/service/runStatus.ts';
import {
	isAgentPage,
	isCreatedRun,
	isRun,
	isRunId,
	readServiceError,
} from '../../nodes/AgentInvocation/service/types.ts';

const systemError = (code: string, syscall: string) =>
	Object.assign(new Error(`${syscall} ${code}`), { code, syscall });

/** As Node.js throws it for a host with several addresses, which it tries one after the other. */
const ofAllAddresses = (...errors: Error[]) =>
	Object.assign(new AggregateError(errors), { code: 'ETIMEDOUT' });

// 'notConnected' is sent again, since it started nothing; of the others, nobody knows.
test.each([
	[systemError('ECONNREFUSED', 'connect'), 'notConnected'],
	// As n8n 2.0 keeps it.
	[{ httpCode: 'ECONNREFUSED' }, 'notConnected'],
	[systemError('ETIMEDOUT', 'connect'), 'notConnected'],
	[systemError('EAI_FAIL', 'getaddrinfo'), 'notConnected'],
	[systemError('ESERVFAIL', 'queryA'), 'notConnected'],
	[systemError('ETIMEDOUT', 'read'), 'timedOut'],
	[systemError('ECONNRESET', 'read'), 'connectionLost'],
	[
		ofAllAddresses(systemError('ETIMEDOUT', 'connect'), systemError('ENETUNREACH', 'connect')),
		'notConnected',
	],
	[ofAllAddresses(systemError('ETIMEDOUT', 'read')), 'timedOut'],
	[
		ofAllAddresses(systemError('ETIMEDOUT', 'connect'), systemError('ETIMEDOUT', 'read')),
		'timedOut',
	],
	[systemError('EPROTO', 'write'), 'notSecured'],
	[systemError('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'read'), 'notSecured'],
	[systemError('ERR_TLS_HANDSHAKE_TIMEOUT', 'read'), 'notSecured'],
	[systemError('EPROTO', 'read'), 'connectionLost'],
	// Plain text in a secure connection, which may come in place of an answer.
	[systemError('ERR_SSL_WRONG_VERSION_NUMBER', 'read'), 'connectionLost'],
	[systemError('ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC', 'read'), 'connectionLost'],
])('%j is %s', (cause, kind) => {
	expect(readThrown(new Error('n8n says', { cause }), false).kind).toBe(kind);
});

test.each([
	'Client network socket disconnected before secure TLS connection was established',
	'Proxy connection ended before receiving CONNECT response',
])('%s: nothing was sent', (message) => {
	const cause = Object.assign(new Error(message), { code: 'ECONNRESET' });
	expect(readThrown(new Error('n8n says', { cause }), false).kind).toBe('notConnected');
});

test('a server that hangs up before the connection is secure has got nothing', async () => {
	const server = createTcpServer((socket) => socket.end()).listen(0, '127.0.0.1');
	await once(server, 'listening');
	const { port } = server.address() as AddressInfo;
	const [cause] = (await once(request({ host: '127.0.0.1', port }).end(), 'error')) as [Error];
	server.close();
	expect(readThrown(new Error('n8n says', { cause }), false).kind).toBe('notConnected');
});

test('https to a server that speaks plain http is not a matter of its certificate', async () => {
	const server = createServer().listen(0, '127.0.0.1');
	await once(server, 'listening');
	const { port } = server.address() as AddressInfo;
	const [cause] = (await once(request({ host: '127.0.0.1', port }).end(), 'error')) as [Error];
	server.close();
	expect(readThrown(new Error('n8n says', { cause }), false).kind).toBe('notSecured');
});

test.each([
	[429, 'rateLimited'],
	[401, 'rejected'],
	[407, 'notConnected'],
	[503, 'serverError'],
	[303, 'seeOther'],
	[308, 'redirect'],
])('a %i whose body cannot be read is one all the same', (status, kind) => {
	const response = { status, headers: { 'retry-after': '7' } };
	const cause = Object.assign(systemError('Z_DATA_ERROR', ''), { response });
	const answer = readThrown(new Error('n8n says', { cause }), false);
	expect(answer).toMatchObject({ kind, status, retryAfter: '7' });
});

test.each([
	[{ status: 202, headers: {} }],
	[{ status: 404, headers: {} }],
	[{ status: 429 }],
	[{ status: '429', headers: {} }],
	['429'],
	[undefined],
])('any other answer whose body cannot be read may be that of a run: %j', (response) => {
	const cause = Object.assign(systemError('Z_DATA_ERROR', ''), { response });
	expect(readThrown(new Error('n8n says', { cause }), false).kind).toBe('connectionLost');
});

test('a lost connection is known by the code that n8n 2.0 keeps in its own error alone', () => {
	const thrown = { message: 'The connection to the server was closed', httpCode: 'ECONNRESET' };
	expect(readThrown(thrown, false).kind).toBe('connectionLost');
});

test.each([
	[{ message: 'stream has been aborted', httpCode: null }],
	[{ message: 'Odd', httpCode: '404' }],
	['a text'],
])('what is thrown without a code may have been sent: %j', (thrown) => {
	expect(readThrown(thrown, false).kind).toBe('connectionLost');
});

test.each([
	[{ secureConnecting: true }, 'notConnected'],
	[{ secureConnecting: false }, 'connectionLost'],
	[undefined, 'connectionLost'],
])('a reset amid the handshake comes before the request: %j', (socket, kind) => {
	const cause = Object.assign(systemError('ECONNRESET', 'read'), { request: { socket } });
	expect(readThrown(new Error('n8n says', { cause }), false).kind).toBe(kind);
});

test('a request that Node.js refuses to send was not sent', () => {
	const cause = systemError('ERR_INVALID_CHAR', 'setHeader');
	expect(readThrown(new Error('n8n says', { cause }), false).kind).toBe('notSent');
});

const ENVELOPE = '{"error":{"code":"c","message":"m","request_id":"r"}}';

describe('a response', () => {
	const isAny = (body: unknown): body is unknown => body !== 'odd';
	const read = (statusCode: number, body: unknown = '{}', headers: Record<string, unknown> = {}) =>
		readResponse({ statusCode, body, headers }, isAny);

	test.each<[number, unknown, string]>([
		[199, '{}', 'foreign'],
		[200, '{}', 'ok'],
		[299, '', 'ok'],
		[200, { a: 1 }, 'ok'],
		[200, '<html>', 'foreign'],
		[200, '"odd"', 'foreign'],
		[300, '{}', 'redirect'],
		[399, '<html>', 'redirect'],
		[302, '{}', 'seeOther'],
		[303, '{}', 'seeOther'],
		[307, '{}', 'redirect'],
		[400, ENVELOPE, 'rejected'],
		[400, '{}', 'foreign'],
		[400, '<html>', 'foreign'],
		[401, '<html>', 'rejected'],
		[404, ENVELOPE, 'rejected'],
		[404, '', 'foreign'],
		[404, '{"error":{"code":404,"message":"No route"}}', 'foreign'],
		[404, '{"error":{"message":"No route"}}', 'foreign'],
		[404, '{"error":{"code":"NotFound","message":"No route"}}', 'foreign'],
		[404, '<html>', 'foreign'],
		// A proxy has not let it pass.
		[407, '<html>', 'notConnected'],
		[403, ENVELOPE, 'unlisted'],
		[403, '{"error":{"code":"invalid_api_key","message":"No","request_id":"r"}}', 'rejected'],
		[408, '{"error":{"code":"internal_error","message":"No","request_id":"r"}}', 'unlisted'],
		[400, '{"error":{"code":"unknown_parameter","message":"No","request_id":17}}', 'rejected'],
		[404, '{"error":{"code":"run_not_found","message":"No","request_id":"r"}}', 'unknownRun'],
		// A part of the envelope proves nothing.
		[404, '{"error":{"code":"run_not_found","message":"No","request_id":null}}', 'foreign'],
		[403, '{"error":{"code":"invalid_api_key","message":"No"}}', 'foreign'],
		[400, '{"error":{"code":null,"message":"Bad agent","request_id":"r"}}', 'foreign'],
		[400, '{"error":{"code":"unknown_parameter","request_id":"r"}}', 'foreign'],
		[403, '{"message":"Forbidden"}', 'foreign'],
		[408, '', 'foreign'],
		[429, '<html>', 'rateLimited'],
		[499, ENVELOPE, 'unlisted'],
		[499, '{}', 'foreign'],
		[500, '{}', 'serverError'],
		[502, '<html>', 'serverError'],
	])('with the status %d and the body %j is %s', (status, body, kind) => {
		expect(read(status, body)).toMatchObject({ kind, status });
	});

	test('has its body, read as JSON', () => {
		expect(read(200, '{"a":1}').body).toEqual({ a: 1 });
		expect(read(200, '').body).toBeNull();
		expect(read(200, { a: 1 }).body).toEqual({ a: 1 });
		expect('body' in read(500)).toBe(false);
	});

	test("has a run's ID with all its digits", () => {
		const body = (id: string) => read(202, `{"run_id": ${id}, "status":"x"}`).body;
		expect(body('12345678901234567890')).toEqual({ run_id: '12345678901234567890', status: 'x' });
		expect(body('-1234567890123456789')).toMatchObject({ run_id: '-1234567890123456789' });
		expect(body('1234567890')).toEqual({ run_id: 1234567890, status: 'x' });
		const said = String.raw`"{\"run_id\": 12345678901234567890}"`;
		expect(body(said)).toEqual({ run_id: '{"run_id": 12345678901234567890}', status: 'x' });
	});

	test('has what its headers and its envelope say', () => {
		const headers = { 'x-request-id': 'h', 'retry-after': '7' };
		expect(read(429, '<html>', headers)).toMatchObject({ requestId: 'h', retryAfter: '7' });
		const error = { code: 'c', message: 'm', request_id: 'e' };
		expect(read(400, JSON.stringify({ error }), headers)).toMatchObject({
			requestId: 'e',
			serviceError: { code: 'c', message: 'm', requestId: 'e' },
		});
		const unnamed = { error: { ...error, request_id: '' } };
		expect(read(400, JSON.stringify(unnamed), headers).requestId).toBe('h');
		expect(read(400, '{}', { 'x-request-id': ['h'], 'retry-after': 7 })).toEqual({
			kind: 'foreign',
			status: 400,
			serviceError: undefined,
			requestId: undefined,
			retryAfter: undefined,
		});
	});
});

test.each<[unknown, unknown]>([
	[
		{ error: { code: 'c', message: 'm', request_id: 'r' } },
		{ code: 'c', message: 'm', requestId: 'r' },
	],
	[
		{ error: { code: 'c', message: 'm', request_id: 1 } },
		{ code: 'c', message: 'm', requestId: '1' },
	],
	[{ error: { code: 'c', message: 'm' } }, undefined],
	[
		{ error: { code: 'run_not_found', message: 'm' } },
		{ code: 'run_not_found', message: 'm', requestId: '', isPartial: true },
	],
	[{ error: { code: 'c' } }, undefined],
	[{ error: { message: 'm', code: 1, request_id: 1 } }, undefined],
	[{ error: {} }, undefined],
	[{ error: 'text' }, undefined],
	[{}, undefined],
	['text', undefined],
	[null, undefined],
	[[], undefined],
])('the envelope in %j is %j', (body, envelope) => {
	expect(readServiceError(body)).toEqual(envelope);
});

test.each([
	['123e4567-e89b-12d3-a456-426614174000', true],
	['a', true],
	['..a', true],
	['x'.repeat(200), true],
	['x'.repeat(201), false],
	['', false],
	['.', false],
	['..', false],
	['...', true],
	['a b', false],
	['a/b', false],
	['a\\b', false],
	['a?b', false],
	['a#b', false],
	['a%b', false],
	['a\u0000', false],
])('%j is a run ID: %p', (text, expected) => expect(isRunId(text)).toBe(expected));

test.each<[(value: unknown) => boolean, unknown, boolean]>([
	[isRun, { run_id: 'x', status: 'x' }, true],
	[isRun, { run_id: 7, status: 'x' }, true],
	[isRun, { run_id: '', status: 'x' }, false],
	[isRun, { run_id: 'x' }, false],
	[isRun, { status: 'x' }, false],
	[isRun, { run_id: 'x', status: 1 }, false],
	[isRun, null, false],
	[isRun, [], false],
	[isAgentPage, { agents: [] }, true],
	[isAgentPage, { agents: [{}] }, true],
	[isAgentPage, { agents: [{}, 1] }, true],
	[isAgentPage, { agents: [1, null] }, false],
	[isAgentPage, { agents: {} }, false],
	[isAgentPage, null, false],
	[isCreatedRun, { run_id: 'x' }, true],
	[isCreatedRun, { run_id: 7 }, true],
	[isCreatedRun, { run_id: ' ' }, false],
	[isCreatedRun, { run_id: null }, false],
	[isCreatedRun, null, false],
])('%p of %j: %p', (is, value, expected) => expect(is(value)).toBe(expected));

test.each([
	['succeeded', undefined, true],
	['failed', null, true],
	['cancelled', null, true],
	['pending', '2026-01-01', false],
	['running', '2026-01-01', false],
	['paused', null, false],
	['paused', undefined, false],
	['expired', '2026-01-01', true],
	['Canceled', null, true],
])('a run that is %s, completed at %p, has finished: %p', (status, completedAt, expected) => {
	const run = {
		run_id: 'x',
		status,
		...(completedAt !== undefined && { completed_at: completedAt }),
	};
	expect(isFinished(run)).toBe(expected);
});

test.each<[unknown, string, string]>([
	[Object.assign(new Error('a'), { code: 'ECONNABORTED' }), 'timedOut', 'a'],
	[Object.assign(new Error('a'), { code: 'ENOTFOUND' }), 'notConnected', 'a'],
	[Object.assign(new Error('a'), { code: 'EAI_AGAIN' }), 'notConnected', 'a'],
	[Object.assign(new Error('a'), { code: 'CERT_HAS_EXPIRED' }), 'notTrusted', 'a'],
	[Object.assign(new Error('a'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }), 'notTrusted', 'a'],
	[Object.assign(new Error('a'), { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }), 'notTrusted', 'a'],
	[Object.assign(new Error('a'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }), 'notTrusted', 'a'],
	...['INVALID_CA', 'INVALID_PURPOSE', 'HOSTNAME_MISMATCH', 'UNSPECIFIED', 'CRL_HAS_EXPIRED'].map(
		(code) =>
			[Object.assign(new Error('a'), { code }), 'notTrusted', 'a'] as [unknown, string, string],
	),
	[Object.assign(new Error('a'), { code: 'EPROTO' }), 'connectionLost', 'a'],
	[Object.assign(new Error('a'), { code: 'ERR_UNESCAPED_CHARACTERS' }), 'notSent', 'a'],
	[Object.assign(new Error('a'), { code: 'not an ERR_INVALID_URL' }), 'connectionLost', 'a'],
	[Object.assign(new Error('a'), { code: 'ERR_INVALID_CALLBACK' }), 'notSent', 'a'],
	[Object.assign(new Error('a'), { code: 'no CERT' }), 'connectionLost', 'a'],
	...['X_ERR_TLS', 'X_EPROTO', 'EPROTOTYPE', 'X_ERR_SSL_PROTOCOL', 'X_ERR_INVALID'].map(
		(code) =>
			[Object.assign(new Error('a'), { code }), 'connectionLost', 'a'] as [unknown, string, string],
	),
	...['SsrfBlockedIpError', 'SsrfBlockedHostnameError'].map(
		(name) =>
			[Object.assign(new Error('a'), { name }), 'notSent', 'a'] as [unknown, string, string],
	),
	[new AggregateError([], 'a'), 'connectionLost', 'a'],
	[new Error('a', { cause: { message: 'b', cause: 'odd' } }), 'connectionLost', 'b'],
	['a text', 'connectionLost', 'a text'],
	[{}, 'connectionLost', 'an object'],
])('of %p, thrown: %s, since %j', (thrown, kind, reason) => {
	expect(readThrown(thrown, false)).toEqual({ kind, reason });
	expect(readThrown(thrown, true)).toEqual({ kind: 'cancelled' });
});

test('what is said of an answer that leaves a create in doubt is one sentence', () => {
	const subject = { agentId: 7, runId: 'r', startsRun: true, baseUrl: '' };
	expect(explainAnswer({ kind: 'timedOut' }, subject).message).toBe(
		'The service did not answer in time (a run may have been started) (run r of agent 7)',
	);
});

test('a 400 that says nothing is put in words of our own', () => {
	const { message } = explainAnswer({ kind: 'rejected', status: 400 }, { baseUrl: '' });
	expect(message).toBe('The service rejected the request');
});

test('an error that is its own cause is read like any other', () => {
	const thrown = new Error('a');
	thrown.cause = thrown;
	expect(readThrown(thrown, false)).toEqual({ kind: 'connectionLost', reason: 'a' });
});
