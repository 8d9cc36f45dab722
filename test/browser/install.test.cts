import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { installHost } from '../../hosts/install.cts';
import { N8n } from '../../hosts/n8n.cts';
import { installNode, packNode } from '../../hosts/pack.cts';
import { Registry } from '../../hosts/registry.cts';
import { startSandbox, type Sandbox } from '../../sandbox/server.cts';
import { CREDENTIAL_ID } from '../support/workflows.cts';
import { Editor } from './editor.cts';
import { nodeWorkflow, NODE } from './workflows.cts';

// n8n's form under Settings > Community nodes takes packages from npm's public registry alone, unless a
// licence allows another one. So the node is installed from a local registry as the README says to do by
// hand, which ends in the same folder.

const PACKAGE = 'n8n-nodes-agent-invocation';
const KEY = 'the-key-of-before';

let folder: string;
let registry: Registry;
let sandbox: Sandbox;
let n8n: N8n;
let editor: Editor;

beforeAll(async () => {
	folder = mkdtempSync(path.join(tmpdir(), 'agent-invocation-install-'));
	registry = await Registry.start(path.join(folder, 'registry'));
	sandbox = await startSandbox(0, { apiKeys: [KEY] });
	const host = await installHost('n8n-2', (line) => process.stderr.write(`${line}\n`));
	n8n = await N8n.prepare(host, path.join(folder, 'n8n'));

	registry.publish(packNode(folder), '0.0.1');
	installNode(PACKAGE, n8n.userFolder, registry.url);
	await n8n.importCredentials([
		{ id: CREDENTIAL_ID, name: CREDENTIAL_ID, data: { baseUrl: sandbox.baseUrl, apiKey: KEY } },
	]);
	const agentId = { __rl: true, mode: 'id', value: 1 };
	await n8n.importWorkflows([nodeWorkflow('before', { agentId })]);
	await n8n.start();
	await n8n.setUpOwner();
	editor = await Editor.open(n8n);
});

afterAll(async () => {
	await editor?.close();
	await n8n?.kill('SIGTERM');
	await sandbox?.close();
	await registry?.stop();
	rmSync(folder, { recursive: true, force: true });
});

test('installed from a registry, the node is found by searching for agents', async () => {
	await editor.go('/workflow/new');
	expect(await editor.searchNodes('agent')).toContain('Agent Invocation');
	await seeItRun('0.0.1');
});

test('after an update, the workflows and credentials of before work', async () => {
	await n8n.kill('SIGTERM');
	registry.publish(packNode(folder), '0.0.2');
	installNode(`${PACKAGE}@latest`, n8n.userFolder, registry.url);
	await n8n.start();
	await seeItRun('0.0.2');
});

async function seeItRun(version: string): Promise<void> {
	const manifest = path.join(n8n.userFolder, '.n8n/nodes/node_modules', PACKAGE, 'package.json');
	expect(JSON.parse(readFileSync(manifest, 'utf8'))).toMatchObject({ version });
	const runs = sandbox.runs.all.length;
	await editor.openNode('before', NODE);
	await editor.executeStep();
	await editor.part('output-panel').getByText('All systems normal.').first().waitFor();
	expect(sandbox.runs.all).toHaveLength(runs + 1);
}
