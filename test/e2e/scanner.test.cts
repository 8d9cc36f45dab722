import { execFile, execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { installLocked } from '../../hosts/install.cts';
import { packNode, projectRoot } from '../../hosts/pack.cts';
import { Registry } from '../../hosts/registry.cts';

// n8n's scanner reads a package in two parts: the files that were published, and the source that npm's
// provenance statement names. It takes both from fixed addresses in the internet, so it is given here
// what it would find there: the package from a local registry, and this checkout.

const PACKAGE = 'n8n-nodes-agent-invocation';
const VERSION = '0.0.1';

/** What the scanner itself lints of a published package; its source has a list of its own. */
const PUBLISHED_FILES = ['**/*.js', 'package.json'];

interface Verdict {
	passed: boolean;
	details?: string;
}

let folder: string;
let registry: Registry;
let scanner: string;
/** The package as published, unpacked. */
let published: string;

beforeAll(async () => {
	const installed = await installLocked('scanner', (line) => process.stderr.write(`${line}\n`));
	const file = 'node_modules/@n8n/scan-community-package/scanner/scanner.mjs';
	scanner = pathToFileURL(path.join(installed, file)).href;
	folder = mkdtempSync(path.join(tmpdir(), 'agent-invocation-scanner-'));
	registry = await Registry.start(path.join(folder, 'registry'));
	registry.publish(packNode(folder), VERSION);
	published = path.join(folder, 'published');
	mkdirSync(published);
	const args = ['pack', `${PACKAGE}@${VERSION}`, '--registry', registry.url];
	execFileSync('npm', args, { cwd: published, stdio: ['ignore', 'ignore', 'pipe'] });
	const tarball = `${PACKAGE}-${VERSION}.tgz`;
	execFileSync('tar', ['-xzf', tarball, '--strip-components=1'], { cwd: published });
});

afterAll(async () => {
	await registry?.stop();
	if (folder) rmSync(folder, { recursive: true, force: true });
});

test("n8n's scanner passes the package as published", async () => {
	expect(await scan(published, PUBLISHED_FILES)).toEqual({ passed: true });
});

test("n8n's scanner passes the source that the package is built from", async () => {
	expect(await scan(projectRoot)).toEqual({ passed: true });
});

test("n8n's scanner refuses the package once a built file imports what is forbidden", async () => {
	const file = path.join(published, 'dist/nodes/AgentInvocation/AgentInvocation.node.js');
	appendFileSync(file, "\nrequire('fs');\n");
	const verdict = await scan(published, PUBLISHED_FILES);
	expect(verdict.passed).toBe(false);
	expect(verdict.details).toContain('no-restricted-imports');
});

/** @param files what to lint; the scanner's own choice of source files when absent */
async function scan(directory: string, files?: string[]): Promise<Verdict> {
	const script = `
		import { analyzePackage, SOURCE_FILE_PATTERNS } from ${JSON.stringify(scanner)};
		const [directory, files] = JSON.parse(process.argv[1]);
		const verdict = await analyzePackage(directory, files ?? SOURCE_FILE_PATTERNS);
		process.stdout.write(JSON.stringify(verdict));`;
	const args = ['--input-type=module', '--eval', script, JSON.stringify([directory, files])];
	// With Jest's own NODE_ENV, n8n's rules take each file for one of their tests.
	const env = { ...process.env, NODE_ENV: 'production', TMPDIR: folder };
	const { stdout } = await promisify(execFile)(process.execPath, args, { env });
	return JSON.parse(stdout) as Verdict;
}
