import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { installHost } from '../../hosts/install.cts';
import { N8n, owner } from '../../hosts/n8n.cts';
import { installNode, packNode } from '../../hosts/pack.cts';
import { jsonOf, TestHost } from '../support/host.cts';
import { agentNode, createForRow, rowsWorkflow } from '../support/workflows.cts';

// An n8n that already runs, as in a container. A server of this test has its process, and the command that starts and
// ends it talks to that server.
const folder = mkdtempSync(path.join(tmpdir(), 'agent-invocation-running-'));
const before = { ...process.env };
let n8n: N8n;

const control = createServer(({ url }, response) => {
	const done = url === '/start' ? n8n.start() : n8n.kill(url === '/kill' ? 'SIGKILL' : 'SIGTERM');
	void done.finally(() => response.end());
});

beforeAll(async () => {
	const host = await installHost('n8n-2', (line) => process.stderr.write(`${line}\n`));
	installNode(packNode(folder).file, folder);
	n8n = await N8n.prepare(host, folder);
	await n8n.start();
	await new Promise<void>((resolve) => control.listen(0, '127.0.0.1', resolve));
	const { port } = control.address() as AddressInfo;
	Object.assign(process.env, {
		N8N_URL: n8n.url,
		N8N_OWNER_EMAIL: owner.email,
		N8N_OWNER_PASSWORD: owner.password,
		N8N_CONTROL: `"${process.execPath}" -e "fetch('http://127.0.0.1:${port}/$1')"`,
	});
});

afterAll(async () => {
	process.env = before;
	control.close();
	await n8n?.kill('SIGTERM');
	rmSync(folder, { recursive: true, force: true });
});

test('workflows run in it, before and after it is restarted, and nothing of them is left', async () => {
	const workflow = rowsWorkflow('running', agentNode('Run', createForRow));
	// The second one finds the owner, and a workflow that was left.
	for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
		const host = await TestHost.start('n8n-2', [workflow]);
		const outputs = async (text: string) => {
			const row = { agent: 3, values: { seconds: 1, text } };
			return jsonOf(await host.execute('running', [row]), 'Good').map(({ output }) => output);
		};
		expect(await outputs('before')).toEqual(['before']);
		await host.n8n.kill(signal);
		expect(n8n.pid).toBeUndefined();
		await host.n8n.start();
		expect(await outputs('after')).toEqual(['after']);
		expect(await host.n8n.executions('running')).toHaveLength(2);

		await host.n8n.kill(signal);
		await host.stop();
		await n8n.openSession('/rest/login', {
			emailOrLdapLoginId: owner.email,
			password: owner.password,
		});
		for (const what of ['/workflows', '/credentials']) {
			expect(await n8n.rest('GET', what)).toMatchObject({ data: [] });
		}
	}
});

test('what needs its process, its files or its environment says so', async () => {
	const host = await TestHost.start('n8n-2', []);
	await expect(host.n8n.startWorker(1)).rejects.toThrow('Unset N8N_URL');
	expect(() => host.filesWithKey()).toThrow('Unset N8N_URL');
	await host.stop();
	await expect(TestHost.start('n8n-2', [], { environment: { A: '1' } })).rejects.toThrow('set A');
});
