import { spawn, type ChildProcess } from 'node:child_process';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import axios, { type AxiosInstance } from 'axios';
import { parse } from 'flatted';
import type { INode, IRunExecutionData } from 'n8n-workflow';

import { HostUnavailable, type Host } from './install.cts';

/** A workflow as n8n imports it. */
export interface WorkflowFile {
	id: string;
	name: string;
	nodes: Array<Partial<INode>>;
	connections: Record<string, unknown>;
	settings?: Record<string, unknown>;
	active?: boolean;
}

/** A credential of ours, as n8n imports it. */
export interface CredentialFile {
	id: string;
	name: string;
	data: { baseUrl: string; apiKey: string };
}

/** An execution as n8n's own API gives it. */
export interface StoredExecution {
	id: string;
	status: string;
	data: IRunExecutionData;
}

/** The owner that `setUpOwner` makes. For n8n instances on loopback that are thrown away. */
export const owner = {
	email: 'owner@agent-invocation.example',
	password: 'Sandbox-0wner',
	firstName: 'Sandbox',
	lastName: 'Owner',
};

const START_TIMEOUT_MS = 180_000;

/** A real n8n on loopback with a user folder of its own. */
export class N8n {
	/** The editor's address. */
	readonly url: string;

	/** All that n8n has printed. */
	readonly log: string;

	private process: ChildProcess | undefined;

	private readonly api: AxiosInstance;

	private cookie = '';

	private constructor(
		readonly host: Host,
		readonly userFolder: string,
		private readonly port: number,
		private readonly brokerPort: number,
	) {
		this.url = `http://127.0.0.1:${port}`;
		this.log = path.join(userFolder, 'n8n.log');
		mkdirSync(path.join(userFolder, '.n8n'), { recursive: true });
		this.api = axios.create({ baseURL: this.url, validateStatus: () => true });
	}

	/**
	 * Prepares an n8n; nothing runs yet.
	 *
	 * @param port of the editor; 0 for any free one
	 * @throws HostUnavailable when the port is taken
	 */
	static async prepare(host: Host, userFolder: string, port = 0): Promise<N8n> {
		return new N8n(host, userFolder, await freePort(port), await freePort(0));
	}

	async importCredential({ id, name, data }: CredentialFile): Promise<void> {
		await this.import('credentials', [{ id, name, type: 'agentInvocationApi', data }]);
	}

	async importWorkflows(workflows: WorkflowFile[]): Promise<void> {
		const files = workflows.map((workflow) => ({ settings: {}, ...workflow, active: false }));
		await this.import('workflow', files);
	}

	/** Lets a workflow's webhooks answer from the next start on. */
	async activate(workflowId: string): Promise<void> {
		const isOld = this.host.name === 'n8n-1';
		await this.command(
			isOld
				? ['update:workflow', `--id=${workflowId}`, '--active=true']
				: ['publish:workflow', `--id=${workflowId}`],
		);
	}

	/** @throws HostUnavailable when n8n does not come up, with its last words */
	async start(): Promise<void> {
		const child = this.spawn(['start']);
		this.process = child;
		const deadline = Date.now() + START_TIMEOUT_MS;
		let printed = '';
		child.stdout?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
		child.stderr?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
		while (!printed.includes('Editor is now accessible')) {
			if (child.exitCode !== null || Date.now() > deadline) {
				await this.kill('SIGKILL');
				throw new HostUnavailable(
					`n8n did not start. Its last words (all in ${this.log}):\n${printed.slice(-2_000)}`,
				);
			}
			await sleep(100);
		}
	}

	/** Ends n8n: as it likes with SIGTERM, or on the spot with SIGKILL. Resolves when it is gone. */
	async kill(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
		const child = this.process;
		this.process = undefined;
		if (!child || child.exitCode !== null || child.signalCode !== null) return;
		const gone = new Promise((resolve) => child.once('close', resolve));
		child.kill(signal);
		const impatient = setTimeout(() => child.kill('SIGKILL'), 20_000);
		await gone;
		clearTimeout(impatient);
	}

	/** Makes the instance's owner, whose session the calls of its API use from then on. */
	async setUpOwner(): Promise<void> {
		const response = await this.untilReady(() => this.api.post('/rest/owner/setup', owner));
		const cookies = response.headers['set-cookie'] ?? [];
		this.cookie = cookies.map((cookie) => cookie.split(';')[0]).join('; ');
	}

	/** Runs a workflow as the editor's button does. Gives the execution's ID. */
	async runManually(workflowId: string, trigger: string): Promise<string> {
		const { data: workflowData } = await this.rest<{ data: unknown }>(
			'GET',
			`/workflows/${workflowId}`,
		);
		const { data } = await this.rest<{ data: { executionId: string } }>(
			'POST',
			`/workflows/${workflowId}/run`,
			{ workflowData, triggerToStartFrom: { name: trigger } },
		);
		return data.executionId;
	}

	/** Calls a workflow's webhook and gives what it answers. */
	async callWebhook(webhookPath: string, body: unknown = {}): Promise<unknown> {
		const response = await this.untilReady(() => this.api.post(`/webhook/${webhookPath}`, body));
		return response.data as unknown;
	}

	/** Waits until an execution has ended, and reads it. */
	async endOf(executionId: string, timeoutMs = 120_000): Promise<StoredExecution> {
		const deadline = Date.now() + timeoutMs;
		for (;;) {
			const execution = await this.execution(executionId);
			if (!['new', 'running', 'waiting'].includes(execution.status)) return execution;
			if (Date.now() > deadline) {
				throw new Error(`Execution ${executionId} is still ${execution.status}`);
			}
			await sleep(250);
		}
	}

	async execution(executionId: string): Promise<StoredExecution> {
		const { data } = await this.rest<{ data: { id: string; status: string; data: string } }>(
			'GET',
			`/executions/${executionId}`,
		);
		return { ...data, data: parse(data.data) as IRunExecutionData };
	}

	/** The ID of the newest execution of a workflow. */
	async newestExecutionId(workflowId: string): Promise<string> {
		const filter = encodeURIComponent(JSON.stringify({ workflowId }));
		const { data } = await this.rest<{ data: { results: Array<{ id: string }> } }>(
			'GET',
			`/executions?filter=${filter}&limit=1`,
		);
		const [newest] = data.results;
		if (!newest) throw new Error(`Workflow ${workflowId} has not been executed`);
		return newest.id;
	}

	/** Calls n8n's own API as the owner. */
	async rest<T>(method: 'GET' | 'POST', restPath: string, data?: unknown): Promise<T> {
		const response = await this.api.request<T>({
			method,
			url: `/rest${restPath}`,
			data,
			headers: { cookie: this.cookie },
		});
		if (response.status >= 400) {
			throw new Error(`${method} ${restPath}: ${response.status} ${JSON.stringify(response.data)}`);
		}
		return response.data;
	}

	private async import(kind: 'credentials' | 'workflow', content: unknown): Promise<void> {
		const file = path.join(this.userFolder, `${kind}.json`);
		writeFileSync(file, JSON.stringify(content), { mode: 0o600 });
		await this.command([`import:${kind}`, `--input=${file}`]);
	}

	private async command(args: string[]): Promise<void> {
		const child = this.spawn(args);
		const code = await new Promise((resolve) => child.once('close', resolve));
		if (code !== 0) throw new HostUnavailable(`n8n ${args.join(' ')} failed; see ${this.log}`);
	}

	private spawn(args: string[]): ChildProcess {
		const child = spawn(this.host.node, [this.host.command, ...args], {
			cwd: this.userFolder,
			env: this.environment(),
			stdio: ['ignore', 'pipe', 'pipe'],
			// A Ctrl-C in the terminal reaches whoever started n8n, which then stops it in order.
			detached: true,
		});
		for (const stream of [child.stdout, child.stderr]) {
			stream.on('data', (chunk: Buffer) => appendFileSync(this.log, chunk));
		}
		return child;
	}

	private environment(): NodeJS.ProcessEnv {
		const { PATH = '', HOME, LANG, NODE_EXTRA_CA_CERTS } = process.env;
		return {
			...(HOME !== undefined && { HOME }),
			...(LANG !== undefined && { LANG }),
			...(NODE_EXTRA_CA_CERTS !== undefined && { NODE_EXTRA_CA_CERTS }),
			PATH: `${path.dirname(this.host.node)}${path.delimiter}${PATH}`,
			N8N_USER_FOLDER: this.userFolder,
			N8N_PORT: String(this.port),
			N8N_RUNNERS_BROKER_PORT: String(this.brokerPort),
			N8N_LISTEN_ADDRESS: '127.0.0.1',
			N8N_SECURE_COOKIE: 'false',
			N8N_DIAGNOSTICS_ENABLED: 'false',
			N8N_VERSION_NOTIFICATIONS_ENABLED: 'false',
			N8N_TEMPLATES_ENABLED: 'false',
			N8N_PERSONALIZATION_ENABLED: 'false',
			N8N_RUNNERS_ENABLED: 'true',
		};
	}

	/** n8n says that it is accessible a moment before all of its routes answer. */
	private async untilReady<T extends { status: number }>(call: () => Promise<T>): Promise<T> {
		for (let tries = 1; ; tries++) {
			const response = await call();
			if (response.status !== 404 && response.status !== 503) return response;
			if (tries === 40) throw new Error(`n8n answers ${response.status}; see ${this.log}`);
			await sleep(250);
		}
	}
}

async function freePort(port: number): Promise<number> {
	return await new Promise((resolve, reject) => {
		const server = createServer();
		server.once('error', (error: NodeJS.ErrnoException) =>
			reject(
				error.code === 'EADDRINUSE'
					? new HostUnavailable(`Port ${port} is taken.`)
					: new HostUnavailable(`Port ${port} cannot be used: ${error.message}`),
			),
		);
		server.listen(port, '127.0.0.1', () => {
			const address = server.address();
			const free = typeof address === 'object' && address ? address.port : port;
			server.close(() => resolve(free));
		});
	});
}
