import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import type { HostName } from '../../hosts/install.cts';
import type { N8n, StoredExecution } from '../../hosts/n8n.cts';
import { packNode } from '../../hosts/pack.cts';
import type { Fault } from '../../sandbox/faults.cts';
import { startSandbox, type Sandbox } from '../../sandbox/server.cts';
import { startChatModel, type ChatModel } from './chatModel.cts';
import { itemsOf, jsonOf, KEY, TestHost } from '../support/host.cts';
import {
	agentNode,
	createForRow,
	CREDENTIAL_ID,
	CREDENTIAL_NAME,
	loopWorkflow,
	n8nNode,
	rowsWorkflow,
	savingProgress,
	toolWorkflow,
} from '../support/workflows.cts';
import { until } from '../support/until.cts';

test('the tarball holds what users need and nothing else, under 236 kB', () => {
	const folder = mkdtempSync(path.join(tmpdir(), 'agent-invocation-pack-'));
	const tarball = packNode(folder);
	rmSync(folder, { recursive: true, force: true });
	const outside = tarball.files
		.map((file) => file.path)
		.filter((file) => !file.startsWith('dist/') || !/\.(js|json|svg)$/.test(file));
	expect(outside.sort()).toEqual(['LICENSE.md', 'README.md', 'index.js', 'package.json']);
	expect(tarball.unpackedSize).toBeLessThan(236_000);
});

/** n8n's own node for whatever a service has, with our credential. */
const httpRequest = n8nNode('Run', 'httpRequest', 4.2, {
	credentials: { agentInvocationApi: { id: CREDENTIAL_ID, name: CREDENTIAL_NAME } },
	onError: 'continueErrorOutput',
	parameters: {
		url: '={{ $json.row.url }}',
		authentication: 'predefinedCredentialType',
		nodeCredentialType: 'agentInvocationApi',
	},
});

const NAMED_IN_ROW = { __rl: true, mode: 'name', value: '={{ $json.row.agent }}' };

describe.each<HostName>(['n8n-2', 'n8n-1'])('in %s', (hostName) => {
	const isOld = hostName === 'n8n-1';
	let host: TestHost;
	let sandbox: Sandbox;
	let n8n: N8n;
	let chatModel: ChatModel;
	/** Executions that take a minute and more, so they are begun before the others. */
	let asTool: string;
	let timed: string;
	/** The path of any run but those executions', whose polls come at any time. */
	let otherRuns: string;

	beforeAll(async () => {
		chatModel = await startChatModel();
		const workflows = [
			toolWorkflow(
				'tool',
				'chatModel0000001',
				agentNode('Run', {
					...createForRow,
					agentId: { __rl: true, mode: 'id', value: '3' },
					parametersJson: '{ "seconds": 30, "text": "as asked" }',
					options: { pollInterval: 65 },
				}),
			),
			rowsWorkflow(
				'list',
				agentNode('Agents', { resource: 'agent', operation: 'list', returnAll: true }),
			),
			rowsWorkflow('run', agentNode('Run', createForRow)),
			rowsWorkflow('named', agentNode('Run', { ...createForRow, agentId: NAMED_IN_ROW })),
			loopWorkflow(
				'loop',
				agentNode('Run', createForRow, { retryOnFail: true, waitBetweenTries: 0 }),
			),
			rowsWorkflow('errors', agentNode('Run', createForRow, { onError: 'continueErrorOutput' })),
			rowsWorkflow('regular', agentNode('Run', createForRow, { onError: 'continueRegularOutput' })),
			savingProgress(
				rowsWorkflow('saving', agentNode('Run', createForRow, { onError: 'continueErrorOutput' })),
			),
			rowsWorkflow('request', httpRequest),
			rowsWorkflow('timed', agentNode('Run', createForRow, { onError: 'continueErrorOutput' })),
		];
		host = await TestHost.start(hostName, workflows, {
			settings: { agentCount: 250 },
			environment: { EXECUTIONS_TIMEOUT: '180' },
			credentials: [
				{
					id: 'chatModel0000001',
					name: 'chatModel0000001',
					type: 'openAiApi',
					data: { apiKey: 'none', url: chatModel.baseUrl },
				},
			],
		});
		({ n8n, sandbox } = host);
		asTool = await host.begin('tool', [{}]);
		timed = await host.begin('timed', [{ agent: 3, values: { seconds: 600, text: 'timed' } }]);
		// Their runs are not to be counted among those of the tests.
		await until(() => sandbox.runs.all.length === 2);
		const [one, other] = sandbox.runs.all;
		otherRuns = `/runs/(?!(?:${one!.runId}|${other!.runId})$)`;
	});

	afterAll(async () => {
		await host?.stop();
		await chatModel?.close();
	});

	const execute = async (workflowId: string, rows: unknown[]) =>
		await host.execute(workflowId, rows);

	test('agents are listed, every one once', async () => {
		const execution = await execute('list', [{}]);
		expect(execution.status).toBe('success');
		const ids = jsonOf(execution, 'Agents').map(({ id }) => id);
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
		expect(jsonOf(execution, 'Good').map(({ output }) => output)).toEqual(
			seconds.map((s) => `took ${s}`),
		);
		const paired = itemsOf(execution, 'Run').map(({ pairedItem }) => pairedItem);
		expect(paired).toEqual(seconds.map((_, item) => ({ item })));
		expect(sandbox.runs.all).toHaveLength(before + seconds.length);
	});

	test("agents are found by the name in each row's expression, with one reading of the list", async () => {
		const before = sandbox.requests.length;
		const names = ['Daily briefing', 'archive AGENT 240 ', 'Archive agent 9', 'Daily briefing'];
		const execution = await execute(
			'named',
			names.map((agent) => ({ agent })),
		);
		expect(jsonOf(execution, 'Good').map((json) => json.agent_id)).toEqual([1, 240, 9, 1]);
		const listings = sandbox.requests.slice(before).filter(({ url }) => url.includes('/agents?'));
		expect(listings).toHaveLength(3);

		const failed = await execute('named', [{ agent: 'Nobody' }]);
		expect(failed.data.resultData.error?.message).toBe("No published agent is named 'Nobody'");
	});

	test('a failed item stops the workflow with a message that names the run', async () => {
		const execution = await execute('run', [{ agent: 5 }]);
		expect(execution.status).toBe('error');
		const { runId } = sandbox.runs.all.at(-1)!;
		expect(execution.data.resultData.error?.message).toBe(
			`The agent's run failed: A tool of the agent gave no answer (run ${runId} of agent 5)`,
		);
	});

	test("'Continue (using error output)' sends failed items to the second output", async () => {
		const rows = [{ agent: 1 }, { agent: 5 }, { agent: 'none' }, { agent: 7 }];
		const execution = await execute('errors', rows);
		expect(execution.status).toBe('success');
		expect(jsonOf(execution, 'Good').map((json) => json.agent_id)).toEqual([1, 7]);
		const bad = jsonOf(execution, 'Bad');
		const { runId } = sandbox.runs.all.filter(({ agentId }) => agentId === 5).at(-1)!;
		expect(bad).toHaveLength(2);
		expect(bad[0]!.error).toContain(runId);
		expect(bad[1]!.error).toBe("'Agent' is not an agent ID: none");
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
		expect(jsonOf(execution, 'Good')).toMatchObject([
			{
				error: 'Agent 4711 was not found',
				details: { code: 'agent_not_found', http_status: 404, agent_id: 4_711 },
			},
		]);
	});

	test("the editor's list and fields are served", async () => {
		const withAgent = (mode: string, value: string) => ({
			nodeTypeAndVersion: { name: 'n8n-nodes-agent-invocation.agentInvocation', version: 1 },
			credentials: { agentInvocationApi: { id: CREDENTIAL_ID, name: CREDENTIAL_NAME } },
			currentNodeParameters: { agentId: { __rl: true, mode, value } },
		});
		const list = await n8n.rest<{ data: { results: unknown[]; paginationToken: string } }>(
			'POST',
			'/dynamic-node-parameters/resource-locator-results',
			{ ...withAgent('id', '2'), path: 'parameters.agentId', methodName: 'searchAgents' },
		);
		expect(list.data.results).toHaveLength(100);
		expect(list.data.paginationToken).toBe('100');
		for (const agent of [withAgent('id', '2'), withAgent('name', 'regional report')]) {
			const mapper = await n8n.rest<{ data: { fields: unknown[] } }>(
				'POST',
				'/dynamic-node-parameters/resource-mapper-fields',
				{ ...agent, path: 'parameters.parameters', methodName: 'getAgentParameters' },
			);
			expect(mapper.data.fields).toMatchObject([
				{ id: 'region', required: true },
				{ id: 'quarter' },
			]);
		}
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

		test('is green for a good one, with a slash at the end or without its path too', async () => {
			const { baseUrl } = sandbox;
			for (const url of [baseUrl, `${baseUrl}/`, new URL(baseUrl).origin]) {
				expect(await testCredential(url, KEY)).toMatchObject({ status: 'OK' });
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
					fault: { kind: 'html', status: 404, path: '^/api/agents' },
					url: `${origin}/api`,
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
				if (fault) sandbox.faults.add({ path: '/agents$', ...fault });
				expect(await testCredential(url, key)).toMatchObject({
					status: 'Error',
					message: expect.stringContaining(isOld ? oldSays : says) as string,
				});
			}
		});
	});

	test("in n8n's HTTP Request node, the key goes to the credential's host alone", async () => {
		const other = await startSandbox(0, {});
		const urls = [sandbox.baseUrl, other.baseUrl].map((baseUrl) => `${baseUrl}/agents?limit=1`);
		const execution = await execute(
			'request',
			urls.map((url) => ({ url })),
		);
		const seen = [...other.requests];
		await other.close();
		expect(jsonOf(execution, 'Good')).toMatchObject([{ agents: [{ id: 1 }] }]);
		expect(JSON.stringify(jsonOf(execution, 'Bad'))).toContain(
			'This credential works only for addresses at',
		);
		expect(seen).toEqual([]);
	});

	describe("the editor's Retry of an execution that failed while it waited", () => {
		// Each poll is refused, which ends the wait for both; both runs go on.
		async function failWhileWaiting(): Promise<StoredExecution> {
			const before = sandbox.runs.all.length;
			sandbox.faults.add({
				kind: 'answer',
				status: 401,
				body: { error: { code: 'invalid_api_key', message: 'No.', request_id: '1' } },
				method: 'GET',
				path: otherRuns,
				times: Infinity,
			});
			const rows = ['one', 'two'].map((text) => ({ agent: 3, values: { seconds: 4, text } }));
			const failed = await execute('run', rows);
			sandbox.faults.clear();
			expect(failed.status).toBe('error');
			expect(sandbox.runs.all).toHaveLength(before + 2);
			return failed;
		}

		test.each([false, true])(
			'takes the runs that are there (with the current workflow: %s)',
			async (loadWorkflow) => {
				const failed = await failWhileWaiting();
				const creates = sandbox.runs.all.length;
				const { data } = await n8n.rest<{ data: { id: string; status: string } }>(
					'POST',
					`/executions/${failed.id}/retry`,
					{ loadWorkflow },
				);
				const retried = await n8n.endOf(data.id);
				expect(retried.status).toBe('success');
				expect(jsonOf(retried, 'Good').map(({ output }) => output)).toEqual(['one', 'two']);
				expect(sandbox.runs.all).toHaveLength(creates);
			},
		);
	});

	test('inside Loop Over Items, a try after a failed look takes the run of its own turn', async () => {
		const creates = sandbox.runs.all.length;
		sandbox.faults.add({ kind: 'html', status: 401, method: 'GET', path: otherRuns });
		const row = { agent: 3, values: { seconds: 1, text: 'the same' } };
		const execution = await execute('loop', [row, row]);
		expect(execution.status).toBe('success');
		const [one, two] = sandbox.runs.all.slice(creates);
		const ids = jsonOf(execution, 'Good').map(({ run_id: runId }) => runId);
		expect(ids).toEqual([one?.runId, two?.runId]);
		expect(sandbox.runs.all).toHaveLength(creates + 2);
	});

	/** Starts a run, and stops the execution while it waits for it in the node. */
	async function stopWhileItWaits(workflowId: string) {
		const runs = sandbox.runs.all.length + 1;
		const id = await host.begin(workflowId, [{ agent: 3, values: { seconds: 600 } }]);
		const isPolled = () =>
			sandbox.requests.at(-1)?.url.endsWith(sandbox.runs.all[runs - 1]?.runId ?? 'none') === true;
		await until(isPolled);
		await n8n.stopExecution(id);
		await until(async () => (await n8n.execution(id)).status === 'canceled');
		return { id, runs };
	}

	test('an execution that is stopped while it waits in the node ends, and polls no more', async () => {
		const { id, runs } = await stopWhileItWaits('run');
		const { runId } = sandbox.runs.all[runs - 1]!;
		const polls = () => sandbox.requests.filter(({ url }) => url.endsWith(runId)).length;
		const seen = polls();
		await new Promise((resolve) => setTimeout(resolve, 3_000));
		expect(polls()).toBe(seen);
		expect(sandbox.runs.all).toHaveLength(runs);
		// n8n 2 does not store it. An n8n that is not ours has its log elsewhere.
		if (existsSync(n8n.log)) expect(readFileSync(n8n.log, 'utf8')).toContain(runId);

		// n8n 1 has nothing left to execute.
		if (isOld) return;
		const retrying = n8n.retry(id);
		await until(() => sandbox.runs.all.length > runs);
		sandbox.runs.all[runs]!.script.durationMs = 0;
		const retried = await n8n.endOf(await retrying);
		expect(retried.status).toBe('success');
		expect(jsonOf(retried, 'Good')).toMatchObject([{ status: 'succeeded' }]);
		expect(sandbox.runs.all).toHaveLength(runs + 1);
	});

	test('one that has saved its progress starts no other run in its Retry', async () => {
		const { id, runs } = await stopWhileItWaits('saving');
		const { script, runId } = sandbox.runs.all[runs - 1]!;
		script.durationMs = 0;
		// n8n 1 executes what comes after the node that was stopped.
		const stopped = `The execution was cancel\u2060ed (run ${runId} of agent 3)`;
		const retried = await n8n.endOf(await n8n.retry(id));
		expect(jsonOf(retried, 'Good')).toMatchObject(isOld ? [] : [{ run_id: runId }]);
		expect(jsonOf(retried, 'Bad')).toMatchObject(isOld ? [{ error: stopped }] : []);
		expect(sandbox.runs.all).toHaveLength(runs);
	});

	test("as a tool of n8n's AI Agent, a long wait stays in the node and its result is the answer", async () => {
		const execution = await n8n.endOf(asTool);
		expect(execution.status).toBe('success');
		// Parked, the run itself would take the place of the agent's answer.
		expect(jsonOf(execution, 'Good')).toMatchObject([
			{ output: expect.stringMatching(/^The tool says: .*as asked/) as string },
		]);
		const runs = sandbox.runs.all.filter(({ bindings }) => bindings.text === 'as asked');
		expect(runs).toHaveLength(1);
	});

	test("n8n's own timeout: the wait ends before it, and names the run", async () => {
		const execution = await n8n.endOf(timed);
		expect(execution.status).toBe('success');
		const [run] = sandbox.runs.all.filter(({ bindings }) => bindings.text === 'timed');
		const says = new RegExp(`has not finished within 1[45]\\d(\\.\\d)? s \\(run ${run!.runId} `);
		expect(jsonOf(execution, 'Bad')).toMatchObject([
			{ error: expect.stringMatching(says) as string },
		]);
	});

	test('the key is nowhere in n8n: not in its database, its log or its settings', async () => {
		await n8n.kill('SIGTERM');
		expect(host.filesWithKey()).toEqual([]);
	});
});
