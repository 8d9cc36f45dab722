import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import axios, { type AxiosInstance } from 'axios';
import { parse } from 'flatted';
import type { INode, IRunExecutionData } from 'n8n-workflow';

import { HostUnavailable, type Host } from './install.cts';
import { end, endsWithUs, goesWithUs, hasEnded, type Signal } from './processes.cts';

/** A workflow as n8n imports it. */
export interface WorkflowFile {
	id: string;
	name: string;
	nodes: Array<Partial<INode>>;
	connections: Record<string, unknown>;
	settings?: Record<string, unknown>;
	/** Pinned items, by the name of their node. */
	pinData?: Record<string, unknown>;
	active?: boolean;
}

/** A credential as n8n imports it. */
export interface CredentialFile {
	id: string;
	name: string;
	/** Ours when absent. */
	type?: string;
	data: Record<string, string>;
}

/** An execution as n8n's own API gives it. */
export interface StoredExecution {
	id: string;
	status: string;
	data: IRunExecutionData;
}

/** An execution in n8n's list. */
export interface ListedExecution {
	id: string;
	mode: string;
	status: string;
	/** When n8n resumes it; absent or null when it does not wait. */
	waitTill?: string | null;
}

/** A worker of an n8n in queue mode. */
export interface Worker {
	pid: number | undefined;
	/** Ends it; resolves when it is gone. */
	kill(signal: Signal): Promise<void>;
}

/** The owner that `setUpOwner` makes. For n8n instances on loopback that are thrown away. */
export const owner = {
	email: 'owner@agent-invocation.example',
	password: 'Sandbox-0wner',
	firstName: 'Sandbox',
	lastName: 'Owner',
};

const START_TIMEOUT_MS = 180_000;

/** Against executions that hang: a slow machine must not fail one. */
const END_TIMEOUT_MS = 800_000;

/** How long n8n 1 surely takes to store the data of an execution, once its status is stored. */
const STORED_MS = 500;

/**
 * A real n8n on loopback with a user folder of its own. Neither outlives this process, however it ends.
 */
export class N8n {
	/** All that n8n has printed. */
	readonly log: string;

	private process: ChildProcess | undefined;

	protected readonly api: AxiosInstance;

	private cookie = '';

	/** @param url the editor's address */
	protected constructor(
		readonly host: Host,
		readonly userFolder: string,
		readonly url: string,
		private readonly moreEnvironment: NodeJS.ProcessEnv = {},
	) {
		this.log = path.join(userFolder, 'n8n.log');
		mkdirSync(path.join(userFolder, '.n8n'), { recursive: true });
		goesWithUs(userFolder);
		// A connection of its own for each request: one that n8n is closing meanwhile fails the next request.
		const httpAgent = new Agent();
		this.api = axios.create({ baseURL: this.url, validateStatus: () => true, httpAgent });
	}

	/**
	 * Prepares an n8n; nothing runs yet.
	 *
	 * @param port of the editor; 0 for any free one
	 * @param environment variables beside those that make n8n quiet
	 * @throws HostUnavailable when the port is taken
	 */
	static async prepare(
		host: Host,
		userFolder: string,
		port = 0,
		environment: NodeJS.ProcessEnv = {},
	): Promise<N8n> {
		const url = `http://127.0.0.1:${await freePort(port)}`;
		const broker = { N8N_RUNNERS_BROKER_PORT: String(await freePort(0)) };
		return new N8n(host, userFolder, url, { ...broker, ...environment });
	}

	async importCredentials(credentials: CredentialFile[]): Promise<void> {
		const files = credentials.map((file) => ({ type: 'agentInvocationApi', ...file }));
		await this.import('credentials', files);
	}

	async importWorkflows(workflows: WorkflowFile[]): Promise<void> {
		const files = workflows.map((workflow) => ({ settings: {}, ...workflow, active: false }));
		await this.import('workflow', files);
	}

	/** @throws HostUnavailable when n8n does not come up, with its last words */
	async start(): Promise<void> {
		const launch = async () => await this.launch(['start'], 'Editor is now accessible');
		// On a machine that is very busy, n8n's check of its database may time out, and n8n then ends.
		this.process = await launch().catch(launch);
	}

	/**
	 * Starts a worker of this n8n, which must run in queue mode.
	 *
	 * @throws HostUnavailable when it does not come up, with its last words
	 */
	async startWorker(concurrency: number): Promise<Worker> {
		const ports = {
			N8N_RUNNERS_BROKER_PORT: String(await freePort(0)),
			// Where metrics are on, a worker serves them.
			QUEUE_HEALTH_CHECK_PORT: String(await freePort(0)),
			N8N_WORKER_SERVER_ADDRESS: '127.0.0.1',
		};
		const args = ['worker', `--concurrency=${concurrency}`];
		const worker = await this.launch(args, 'n8n worker is now ready', ports);
		return { pid: worker.pid, kill: async (signal) => await end(worker, signal) };
	}

	/** The process of n8n; undefined when it does not run. */
	get pid(): number | undefined {
		return this.process && !hasEnded(this.process) ? this.process.pid : undefined;
	}

	/** Leaves nothing behind. */
	async dispose(): Promise<void> {
		await this.kill('SIGTERM');
	}

	/** Ends n8n: as it likes with SIGTERM, or on the spot with SIGKILL. Resolves when it is gone. */
	async kill(signal: Signal): Promise<void> {
		const child = this.process;
		this.process = undefined;
		if (child) await end(child, signal);
	}

	/** Makes the instance's owner, whose session the calls of its API use from then on. */
	async setUpOwner(): Promise<void> {
		await this.openSession('/rest/owner/setup', owner);
	}

	/** Takes the session that n8n gives for this, and says whether it gave one. */
	async openSession(path: string, body: object): Promise<boolean> {
		const response = await this.untilReady(() => this.api.post(path, body));
		const cookies = response.headers['set-cookie'] ?? [];
		this.cookie = cookies.map((cookie) => cookie.split(';')[0]).join('; ');
		return response.status < 400;
	}

	/** Publishes a workflow as the editor's button does, so that its webhooks answer. */
	async activate(workflowId: string): Promise<void> {
		const path = `/workflows/${workflowId}`;
		const { data } = await this.rest<{ data: { versionId: string } }>('GET', path);
		const { versionId } = data;
		await (this.host.name === 'n8n-1'
			? this.rest('PATCH', path, { active: true, versionId })
			: this.rest('POST', `${path}/activate`, { versionId }));
	}

	/**
	 * Runs a workflow as the editor's button does. Gives the execution's ID.
	 *
	 * @param json what the trigger gives; absent for a trigger that the button starts by itself
	 * @param stepOf the node whose button 'Execute step' is used; absent for the workflow's own
	 */
	async runManually(
		workflowId: string,
		trigger: string,
		{ json, stepOf }: { json?: object; stepOf?: string } = {},
	): Promise<string> {
		const { data: workflowData } = await this.rest<{ data: unknown }>(
			'GET',
			`/workflows/${workflowId}`,
		);
		const { data } = await this.rest<{ data: { executionId: string } }>(
			'POST',
			`/workflows/${workflowId}/run`,
			{
				workflowData,
				triggerToStartFrom: { name: trigger, ...(json && { data: taskOf(json) }) },
				...(stepOf && { destinationNode: { nodeName: stepOf, mode: 'inclusive' } }),
			},
		);
		return data.executionId;
	}

	/** Calls a workflow's webhook and gives what it answers. */
	async callWebhook(webhookPath: string, body: unknown = {}): Promise<unknown> {
		const response = await this.untilReady(() => this.api.post(`/webhook/${webhookPath}`, body));
		return response.data as unknown;
	}

	/** Waits until an execution has ended, and reads it. */
	async endOf(executionId: string): Promise<StoredExecution> {
		const deadline = Date.now() + END_TIMEOUT_MS;
		for (;;) {
			const execution = await this.execution(executionId);
			if (!['new', 'running', 'waiting'].includes(execution.status)) {
				if (this.host.name !== 'n8n-1') return execution;
				// On SQLite, n8n 1 stores how an execution ended before what it gave.
				await sleep(STORED_MS);
				return await this.execution(executionId);
			}
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
		const [newest] = await this.executions(workflowId);
		if (!newest) throw new Error(`Workflow ${workflowId} has not been executed`);
		return newest.id;
	}

	/** The executions of a workflow, newest first. */
	async executions(workflowId: string): Promise<ListedExecution[]> {
		const filter = encodeURIComponent(JSON.stringify({ workflowId }));
		const { data } = await this.rest<{ data: { results: ListedExecution[] } }>(
			'GET',
			`/executions?filter=${filter}&limit=100`,
		);
		// n8n's own order differs between those that run and those that have ended.
		return data.results.sort((a, b) => Number(b.id) - Number(a.id));
	}

	/** Retries an execution as n8n's list does, with the workflow as it was. Gives the new execution's ID. */
	async retry(executionId: string): Promise<string> {
		const { data } = await this.rest<{ data: { id: string } }>(
			'POST',
			`/executions/${executionId}/retry`,
			{ loadWorkflow: false },
		);
		return data.id;
	}

	/** Stops an execution as the editor does. */
	async stopExecution(executionId: string): Promise<void> {
		await this.rest('POST', `/executions/${executionId}/stop`);
	}

	/** Calls n8n's own API as the owner. */
	async rest<T>(
		method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
		restPath: string,
		data?: unknown,
	): Promise<T> {
		const headers = { cookie: this.cookie };
		const url = `/rest${restPath}`;
		const call = () => this.api.request<T>({ method, url, data, headers });
		// On a machine that is very busy, n8n at times has no connection to its database.
		const response = await this.untilReady(call, [503]);
		if (response.status >= 400) {
			throw new Error(`${method} ${restPath}: ${response.status} ${JSON.stringify(response.data)}`);
		}
		return response.data;
	}

	private async import(kind: 'credentials' | 'workflow', content: unknown): Promise<void> {
		const file = path.join(this.userFolder, `${kind}.json`);
		writeFileSync(file, JSON.stringify(content), { mode: 0o600 });
		await this.command([`import:${kind}`, `--input=${file}`]);
		// It holds keys in plain text.
		rmSync(file);
	}

	private async command(args: string[]): Promise<void> {
		const child = this.spawn(args);
		const code = await new Promise((resolve) => child.once('close', resolve));
		if (code !== 0) throw new HostUnavailable(`n8n ${args.join(' ')} failed; see ${this.log}`);
	}

	private async launch(
		args: string[],
		ready: string,
		environment: NodeJS.ProcessEnv = {},
	): Promise<ChildProcess> {
		const child = this.spawn(args, environment);
		const deadline = Date.now() + START_TIMEOUT_MS;
		let printed = '';
		child.stdout?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
		child.stderr?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
		while (!printed.includes(ready)) {
			if (hasEnded(child) || Date.now() > deadline) {
				await end(child, 'SIGKILL');
				throw new HostUnavailable(
					`n8n ${args[0]} did not start. Its last words (all in ${this.log}):\n${printed.slice(-2_000)}`,
				);
			}
			await sleep(100);
		}
		return child;
	}

	protected spawn(args: string[], environment: NodeJS.ProcessEnv = {}): ChildProcess {
		const child = spawn(this.host.node, [this.host.command, ...args], {
			cwd: this.userFolder,
			env: { ...this.environment(), ...environment },
			stdio: ['ignore', 'pipe', 'pipe'],
			// A group of its own, which is ended as one.
			detached: true,
		});
		endsWithUs(child);
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
			N8N_PORT: new URL(this.url).port,
			N8N_LISTEN_ADDRESS: '127.0.0.1',
			N8N_SECURE_COOKIE: 'false',
			N8N_DIAGNOSTICS_ENABLED: 'false',
			N8N_VERSION_NOTIFICATIONS_ENABLED: 'false',
			N8N_TEMPLATES_ENABLED: 'false',
			N8N_PERSONALIZATION_ENABLED: 'false',
			N8N_RUNNERS_ENABLED: 'true',
			...this.moreEnvironment,
		};
	}

	/** n8n says that it is accessible a moment before all of its routes answer. */
	protected async untilReady<T extends { status: number }>(
		call: () => Promise<T>,
		notReady = [404, 503],
	): Promise<T> {
		for (let tries = 1; ; tries++) {
			const response = await call();
			if (!notReady.includes(response.status)) return response;
			if (tries === 40) throw new Error(`n8n answers ${response.status}; see ${this.log}`);
			await sleep(250);
		}
	}
}

function taskOf(json: object) {
	const timing = { startTime: Date.now(), executionTime: 0, executionIndex: 0 };
	return { ...timing, executionStatus: 'success', source: [null], data: { main: [[{ json }]] } };
}

/** Below those that systems give to outgoing connections and to servers that ask for any port. */
const OUR_PORTS = { first: 10_000, last: 29_999 };

/**
 * The port, or any free one for 0. Nobody else is given that one, also while n8n is down and its
 * port is free.
 *
 * @throws HostUnavailable when it is taken
 */
export async function freePort(port: number): Promise<number> {
	if (port > 0) return await ifFree(port);
	for (let attempts = 1; attempts < 20; attempts++) {
		const any = await ifFree(randomInt(OUR_PORTS.first, OUR_PORTS.last + 1)).catch(() => 0);
		if (any > 0) return any;
	}
	return await ifFree(OUR_PORTS.first);
}

async function ifFree(port: number): Promise<number> {
	return await new Promise((resolve, reject) => {
		const server = createServer();
		server.once('error', (error: NodeJS.ErrnoException) =>
			reject(
				error.code === 'EADDRINUSE'
					? new HostUnavailable(`Port ${port} is taken.`)
					: new HostUnavailable(`Port ${port} cannot be used: ${error.message}`),
			),
		);
		server.listen(port, '127.0.0.1', () => server.close(() => resolve(port)));
	});
}
