import { execFile, type ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import { HostUnavailable } from './install.cts';
import { N8n, owner, type CredentialFile, type WorkflowFile } from './n8n.cts';
import type { Signal } from './processes.cts';

/** How often the removal of a workflow is tried. */
const MOST_ATTEMPTS = 5;

const START_TIMEOUT_MS = 180_000;

/**
 * An n8n that already runs, for example in a container on this machine's network, with the node in it. What is imported
 * into it is removed at the end. These variables lead to it:
 *
 * - `N8N_URL`: its address.
 * - `N8N_OWNER_EMAIL`, `N8N_OWNER_PASSWORD`: its owner. One is made where n8n has none yet.
 * - `N8N_CONTROL`: a shell command in which `$1` is `stop`, `kill` or `start`, such as `docker $1 n8n`. It returns when
 *   that is done.
 */
export class RunningN8n extends N8n {
	/** n8n's IDs of what was imported, by ours. */
	private readonly credentials = new Map<string, string>();

	private readonly workflows = new Set<string>();

	/**
	 * The n8n that the environment names; undefined when it names none.
	 *
	 * @param folder where nothing of n8n's lies
	 * @param environment variables that n8n would have to have
	 * @throws HostUnavailable when it cannot be used
	 */
	static async find(
		folder: string,
		environment: NodeJS.ProcessEnv = {},
	): Promise<RunningN8n | undefined> {
		const { N8N_URL: url } = process.env;
		if (!url) return undefined;
		const needed = Object.keys(environment);
		if (needed.length > 0) throw new HostUnavailable(notOurs(`To set ${needed.join(', ')}`));
		const host = { name: 'n8n-2', version: 'unknown', command: '', node: '' } as const;
		const n8n = new RunningN8n(host, folder, url.replace(/\/+$/, ''));
		await n8n.start();
		await n8n.setUpOwner();
		return n8n;
	}

	override async setUpOwner(): Promise<void> {
		const email = variable('N8N_OWNER_EMAIL');
		const password = variable('N8N_OWNER_PASSWORD');
		const isLoggedIn =
			(await this.openSession('/rest/login', { emailOrLdapLoginId: email, password })) ||
			(await this.openSession('/rest/owner/setup', { ...owner, email, password }));
		if (!isLoggedIn)
			throw new HostUnavailable(`${this.url} does not know ${email} and its password.`);
	}

	override async importCredentials(credentials: CredentialFile[]): Promise<void> {
		for (const { id, name, type = 'agentInvocationApi', data } of credentials) {
			const body = { name, type, data };
			const created = await this.rest<{ data: { id: string } }>('POST', '/credentials', body);
			this.credentials.set(id, created.data.id);
		}
	}

	/** A workflow that is there under the same ID is replaced, with its executions. */
	override async importWorkflows(workflows: WorkflowFile[]): Promise<void> {
		for (const workflow of workflows) {
			await this.removeWorkflow(workflow.id);
			const nodes = workflow.nodes.map(({ credentials = {}, ...node }) => ({
				...node,
				credentials: Object.fromEntries(
					Object.entries(credentials).map(([type, { id, name }]) => [
						type,
						{ id: this.credentials.get(id ?? '') ?? id, name },
					]),
				),
			}));
			await this.rest('POST', '/workflows', { settings: {}, ...workflow, nodes });
			this.workflows.add(workflow.id);
		}
	}

	override async start(): Promise<void> {
		if (await this.isUp()) return;
		await control('start');
		await this.untilUp();
	}

	override async kill(signal: Signal): Promise<void> {
		await control(signal === 'SIGTERM' ? 'stop' : 'kill');
	}

	/** Removes what was imported. n8n runs on. */
	override async dispose(): Promise<void> {
		await this.start();
		for (const id of this.workflows) await this.removeWorkflow(id);
		for (const id of this.credentials.values()) await this.rest('DELETE', `/credentials/${id}`);
	}

	protected override spawn(args: string[]): ChildProcess {
		throw new HostUnavailable(notOurs(`'n8n ${args.join(' ')}'`));
	}

	/** Removes a workflow, if it is there. On a busy machine, n8n at times refuses that at first. */
	private async removeWorkflow(id: string): Promise<void> {
		for (let attempts = 1; ; attempts++) {
			const { data } = await this.rest<{ data: Array<{ id: string; isArchived: boolean }> }>(
				'GET',
				'/workflows',
			);
			const found = data.find((one) => one.id === id);
			if (!found) return;
			try {
				// n8n deletes what is archived.
				if (!found.isArchived) await this.rest('POST', `/workflows/${id}/archive`);
				await this.rest('DELETE', `/workflows/${id}`);
			} catch (thrown) {
				if (attempts === MOST_ATTEMPTS) throw thrown;
				await sleep(1_000);
			}
		}
	}

	private async isUp(): Promise<boolean> {
		const answer = await this.api.get('/healthz/readiness').catch(() => undefined);
		return answer?.status === 200;
	}

	private async untilUp(): Promise<void> {
		const deadline = Date.now() + START_TIMEOUT_MS;
		while (!(await this.isUp())) {
			if (Date.now() > deadline) throw new HostUnavailable(`${this.url} is not ready.`);
			await sleep(250);
		}
	}
}

/** What to say where something needs more of n8n than its address. */
export function notOurs(what: string): string {
	return `${what} needs an n8n that is started here. Unset N8N_URL.`;
}

async function control(what: 'start' | 'stop' | 'kill'): Promise<void> {
	// What Jest sets makes n8n, where the command starts it, run as in n8n's own tests.
	const env = { ...process.env, NODE_ENV: undefined, JEST_WORKER_ID: undefined };
	await promisify(execFile)('/bin/sh', ['-c', variable('N8N_CONTROL'), 'control', what], { env });
}

function variable(name: string): string {
	const value = process.env[name];
	if (value) return value;
	throw new HostUnavailable(`N8N_URL is set, and ${name} is not (hosts/runningN8n.cts).`);
}
