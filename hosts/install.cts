import { execFileSync, spawn, type StdioOptions } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
	copyFileSync,
	existsSync,
	mkdirSync,
	readFileSync,
	renameSync,
	rmSync,
	writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';

import { endsWithUs, goesWithUs } from './processes.cts';

/** The n8n versions that are locked here, by the folder that holds their lock file. */
export type HostName = 'n8n-2' | 'n8n-1';

/** A real n8n, installed and ready to start. */
export interface Host {
	name: HostName;
	/** n8n's own version. */
	version: string;
	/** n8n's command, a JavaScript file. */
	command: string;
	/** The Node.js that runs it. */
	node: string;
}

/** Something the user can put right; its message says how. */
export class HostUnavailable extends Error {}

const OLDEST_NODE = 24;

/** What to do where npm has no n8n. Source: n8n's page 'v3.0 breaking changes', 2026. */
const IN_DOCKER =
	'From n8n 3 on, n8n is in Docker alone: run its image and set N8N_URL (hosts/runningN8n.cts), or take an n8n 2.';

/**
 * Installs a locked n8n into the user's cache, outside any checkout, so that the next checkout on this
 * machine finds it. Returns at once when it is there. With N8N_2_VERSION, n8n 2 is not the locked one but
 * that version, for example `latest`.
 *
 * @param say is told what goes on, a line at a time
 * @throws HostUnavailable when something is missing or the installation fails
 */
export async function installHost(name: HostName, say: (line: string) => void): Promise<Host> {
	const tag = name === 'n8n-2' ? process.env.N8N_2_VERSION : undefined;
	const folder = await installLocked(name, say, {
		...(tag && { other: exactN8n(tag) }),
		check: checkCompiler,
		// The only native part that has to be built; the others ship prebuilt or are not used.
		rebuild: { package: 'sqlite3', doing: 'building SQLite' },
	});
	const { version } = JSON.parse(
		readFileSync(path.join(folder, 'node_modules/n8n/package.json'), 'utf8'),
	) as { version: string };
	return {
		name,
		version,
		command: path.join(folder, 'node_modules/n8n/bin/n8n'),
		node: findNode(folder),
	};
}

interface Installation {
	/** A package to install in place of what the lock says of it, with its exact version. */
	other?: string;
	check?: () => void;
	rebuild?: { package: string; doing: string };
}

/**
 * Installs what the folder `name` beside this file has locked into the user's cache, once.
 *
 * @returns the folder with its `node_modules`
 * @throws HostUnavailable when something is missing or the installation fails
 */
export async function installLocked(
	name: string,
	say: (line: string) => void,
	{ other, check, rebuild }: Installation = {},
): Promise<string> {
	const source = path.join(__dirname, name);
	const lock = readFileSync(path.join(source, 'package-lock.json'));
	const hash = createHash('sha256').update(lock).digest('hex').slice(0, 12);
	const cache = path.join(
		process.env.XDG_CACHE_HOME ?? path.join(homedir(), '.cache'),
		'n8n-nodes-agent-invocation',
	);
	const folder = path.join(cache, `${name}-${other?.replace('@', '-') ?? hash}`);
	if (existsSync(folder)) return folder;

	check?.();
	const building = `${folder}.${process.pid}`;
	const keep = goesWithUs(building);
	try {
		mkdirSync(building, { recursive: true });
		const files = other === undefined ? ['package.json', 'package-lock.json'] : ['package.json'];
		for (const file of files) copyFileSync(path.join(source, file), path.join(building, file));
		say(`Installing ${name} into ${folder} (once${rebuild ? '; some minutes and 3 GB' : ''})`);
		const install = other === undefined ? ['ci'] : ['install', other];
		await npm([...install, '--ignore-scripts'], building, 'downloading', say);
		if (rebuild) {
			const args = ['rebuild', rebuild.package, '--ignore-scripts=false'];
			await npm(args, building, rebuild.doing, say, headersOf(findNode(building)));
		}
		if (!existsSync(folder)) renameSync(building, folder);
	} finally {
		rmSync(building, { recursive: true, force: true });
		keep();
	}
	say(`Installed ${name}`);
	return folder;
}

/**
 * n8n as npm takes it, with the exact version that a tag such as `latest` stands for.
 *
 * @throws HostUnavailable when npm has no such n8n, or one that does not run
 */
export function exactN8n(tag: string): string {
	const stdio: StdioOptions = ['ignore', 'pipe', 'pipe'];
	const args = ['view', `n8n@${tag}`, 'version', 'bin', '--json'];
	let found: { version: string; bin?: Record<string, string> };
	try {
		found = JSON.parse(execFileSync('npm', args, { stdio }).toString()) as typeof found;
	} catch (error) {
		const { stderr = '' } = error as { stderr?: string | Buffer };
		throw new HostUnavailable(`npm gives no n8n '${tag}'. ${IN_DOCKER}\n${stderr.toString()}`);
	}
	if (found.bin?.n8n === undefined) {
		throw new HostUnavailable(`npm has no n8n '${tag}' that can be started. ${IN_DOCKER}`);
	}
	return `n8n@${found.version}`;
}

function checkCompiler(): void {
	const missing = ['python3', 'make', 'g++'].filter((command) => {
		try {
			execFileSync(command, ['--version'], { stdio: 'ignore' });
			return false;
		} catch {
			return true;
		}
	});
	if (missing.length > 0) {
		throw new HostUnavailable(
			`n8n's database driver has to be compiled, and ${missing.join(', ')} ${
				missing.length > 1 ? 'are' : 'is'
			} not installed. On Debian and Ubuntu: apt-get install python3 make g++. On macOS: xcode-select --install.`,
		);
	}
}

/** The Node.js for what was installed. n8n 2 needs a newer one than this project: on Linux it comes along. */
export function findNode(folder: string): string {
	const installed = path.join(
		folder,
		`node_modules/node-${process.platform}-${process.arch}/bin/node`,
	);
	if (existsSync(installed)) return installed;
	if (Number(process.versions.node.split('.')[0]) >= OLDEST_NODE) return process.execPath;
	throw new HostUnavailable(
		`n8n needs Node.js ${OLDEST_NODE} or later here, and this is ${process.versions.node}. Install it and run this again.`,
	);
}

/** npm's setting for the headers that came with a Node.js, so that none have to be downloaded. */
function headersOf(node: string): NodeJS.ProcessEnv {
	const folder = path.resolve(node, '../..');
	const isThere = existsSync(path.join(folder, 'include/node/node_api.h'));
	return isThere ? { npm_config_nodedir: folder } : {};
}

async function npm(
	args: string[],
	cwd: string,
	doing: string,
	say: (line: string) => void,
	environment: NodeJS.ProcessEnv = {},
): Promise<void> {
	const started = Date.now();
	const seconds = () => Math.round((Date.now() - started) / 1_000);
	const child = endsWithUs(
		spawn('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], {
			cwd,
			env: { ...process.env, ...environment },
			stdio: ['ignore', 'pipe', 'pipe'],
			detached: true,
		}),
	);
	let output = '';
	for (const stream of [child.stdout, child.stderr]) {
		stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4_000)));
	}
	const progress = setInterval(() => say(`  ${doing}: ${seconds()} s`), 15_000);
	const code = await new Promise<number | null>((resolve, reject) => {
		child.once('error', reject);
		child.once('close', resolve);
	}).finally(() => clearInterval(progress));
	if (code !== 0) {
		const log = path.join(path.dirname(cwd), 'install-failed.log');
		writeFileSync(log, output);
		throw new HostUnavailable(
			`The installation failed while ${doing}. Check the connection to your npm registry and run this again. npm's last words (all in ${log}):\n${output.trim().split('\n').slice(-8).join('\n')}`,
		);
	}
	say(`  ${doing}: done in ${seconds()} s`);
}
