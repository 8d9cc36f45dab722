import { createServer as createHttpsServer } from 'node:https';
import { createServer, type AddressInfo, type Server } from 'node:net';

import { generate } from 'selfsigned';

import type { Fault } from '../../sandbox/faults.cts';

/** Trouble that requests to the service can meet. */
export interface FaultCase {
	name: string;
	/** What the sandbox does in place of its answer. */
	sandbox?: () => Omit<Fault, 'method' | 'path' | 'times'>;
	/** An address at which every request meets it. */
	baseUrl?: string;
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

/** Trouble of every kind that a request can meet; the addresses are those of {@link startPeers}. */
export function faultCases(peers: Peers): FaultCase[] {
	const redirect = (status: number) => ({
		name: `${status} to another origin`,
		sandbox: () => ({
			kind: 'answer' as const,
			status,
			headers: { location: `http://127.0.0.1:${peers.elsewhere}/api/v1/agents` },
		}),
	});
	return [
		{ name: 'Connection refused', baseUrl: 'http://127.0.0.1:9/api/v1' },
		{ name: 'Host name unknown', baseUrl: 'http://nowhere.invalid/api/v1' },
		{ name: 'Unknown certificate', baseUrl: `https://127.0.0.1:${peers.untrusted}/api/v1` },
		{ name: 'Reset before the request', baseUrl: `http://127.0.0.1:${peers.resetting}/api/v1` },
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
		{ name: '200 with 50 MB', sandbox: () => answer(`{"hello": "${'x'.repeat(50_000_000)}"}`) },
	];
}

/** Ports of servers that are not the service. */
export interface Peers {
	/** Ends every connection before it reads anything. */
	resetting: number;
	/** Speaks TLS with a certificate that nobody knows. */
	untrusted: number;
	/** Where redirects lead to. */
	elsewhere: number;
	/** What came to `elsewhere`. */
	foreignRequests: string[];
	close(): void;
}

export async function startPeers(): Promise<Peers> {
	const foreignRequests: string[] = [];
	const { private: key, cert } = await generate([{ name: 'commonName', value: '127.0.0.1' }]);
	const servers: Server[] = [
		createServer((socket) => socket.resetAndDestroy()),
		createHttpsServer({ key, cert }, (_request, response) => response.end('{}')),
		createServer((socket) => socket.on('data', (data) => foreignRequests.push(String(data)))),
	];
	const ports: number[] = [];
	for (const server of servers) {
		await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
		ports.push((server.address() as AddressInfo).port);
	}
	const [resetting = 0, untrusted = 0, elsewhere = 0] = ports;
	const close = () => servers.forEach((server) => server.close());
	return { resetting, untrusted, elsewhere, foreignRequests, close };
}
