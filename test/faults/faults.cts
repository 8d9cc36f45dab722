import { createServer, type AddressInfo } from 'node:net';

import type { Fault } from '../../sandbox/faults.cts';
import type { LineTrouble } from './line.cts';

/** Trouble that requests to the service can meet. */
export interface FaultCase {
	name: string;
	/** What the sandbox does in place of its answer. */
	sandbox?: () => Omit<Fault, 'method' | 'path' | 'times'>;
	/** What happens on the way there. */
	line?: LineTrouble;
	/** Whether it keeps the machine so busy that others would take longer meanwhile. */
	isHeavy?: true;
}

const envelope = (status: number, code: string, message: string) => () => ({
	kind: 'answer' as const,
	status,
	body: { error: { code, message, request_id: 'req_1' } },
});
const html = (status: number) => () => ({ kind: 'html' as const, status });
const answer = (body: unknown, headers: Record<string, string> = {}) => ({
	kind: 'answer' as const,
	status: 200,
	headers: { 'content-type': 'application/json', ...headers },
	body,
});
const rateLimited = (retryAfter?: () => string) => () => ({
	...envelope(429, 'rate_limited', 'Too many requests')(),
	...(retryAfter && { headers: { 'retry-after': retryAfter() } }),
});
const inTwoSeconds = () => new Date(Date.now() + 2_000).toUTCString();

/**
 * Trouble of every kind that a request can meet.
 *
 * @param elsewhere the port that redirects lead to
 */
export function faultCases(elsewhere: number): FaultCase[] {
	const redirect = (status: number) => ({
		name: `${status} to another origin`,
		sandbox: () => ({
			kind: 'answer' as const,
			status,
			headers: { location: `http://127.0.0.1:${elsewhere}/api/v1/agents` },
		}),
	});
	return [
		{ name: 'Connection refused', line: 'refused' },
		{ name: 'Host name unknown', line: 'nameUnknown' },
		{ name: 'Unknown certificate', line: 'untrusted' },
		{ name: 'Reset before the request', line: 'resetting' },
		{ name: 'TLS breaks in the answer', line: 'garbled' },
		{ name: 'Reset, not carried out', sandbox: () => ({ kind: 'reset' }) },
		{ name: 'Reset, carried out', sandbox: () => ({ kind: 'reset', carriedOut: true }) },
		{ name: 'Reset in mid-body', sandbox: () => ({ kind: 'truncated', carriedOut: true }) },
		{ name: 'Headers stall', sandbox: () => ({ kind: 'stall', carriedOut: true }) },
		{ name: 'Body stalls', sandbox: () => ({ kind: 'stallBody', carriedOut: true }) },
		...[301, 302, 307, 308].map(redirect),
		{ name: '400', sandbox: envelope(400, 'unknown_parameter', 'No such parameter') },
		{ name: '401 invalid key', sandbox: envelope(401, 'invalid_api_key', 'No such key') },
		{ name: '401 no key', sandbox: envelope(401, 'missing_api_key', 'No key') },
		{ name: '404 agent', sandbox: envelope(404, 'agent_not_found', 'No such agent') },
		{ name: '404 run', sandbox: envelope(404, 'run_not_found', 'No such run') },
		{ name: '408', sandbox: envelope(408, 'timeout', 'Too slow') },
		{ name: '409', sandbox: envelope(409, 'conflict', 'Not now') },
		{ name: '413', sandbox: envelope(413, 'too_large', 'Too much') },
		{ name: '429', sandbox: rateLimited() },
		{ name: '429, Retry-After in seconds', sandbox: rateLimited(() => '1') },
		{ name: '429, Retry-After as a date', sandbox: rateLimited(inTwoSeconds) },
		{ name: '429, Retry-After of a year', sandbox: rateLimited(() => '31536000') },
		{ name: '429, Retry-After of nonsense', sandbox: rateLimited(() => 'soon') },
		{ name: '500', sandbox: envelope(500, 'internal_error', 'Sorry') },
		{ name: '502 as HTML', sandbox: html(502) },
		{ name: '503 as HTML', sandbox: html(503) },
		{ name: '200 with HTML', sandbox: html(200) },
		{ name: '200, empty', sandbox: () => answer('') },
		{ name: '200, cut JSON', sandbox: () => answer('{"agents": [{"id": 1, "na') },
		{ name: '200, another shape', sandbox: () => answer('{"hello": ["world"]}') },
		{
			name: '200 with 50 MB',
			sandbox: () => answer(`{"hello": "${'x'.repeat(50_000_000)}"}`),
			isHeavy: true,
		},
	];
}

/** A server that is not the service. */
export interface Foreigner {
	port: number;
	/** What came to it. */
	received: string[];
	close(): void;
}

export async function startForeigner(): Promise<Foreigner> {
	const received: string[] = [];
	const server = createServer((socket) => socket.on('data', (data) => received.push(String(data))));
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	const { port } = server.address() as AddressInfo;
	return { port, received, close: () => void server.close() };
}
