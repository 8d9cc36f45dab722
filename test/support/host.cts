import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import type { IDataObject, INodeExecutionData } from 'n8n-workflow';

import { HostUnavailable, installHost, type HostName } from '../../hosts/install.cts';
import {
	N8n,
	type CredentialFile,
	type StoredExecution,
	type WorkflowFile,
} from '../../hosts/n8n.cts';
import { installNode, packNode } from '../../hosts/pack.cts';
import { notOurs, RunningN8n } from '../../hosts/runningN8n.cts';
import { startSandbox, type Sandbox } from '../../sandbox/server.cts';
import type { Settings } from '../../sandbox/settings.cts';
import { placesOf } from './keySearch.cts';
import { queryPostgres } from './services.cts';
import { until } from './until.cts';
import { CREDENTIAL_ID, CREDENTIAL_NAME } from './workflows.cts';

/** The key that every test host's credential has. */
export const KEY = 'e2e-key-that-stays-home';

/** What a test host has besides. */
export interface HostOptions {
	settings?: Partial<Settings>;
	/** The sandbox's port; any free one when absent. */
	sandboxPort?: number;
	/** The credential's API key; {@link KEY} when absent. */
	apiKey?: string;
	/** API keys that the sandbox accepts too. Each has a credential, with the key for its ID. */
	keys?: string[];
	/** Credentials of other types. */
	credentials?: CredentialFile[];
	environment?: NodeJS.ProcessEnv;
	/** Whether the workflows are published; true when absent. */
	publishes?: boolean;
}

/** A real n8n with the packed node, a credential and workflows, and the sandbox that it talks to. */
export class TestHost {
	private constructor(
		readonly n8n: N8n,
		readonly sandbox: Sandbox,
		private readonly folder: string,
		/** Where n8n stores in PostgreSQL; undefined for SQLite. */
		private readonly schema: string | undefined,
	) {}

	/**
	 * Starts n8n with the workflows active. The installation may take minutes. With N8N_URL, n8n 2 is one that already
	 * runs.
	 */
	static async start(
		name: HostName,
		workflows: WorkflowFile[],
		options: HostOptions = {},
	): Promise<TestHost> {
		const {
			settings,
			apiKey = KEY,
			keys = [],
			credentials = [],
			environment,
			publishes = true,
		} = options;
		const folder = mkdtempSync(path.join(tmpdir(), `agent-invocation-${name}-`));
		const n8n = await prepare(name, folder, environment);
		const sandbox = await startSandbox(options.sandboxPort ?? 0, {
			apiKeys: [apiKey, ...keys],
			...settings,
		});
		const { baseUrl } = sandbox;
		const apiKeys = {
			[CREDENTIAL_ID]: apiKey,
			...Object.fromEntries(keys.map((key) => [key, key])),
		};
		const own = Object.entries(apiKeys).map(([id, apiKey]) => ({
			id,
			name: id === CREDENTIAL_ID ? CREDENTIAL_NAME : id,
			data: { baseUrl, apiKey },
		}));
		const testHost = new TestHost(n8n, sandbox, folder, environment?.DB_POSTGRESDB_SCHEMA);
		try {
			await n8n.importCredentials([...own, ...credentials]);
			await n8n.importWorkflows(workflows);
			await n8n.start();
			await n8n.setUpOwner();
			if (publishes) await testHost.publish(workflows);
			return testHost;
		} catch (thrown) {
			await testHost.stop();
			throw thrown;
		}
	}

	private async publish(workflows: WorkflowFile[]): Promise<void> {
		for (const { id, nodes } of workflows) {
			const isManual = nodes.some(({ type }) => type === 'n8n-nodes-base.manualTrigger');
			if (!isManual) await this.n8n.activate(id);
		}
	}

	async stop(): Promise<void> {
		await this.n8n.dispose().finally(() => this.sandbox.close());
		rmSync(this.folder, { recursive: true, force: true });
	}

	/** Calls a workflow's webhook with rows. Gives the execution's ID. */
	async begin(workflowId: string, rows: unknown[]): Promise<string> {
		const newest = async () => (await this.n8n.executions(workflowId))[0]?.id;
		const before = await newest();
		await this.n8n.callWebhook(workflowId, { rows });
		// On a busy machine n8n answers before it has stored the execution.
		let id: string | undefined;
		await until(async () => (id = await newest()) !== before);
		return id!;
	}

	/** Waits until n8n has stored an execution as waiting. */
	async untilParked(executionId: string): Promise<void> {
		const isParked = async () => (await this.n8n.execution(executionId)).status === 'waiting';
		await until(isParked).catch(async () => {
			const { status, data } = await this.n8n.execution(executionId);
			const tasks = JSON.stringify(data.resultData);
			throw new Error(`Execution ${executionId} does not park but is ${status}: ${tasks}`);
		});
	}

	/** Calls a workflow's webhook with rows and waits until its execution has ended. */
	async execute(workflowId: string, rows: unknown[]): Promise<StoredExecution> {
		return await this.n8n.endOf(await this.begin(workflowId, rows));
	}

	/** Moves the time at which n8n resumes a waiting execution to now: n8n finds it within a minute. */
	makeDue(executionId: string): void {
		const now = new Date().toISOString().replace('T', ' ').replace('Z', '');
		this.sql('UPDATE execution_entity SET "waitTill" = ? WHERE id = ?', now, executionId);
	}

	/** The executions with one of these statuses, in n8n's database; also while n8n is away. */
	executionsThatAre(...statuses: string[]): string[] {
		const places = statuses.map(() => '?').join(', ');
		const rows = this.sql(
			`SELECT id FROM execution_entity WHERE status IN (${places})`,
			...statuses,
		);
		return rows.map(({ id }) => String(id));
	}

	/** How many rows each table of n8n's database has. */
	rowCounts(): Record<string, number> {
		const tables = this.schema
			? 'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = ?'
			: "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> ?";
		const names = this.sql(tables, this.schema ?? '').map(({ name }) => String(name));
		const counts = names.map(
			(name) => `SELECT '${name}' AS name, COUNT(*) AS count FROM "${name}"`,
		);
		const rows = this.sql(counts.join(' UNION ALL '));
		return Object.fromEntries(rows.map(({ name, count }) => [String(name), Number(count)]));
	}

	/** Runs a statement on n8n's database, with `?` for its values, and gives the rows. */
	sql(statement: string, ...values: Array<string | number>): Array<Record<string, unknown>> {
		const { host } = this.n8n;
		if (this.schema) return queryPostgres(host, this.schema, statement, values);
		const script = `
			const { DatabaseSync } = require('node:sqlite');
			const [, file, statement, ...values] = process.argv;
			const database = new DatabaseSync(file);
			database.exec('PRAGMA busy_timeout = 5000');
			process.stdout.write(JSON.stringify(database.prepare(statement).all(...values)));`;
		const file = path.join(this.userFolder, '.n8n', 'database.sqlite');
		const printed = execFileSync(
			host.node,
			['-e', script, file, statement, ...values.map(String)],
			{ encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
		);
		return JSON.parse(printed) as Array<Record<string, unknown>>;
	}

	/** All files in n8n's user folder, by their path in it: the database, its log, what n8n has printed. */
	files(): Record<string, Buffer> {
		const entries = readdirSync(this.userFolder, { withFileTypes: true, recursive: true });
		const files = entries
			.filter((entry) => entry.isFile())
			.map((entry) => path.join(entry.parentPath, entry.name));
		return Object.fromEntries(
			files.map((file) => [path.relative(this.userFolder, file), readFileSync(file)]),
		);
	}

	private get userFolder(): string {
		if (!(this.n8n instanceof RunningN8n)) return this.folder;
		throw new HostUnavailable(notOurs("To read n8n's database and files"));
	}

	/** The files of n8n that hold the API key, and in which form. */
	filesWithKey(): string[] {
		const files = this.files();
		if (!files['.n8n/database.sqlite']) throw new Error('no database');
		return placesOf(KEY, files);
	}
}

async function prepare(
	name: HostName,
	folder: string,
	environment?: NodeJS.ProcessEnv,
): Promise<N8n> {
	const running = name === 'n8n-2' ? await RunningN8n.find(folder, environment) : undefined;
	if (running) return running;
	const host = await installHost(name, (line) => process.stderr.write(`${line}\n`));
	installNode(packNode(folder).file, folder);
	return await N8n.prepare(host, folder, 0, environment);
}

/** The items that a node gave on an output, in one of its runs. */
export function itemsOf(
	execution: StoredExecution,
	node: string,
	{ output = 0, run = 0 } = {},
): INodeExecutionData[] {
	return execution.data.resultData.runData[node]?.[run]?.data?.main?.[output] ?? [];
}

/** The json of these items. */
export function jsonOf(...of: Parameters<typeof itemsOf>): IDataObject[] {
	return itemsOf(...of).map(({ json }) => json);
}
