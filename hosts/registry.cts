import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import axios from 'axios';

import { HostUnavailable, installLocked } from './install.cts';
import { freePort } from './n8n.cts';
import type { Tarball } from './pack.cts';
import { end, endsWithUs, hasEnded } from './processes.cts';

const START_TIMEOUT_MS = 60_000;

/** A local npm registry (verdaccio) on loopback that holds what was published to it and nothing else. */
export class Registry {
	private constructor(
		readonly url: string,
		private readonly folder: string,
		private readonly process: ChildProcess,
	) {}

	/**
	 * @param folder where the registry keeps its packages
	 * @throws HostUnavailable when it does not come up
	 */
	static async start(folder: string): Promise<Registry> {
		const installed = await installLocked('registry', (line) => process.stderr.write(`${line}\n`));
		const port = await freePort(0);
		const url = `http://127.0.0.1:${port}`;
		const configuration = {
			storage: path.join(folder, 'storage'),
			auth: { htpasswd: { file: path.join(folder, 'htpasswd') } },
			packages: { '**': { access: '$all', publish: '$all' } },
			log: { type: 'stdout', level: 'fatal' },
		};
		mkdirSync(folder, { recursive: true });
		const file = path.join(folder, 'verdaccio.yaml');
		// JSON is YAML too.
		writeFileSync(file, JSON.stringify(configuration));
		const command = path.join(installed, 'node_modules/.bin/verdaccio');
		const child = endsWithUs(
			spawn(process.execPath, [command, '-c', file, '-l', `127.0.0.1:${port}`], {
				stdio: 'ignore',
			}),
		);
		const registry = new Registry(url, folder, child);
		const deadline = Date.now() + START_TIMEOUT_MS;
		while (!(await isUp(url))) {
			if (hasEnded(child) || Date.now() > deadline) {
				await registry.stop();
				throw new HostUnavailable('The local npm registry did not start.');
			}
			await sleep(100);
		}
		return registry;
	}

	/** Publishes the packed node, as the version given. */
	publish(tarball: Tarball, version: string): void {
		const unpacked = path.join(this.folder, version);
		mkdirSync(unpacked, { recursive: true });
		execFileSync('tar', ['-xzf', tarball.file, '-C', unpacked, '--strip-components=1']);
		const manifest = path.join(unpacked, 'package.json');
		const content = JSON.parse(readFileSync(manifest, 'utf8')) as Record<string, unknown>;
		writeFileSync(manifest, JSON.stringify({ ...content, version }));
		const token = `--${this.url.replace('http:', '')}/:_authToken=anyone`;
		execFileSync('npm', ['publish', '--registry', this.url, token, '--ignore-scripts'], {
			cwd: unpacked,
			stdio: ['ignore', 'ignore', 'pipe'],
		});
	}

	async stop(): Promise<void> {
		await end(this.process, 'SIGTERM');
	}
}

async function isUp(url: string): Promise<boolean> {
	try {
		await axios.get(`${url}/-/ping`);
		return true;
	} catch {
		return false;
	}
}
