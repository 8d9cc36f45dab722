import { spawn, type ChildProcess } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import axios from 'axios';

import { HostUnavailable, installLocked } from './install.cts';
import { freePort } from './n8n.cts';
import { projectRoot } from './pack.cts';
import { end, endsWithUs, hasEnded } from './processes.cts';

const START_TIMEOUT_MS = 60_000;

/** A request to the service, and what came of it. */
export interface Exchange {
	method: string;
	/** With the query. */
	path: string;
	/** 0 as long as there is no answer. */
	status: number;
	/** The answer's body. */
	answer: string;
	/** What the OpenAPI description does not allow in the request or in the answer, as Prism says it. */
	violations: string[];
}

/** What Prism does with a request. */
export interface PrismOptions {
	/** The service's base URL, to which Prism passes all requests on; Prism answers itself when absent. */
	upstream?: string;
	/** The status that Prism is asked to answer a path with; its own choice for undefined. */
	statusFor?: (path: string) => number | undefined;
}

/**
 * Prism, a server made by others, which knows the service by `sandbox/openapi.yaml` alone: it answers with
 * whatever the description allows, another answer each time, or stands before a service and says where
 * that or its caller breaks the description.
 */
export class Prism {
	readonly exchanges: Exchange[] = [];

	private readonly server: Server;

	private constructor(
		private readonly process: ChildProcess,
		private readonly url: string,
		private readonly statusFor: PrismOptions['statusFor'],
	) {
		this.server = createServer((request, response) => void this.relay(request, response));
	}

	/** @throws HostUnavailable when it does not come up */
	static async start({ upstream, statusFor }: PrismOptions = {}): Promise<Prism> {
		const installed = await installLocked('prism', (line) => process.stderr.write(`${line}\n`));
		const description = path.join(projectRoot, 'sandbox/openapi.yaml');
		const port = await freePort(0);
		const args =
			upstream === undefined
				? ['mock', description, '--dynamic']
				: ['proxy', description, upstream];
		const command = path.join(installed, 'node_modules/.bin/prism');
		const child = endsWithUs(
			spawn(
				process.execPath,
				[command, ...args, '--port', String(port), '--verboseLevel', 'silent'],
				{ stdio: 'ignore' },
			),
		);
		const prism = new Prism(child, `http://127.0.0.1:${port}`, statusFor);
		const deadline = Date.now() + START_TIMEOUT_MS;
		while (!(await answers(prism.url))) {
			if (hasEnded(child) || Date.now() > deadline) {
				await prism.stop();
				throw new HostUnavailable('Prism did not start.');
			}
			await sleep(100);
		}
		await new Promise<void>((resolve) => prism.server.listen(0, '127.0.0.1', resolve));
		return prism;
	}

	/** Ends in `/api/v1`, like the service's own. */
	get baseUrl(): string {
		return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/api/v1`;
	}

	/** All that Prism found wrong, each with its request. */
	get violations(): string[] {
		return this.exchanges.flatMap(({ method, path: asked, violations }) =>
			violations.map((violation) => `${method} ${asked}: ${violation}`),
		);
	}

	async stop(): Promise<void> {
		this.server.closeAllConnections();
		this.server.close();
		await end(this.process, 'SIGTERM');
	}

	// Prism takes the description's paths as they are, without the server's own `/api/v1`.
	private async relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const { method = 'GET', url = '/' } = request;
		const exchange: Exchange = { method, path: url, status: 0, answer: '', violations: [] };
		this.exchanges.push(exchange);
		const status = this.statusFor?.(url);
		const answer = await axios.request<string>({
			method,
			url: this.url + url.replace(/^\/api\/v1/, ''),
			headers: {
				...request.headers,
				...(status !== undefined && { prefer: `code=${status}` }),
			},
			data: Buffer.concat((await request.toArray()) as Buffer[]),
			transformResponse: (body: string) => body,
			validateStatus: () => true,
		});
		const violations = String(answer.headers['sl-violations'] ?? '[]');
		Object.assign(exchange, {
			status: answer.status,
			answer: answer.data,
			violations: (JSON.parse(violations) as object[]).map((one) => JSON.stringify(one)),
		});
		const type = String(answer.headers['content-type'] ?? 'application/json');
		response.writeHead(answer.status, { 'content-type': type }).end(answer.data);
	}
}

async function answers(url: string): Promise<boolean> {
	try {
		await axios.get(url, { validateStatus: () => true });
		return true;
	} catch {
		return false;
	}
}
