import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import type { INodeExecutionData } from 'n8n-workflow';

import { installHost, type HostName } from '../../hosts/install.cts';
import { N8n, type StoredExecution } from '../../hosts/n8n.cts';
import { installNode, packNode, type Tarball } from '../../hosts/pack.cts';
import type { Fault } from '../../sandbox/faults.cts';
import { startSandbox, type Sandbox } from '../../sandbox/server.cts';
import { agentNode, createForRow, CREDENTIAL_ID, rowsWorkflow } from './workflows.cts';

const KEY = 'e2e-key-that-stays-home';
jest.setTimeout(120_000);

const packing = mkdtempSync(path.join(tmpdir(), 'agent-invocation-pack-'));
let tarball: Tarball;
beforeAll(() => {
	tarball = packNode(packing);
});
afterAll(() => rmSync(packing, { recursive: true, force: true }));

test('the tarball holds what users need and nothing else, under 150 kB', () => {
	const outside = tarball.files
		.map((file) => file.path)
		.filter((file) => !file.startsWith('dist/') || !/\.(js|json|svg)$/.test(file));
	expect(outside.sort()).toEqual(['LICENSE.md', 'README.md', 'index.js', 'package.json']);
	expect(tarball.unpackedSize).toBeLessThan(150_000);
});

describe.each<HostName>(['n8n-2', 'n8n-1'])('in %s', (hostName) => {
	const isOld = hostName === 'n8n-1';
	let sandbox: Sandbox;
	let n8n: N8n;
	let folder: string;

	beforeAll(async () => {
		const host = await installHost(hostName, (line) => process.stderr.write(`${line}\n`));
		folder = mkdtempSync(path.join(tmpdir(), `agent-invocation-${hostName}-`));
		sandbox = await startSandbox(0, { apiKeys: [KEY], agentCount: 250 });
		installNode(tarball, folder);
		n8n = await N8n.prepare(host, folder);
		await n8n.importCredential({
			id: CREDENTIAL_ID,
			name: 'Sandbox',
			data: { baseUrl: sandbox.baseUrl, apiKey: KEY },
		});
		const workflows = [
			rowsWorkflow(
				'list',
				agentNode('Agents', { resource: 'agent', operation: 'list', returnAll: true }),
			),
			rowsWorkflow('run', agentNode('Run', createForRow)),
			rowsWorkflow('errors', agentNode('Run', createForRow, { onError: 'continueErrorOutput' })),
			rowsWorkflow('regular', agentNode('Run', createForRow, { onError: 'continueRegularOutput' })),
		];
		await n8n.importWorkflows(workflows);
		for (const { id } of workflows) await n8n.activate(id);
		await n8n.start();
		await n8n.setUpOwner();
	}, 900_000);

	afterAll(async () => {
		await n8n?.kill('SIGTERM');
		await sandbox?.close();
		rmSync(folder, { recursive: true, force: true });
	});

	/** Calls a workflow's webhook with rows and waits until its execution has ended. */
	async function execute(workflowId: string, rows: unknown[]): Promise<StoredExecution> {
		await n8n.callWebhook(workflowId, { rows });
		return await n8n.endOf(await n8n.newestExecutionId(workflowId));
	}

	function itemsOf(execution: StoredExecution, node: string, output = 0): INodeExecutionData[] {
		return execution.data.resultData.runData[node]?.[0]?.data?.main?.[output] ?? [];
	}

	test('agents are listed, every one once', async () => {
		const execution = await execute('list', [{}]);
		expect(execution.status).toBe('success');
		const ids = itemsOf(execution, 'Agents').map(({ json }) => json.id);
		expect(ids).toEqual(Array.from({ length: 250 }, (_, index) => index + 1));
	});

	test('runs of several items are created once each, waited for, and output in order', async () => {
		const before = sandbox.runs.all.length;
		const seconds = [3, 0.2, 1, 2];
		const execution = await execute(
			'run',
			seconds.map((s) => ({ agent: 3, values: { seconds: s, text: `took ${s}` } })),
		);
		expect(execution.status).toBe('success');
		const items = itemsOf(execution, 'Good');
		expect(items.map(({ json }) => json.output)).toEqual(seconds.map((s) => `took ${s}`));
		const paired = itemsOf(execution, 'Run').map(({ pairedItem }) => pairedItem);
		expect(paired).toEqual(seconds.map((_, item) => ({ item })));
		expect(sandbox.runs.all).toHaveLength(before + seconds.length);
	});

	test('a failed item stops the workflow with a message that names the run', async () => {
		const execution = await execute('run', [{ agent: 5 }]);
		expect(execution.status).toBe('error');
		const { runId } = sandbox.runs.all.at(-1)!;
		expect(execution.data.resultData.error?.message).toBe(
			`Run ${runId} of agent 5 failed: A tool of the agent gave no answer.`,
		);
	});

	test("'Continue (using error output)' sends failed items to the second output", async () => {
		const rows = [{ agent: 1 }, { agent: 5 }, { agent: 'none' }, { agent: 7 }];
		const execution = await execute('errors', rows);
		expect(execution.status).toBe('success');
		expect(itemsOf(execution, 'Good').map(({ json }) => json.agent_id)).toEqual([1, 7]);
		const bad = itemsOf(execution, 'Bad').map(({ json }) => json);
		const { runId } = sandbox.runs.all.filter(({ agentId }) => agentId === 5).at(-1)!;
		expect(bad).toHaveLength(2);
		expect(bad[0]!.error).toContain(runId);
		expect(bad[1]!.error).toBe("'Agent' is not a whole number: none");
		// n8n 1 keeps the message alone.
		if (!isOld) {
			expect(bad).toMatchObject([
				{ row: { agent: 5 }, details: { agent_id: 5, run_id: runId, status: 'failed' } },
				{ row: { agent: 'none' } },
			]);
		}
	});

	test("'Continue' keeps everything that is known of a failed item", async () => {
		const execution = await execute('regular', [{ agent: 4_711 }]);
		expect(itemsOf(execution, 'Good').map(({ json }) => json)).toMatchObject([
			{
				error: 'The service has no agent 4711 for this organization',
				details: { code: 'agent_not_found', http_status: 404, agent_id: 4_711 },
			},
		]);
	});

	test("the editor's list and fields are served", async () => {
		const common = {
			nodeTypeAndVersion: { name: 'n8n-nodes-agent-invocation.agentInvocation', version: 1 },
			credentials: { agentInvocationApi: { id: CREDENTIAL_ID, name: 'Sandbox' } },
			currentNodeParameters: { agentId: { __rl: true, mode: 'id', value: '2' } },
		};
		const list = await n8n.rest<{ data: { results: unknown[]; paginationToken: string } }>(
			'POST',
			'/dynamic-node-parameters/resource-locator-results',
			{ ...common, path: 'parameters.agentId', methodName: 'searchAgents' },
		);
		expect(list.data.results).toHaveLength(100);
		expect(list.data.paginationToken).toBe('100');
		const mapper = await n8n.rest<{ data: { fields: unknown[] } }>(
			'POST',
			'/dynamic-node-parameters/resource-mapper-fields',
			{ ...common, path: 'parameters.parameters', methodName: 'getAgentParameters' },
		);
		expect(mapper.data.fields).toMatchObject([{ id: 'region', required: true }, { id: 'quarter' }]);
	});

	describe("the credential's test", () => {
		/** Saves a credential as the editor's form does, and presses its test button. */
		async function testCredential(baseUrl: string, apiKey: string) {
			const credential = { name: 'Trial', type: 'agentInvocationApi', data: { baseUrl, apiKey } };
			const saved = await n8n.rest<{ data: { id: string } }>('POST', '/credentials', credential);
			const tested = await n8n.rest<{ data: { status: string; message: string } }>(
				'POST',
				'/credentials/test',
				{ credentials: { ...credential, id: saved.data.id } },
			);
			return tested.data;
		}

		test('is green for a good one, also with a slash at the end', async () => {
			for (const end of ['', '/']) {
				expect(await testCredential(sandbox.baseUrl + end, KEY)).toMatchObject({ status: 'OK' });
			}
		});

		// n8n 1 does not look at the rules of a credential type and says it in its own words.
		test('tells failures apart in plain words', async () => {
			const origin = new URL(sandbox.baseUrl).origin;
			const cases: Array<{
				fault?: Fault;
				url?: string;
				key?: string;
				says: string;
				oldSays: string;
			}> = [
				{ key: 'wrong-key', says: 'does not accept this API key', oldSays: 'Authorization failed' },
				{
					fault: { kind: 'html', status: 404, path: '^/agents' },
					url: origin,
					says: 'ends in /api/v1',
					oldSays: 'could not be found',
				},
				{
					fault: { kind: 'answer', status: 302, headers: { location: origin } },
					says: 'redirects',
					oldSays: '302',
				},
				{ fault: { kind: 'html', status: 502 }, says: 'proxy', oldSays: 'Bad gateway' },
				{ url: 'http://127.0.0.1:9/api/v1', says: 'ECONNREFUSED', oldSays: 'refused' },
			];
			for (const { fault, url = sandbox.baseUrl, key = KEY, says, oldSays } of cases) {
				if (fault) sandbox.faults.add(fault);
				expect(await testCredential(url, key)).toMatchObject({
					status: 'Error',
					message: expect.stringContaining(isOld ? oldSays : says) as string,
				});
			}
		});
	});

	test('the key is nowhere in n8n: not in its database, its log or its settings', async () => {
		await n8n.kill('SIGTERM');
		const home = path.join(folder, '.n8n');
		const files = readdirSync(home, { withFileTypes: true })
			.filter((entry) => entry.isFile())
			.map((entry) => path.join(home, entry.name));
		expect(files.some((file) => file.endsWith('database.sqlite'))).toBe(true);
		for (const file of [...files, n8n.log]) {
			expect({ file, hasKey: readFileSync(file).includes(KEY) }).toEqual({ file, hasKey: false });
		}
	});
});
