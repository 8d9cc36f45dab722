import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { HostUnavailable, installHost } from '../hosts/install.cts';
import { N8n, owner, type WorkflowFile } from '../hosts/n8n.cts';
import { installNode, packNode, projectRoot } from '../hosts/pack.cts';
import { end, endsWithUs, goesWithUs } from '../hosts/processes.cts';
import { startSandbox } from '../sandbox/server.cts';
import {
	DemoFailed,
	LONG_RUN_WORKFLOW,
	longRunOutlivesN8n,
	rowsBecomeResults,
	ROWS_WORKFLOW,
} from './scenes.cts';

const CREDENTIAL = { id: 'agentInvocation1', name: 'Agent Invocation account' };

const { values } = parseArgs({
	options: {
		once: { type: 'boolean', default: false },
		watch: { type: 'boolean', default: false },
		port: { type: 'string', default: '5678' },
		'sandbox-port': { type: 'string', default: '4010' },
	},
});

/** What has to be undone, newest first. */
const undo: Array<() => unknown> = [];

// A signal ends it as any process: what it has started goes with it (hosts/processes.cts).
void main()
	.catch((error: unknown) => {
		process.exitCode = 1;
		console.error(isExplained(error) ? `\n${error.message}` : error);
	})
	.then(async () => {
		if (process.exitCode === undefined && !values.once) return;
		for (const step of undo.reverse()) await step();
	});

async function main(): Promise<void> {
	console.log(`This demo runs a real n8n on this machine with the node installed, and a sandbox that stands in for the service.
It needs python3, make and g++ (to compile n8n's database driver), and the ports ${values.port} and ${values['sandbox-port']}.
It takes about ${values.watch ? 'a minute' : 'three minutes'}. The first time, it takes about five more to install n8n (3 GB) into ~/.cache.`);
	const host = await installHost('n8n-2', console.log);
	const folder = mkdtempSync(path.join(tmpdir(), 'agent-invocation-demo-'));
	goesWithUs(folder);
	undo.push(() => rmSync(folder, { recursive: true, force: true }));

	// With it, n8n reloads a node when its files change (2.40.7).
	const environment = values.watch ? { N8N_DEV_RELOAD: 'true' } : {};
	const n8n = await N8n.prepare(host, folder, readPort(values.port), environment).catch(
		withAdvice('port', 5679),
	);
	const sandbox = await startSandbox(readPort(values['sandbox-port'])).catch(
		(error: NodeJS.ErrnoException) => {
			if (error.code !== 'EADDRINUSE') throw error;
			const taken = new HostUnavailable(`Port ${values['sandbox-port']} is taken.`);
			return withAdvice('sandbox-port', 4011)(taken);
		},
	);
	undo.push(() => sandbox.close());

	console.log(`\nStarting n8n ${host.version} with the node installed`);
	installNode(packNode(folder).file, folder);
	const [apiKey = ''] = sandbox.settings.apiKeys;
	await n8n.importCredentials([{ ...CREDENTIAL, data: { baseUrl: sandbox.baseUrl, apiKey } }]);
	await n8n.importWorkflows(readWorkflows());
	undo.push(() => n8n.kill('SIGTERM'));
	await n8n.start();
	await n8n.setUpOwner();

	await rowsBecomeResults(n8n);
	// Whoever changes the node need not see it each time.
	if (!values.watch) await longRunOutlivesN8n(n8n, sandbox);
	if (values.once) return;
	console.log(`
Look around: ${n8n.url}/workflow/${ROWS_WORKFLOW} and ${n8n.url}/workflow/${LONG_RUN_WORKFLOW}/executions
  E-mail    ${owner.email}
  Password  ${owner.password}
The sandbox is at ${sandbox.baseUrl}, with the API key ${apiKey}
Press Ctrl-C to stop everything. Only the installed n8n in ~/.cache is left behind.`);
	if (values.watch) watchSources(folder);
}

/** Builds the node whenever one of its sources changes, into the n8n that runs. */
function watchSources(folder: string): void {
	console.log(
		'Watching the files: when one of the node or the credential changes, it is built and loaded into n8n.',
	);
	const installed = path.join(folder, '.n8n/nodes/node_modules/n8n-nodes-agent-invocation');
	const gulp = path.join(projectRoot, 'node_modules/.bin/gulp');
	const watcher = endsWithUs(
		spawn(process.execPath, [gulp, 'watch'], {
			cwd: projectRoot,
			env: { ...process.env, INSTALLED_NODE: installed },
			stdio: 'inherit',
		}),
	);
	undo.push(() => end(watcher, 'SIGTERM'));
}

/** The examples, and the demo's own workflow. */
function readWorkflows(): WorkflowFile[] {
	return ['examples', 'demo'].flatMap((name) => {
		const folder = path.join(projectRoot, name);
		return readdirSync(folder)
			.filter((file) => file.endsWith('.json'))
			.map((file) => JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as WorkflowFile);
	});
}

/** Whether an error's message says all that the reader needs. */
function isExplained(error: unknown): error is Error {
	return error instanceof HostUnavailable || error instanceof DemoFailed;
}

function readPort(text: string): number {
	const port = Number(text);
	if (Number.isInteger(port) && port >= 0 && port < 65_536) return port;
	throw new HostUnavailable(`'${text}' is not a port.`);
}

function withAdvice(option: string, example: number) {
	return (error: unknown): never => {
		if (!(error instanceof HostUnavailable)) throw error;
		throw new HostUnavailable(
			`${error.message} Stop what uses it, or choose another one: npm run demo -- --${option} ${example}`,
		);
	};
}
