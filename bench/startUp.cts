import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { installNode, packNode } from '../hosts/pack.cts';

/** Well-known community packages to compare with. */
const OTHERS = ['n8n-nodes-evolution-api', '@mendable/n8n-nodes-firecrawl'];
const TIMES = 11;

export interface StartUp {
	name: string;
	packedKb: number;
	/** Each time, in ms. */
	loadMs: number[];
}

/** How long it takes to load a package's nodes and credentials as n8n does, once n8n-workflow is there. */
export function startUp(): StartUp[] {
	const folder = mkdtempSync(path.join(tmpdir(), 'agent-invocation-start-up-'));
	try {
		const ours = packNode(folder).file;
		const tarballs = [ours, ...OTHERS.map((name) => pack(name, folder))];
		const names = ['n8n-nodes-agent-invocation', ...OTHERS];
		return names.map((name, index) => {
			const tarball = tarballs[index]!;
			const home = path.join(folder, String(index));
			installNode(tarball, home);
			const root = path.join(home, '.n8n/nodes/node_modules', name);
			return {
				name,
				packedKb: statSync(tarball).size / 1_000,
				loadMs: Array.from({ length: TIMES }, () => load(root)),
			};
		});
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

function pack(name: string, folder: string): string {
	const args = ['pack', name, '--pack-destination', folder, '--json'];
	const printed = execFileSync('npm', args, {
		encoding: 'utf8',
		stdio: ['ignore', 'pipe', 'ignore'],
	});
	const [packed] = JSON.parse(printed) as Array<{ filename: string }>;
	return path.join(folder, packed!.filename);
}

function load(root: string): number {
	const { n8n } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
		n8n: { nodes: string[]; credentials?: string[] };
	};
	const files = [...n8n.nodes, ...(n8n.credentials ?? [])].map((file) => path.join(root, file));
	const script = `
		require('n8n-workflow');
		const began = performance.now();
		for (const file of ${JSON.stringify(files)}) require(file);
		process.stdout.write(String(performance.now() - began));`;
	const modules = path.join(__dirname, '../node_modules');
	const env = { ...process.env, NODE_PATH: modules };
	const cwd = path.dirname(modules);
	return Number(execFileSync(process.execPath, ['-e', script], { env, cwd, encoding: 'utf8' }));
}
