import { spawn, type ChildProcess } from 'node:child_process';
import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { until } from '../support/until.cts';

// What the demo and the suites have started goes with them, however they end. With real processes.
const root = path.join(__dirname, '../..');

let folder: string;
let starter: ChildProcess | undefined;
beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), 'agent-invocation-processes-'))));
afterEach(() => {
	starter?.kill('SIGKILL');
	rmSync(folder, { recursive: true, force: true });
});

/** A program that names itself and a child of its own in `pids`, and goes on for ever. */
const LASTING = `#!${process.execPath}
	const { appendFileSync } = require('node:fs');
	const { spawn } = require('node:child_process');
	const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
	process.on('SIGTERM', () => {});
	appendFileSync(process.env.PIDS ?? require('node:path').join(process.env.N8N_USER_FOLDER, '../pids'),
		process.pid + ' ' + child.pid + '\\n');
	setInterval(() => {}, 1000);`;

/** Starts a process of Node.js that runs this script. */
function start(script: string, environment: NodeJS.ProcessEnv = {}): ChildProcess {
	const file = path.join(folder, 'starter.cts');
	writeFileSync(file, script);
	starter = spawn(process.execPath, ['--require', 'tsx/cjs', file], {
		cwd: root,
		stdio: 'ignore',
		env: { ...process.env, ...environment },
	});
	return starter;
}

const pids = () => {
	const file = path.join(folder, 'pids');
	const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
	return text.split(/\s/).filter(Boolean).map(Number);
};

function isAlive(pid: number): boolean {
	try {
		process.kill(pid, 0);
		// A zombie is no process any more, and may wait long for its parent in a container.
		const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
		return !/\) Z /.test(stat);
	} catch {
		return false;
	}
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'] as const;

test.each(SIGNALS)('an n8n that is just starting ends with who started it: %s', async (signal) => {
	const userFolder = path.join(folder, 'n8n');
	const command = path.join(folder, 'command.js');
	writeFileSync(command, LASTING);
	const host = { name: 'n8n-2', version: '', command, node: process.execPath };
	const child = start(`
		const { N8n } = require(${JSON.stringify(path.join(root, 'hosts/n8n.cts'))});
		void N8n.prepare(${JSON.stringify(host)}, ${JSON.stringify(userFolder)}).then((n8n) => n8n.start());
	`);
	await until(() => pids().length === 2);
	expect(pids().every(isAlive)).toBe(true);
	child.kill(signal);
	await until(() => !pids().some(isAlive) && !existsSync(userFolder));
});

test.each(SIGNALS)('an installation leaves nothing beside the cache: %s', async (signal) => {
	const [bin, cache] = [path.join(folder, 'bin'), path.join(folder, 'cache')];
	mkdirSync(bin);
	writeFileSync(path.join(bin, 'npm'), LASTING);
	chmodSync(path.join(bin, 'npm'), 0o755);
	const child = start(
		`const { installLocked } = require(${JSON.stringify(path.join(root, 'hosts/install.cts'))});
		void installLocked('prism', () => {});`,
		{
			PATH: `${bin}${path.delimiter}${process.env.PATH}`,
			XDG_CACHE_HOME: cache,
			PIDS: path.join(folder, 'pids'),
		},
	);
	await until(() => pids().length === 2);
	const own = path.join(cache, 'n8n-nodes-agent-invocation');
	expect(readdirSync(own)).toHaveLength(1);
	child.kill(signal);
	await until(() => !pids().some(isAlive) && readdirSync(own).length === 0);
});
