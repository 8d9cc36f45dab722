import { renameSync } from 'node:fs';
import path from 'node:path';

import type { INode } from 'n8n-workflow';

import type { StoredExecution, WorkflowFile } from '../../hosts/n8n.cts';
import { itemsOf, jsonOf, KEY, TestHost } from '../support/host.cts';
import { until } from '../support/until.cts';
import {
	agentNode,
	createForRow,
	n8nNode,
	rowsWorkflow,
	webhookWorkflow,
} from '../support/workflows.cts';

// Many kinds of workflows are parked at the same time. n8n is killed three times in a row, once with the
// package taken away; workflows and credentials are changed meanwhile, and the service is away for a while.

const CROWD = 40;
const AGENTS = 20;
const LARGE = 20_000_000;

const [RENAMED, ROTATED] = ['renamedKey000001', 'rotatedKey000001'] as const;

const row = (text: string, seconds = 20, status = 'succeeded') => ({
	agent: 3,
	values: { seconds, text, status },
});

// Long enough for all to be parked, and for n8n to be killed three times, before the first one is due.
const parked = { ...createForRow, options: { pollInterval: 120 } };

function workflowOf(id: string, more: Partial<INode> = {}, key?: string): WorkflowFile {
	const credentials = key && { agentInvocationApi: { id: key, name: key } };
	return rowsWorkflow(
		id,
		agentNode('Run', parked, { ...more, ...(credentials && { credentials }) }),
	);
}

/** Takes the values from the rows, whatever came in between. */
const fromRows = {
	...parked,
	agentId: { __rl: true, mode: 'id', value: '3' },
	parametersJson: "={{ JSON.stringify($('Rows').item.json.row.values) }}",
};

const onError: WorkflowFile = {
	id: 'onError',
	name: 'onError',
	nodes: [n8nNode('Failed', 'errorTrigger'), n8nNode('Told', 'noOp')],
	connections: { Failed: { main: [[{ node: 'Told', type: 'main', index: 0 }]] } },
	settings: { executionOrder: 'v1' },
};

const workflows: WorkflowFile[] = [
	onError,
	workflowOf('crowd'),
	webhookWorkflow(
		'sequence',
		[agentNode('First', parked), agentNode('Run', fromRows), n8nNode('Good', 'noOp')],
		{ Rows: [['First']], First: [['Run']], Run: [['Good']] },
	),
	webhookWorkflow(
		'branches',
		[
			agentNode('Left', parked),
			agentNode('Right', parked),
			n8nNode('Merge', 'merge', 3.2, { parameters: {} }),
		],
		{ Rows: [['Left', 'Right']], Left: [['Merge']], Right: [['Merge']] },
	),
	webhookWorkflow(
		'binary',
		[
			n8nNode('File', 'convertToFile', 1.1, {
				parameters: { operation: 'toJson', mode: 'each', options: {} },
			}),
			agentNode('Run', fromRows),
			n8nNode('Good', 'noOp'),
		],
		{ Rows: [['File']], File: [['Run']], Run: [['Good']] },
	),
	workflowOf('large'),
	workflowOf('manyAgents'),
	workflowOf('renamed'),
	workflowOf('unpublished'),
	workflowOf('archived'),
	workflowOf('credentialRenamed', {}, RENAMED),
	workflowOf('keyRotated', {}, ROTATED),
	workflowOf('away'),
	{ ...workflowOf('fails'), settings: { executionOrder: 'v1', errorWorkflow: 'onError' } },
];

const rows: Record<string, unknown[]> = {
	large: [{ ...row('large'), padding: 'x'.repeat(LARGE) }],
	manyAgents: Array.from({ length: 300 }, (_, n) => ({ agent: 10 + (n % AGENTS) })),
	fails: [row('broke', 20, 'failed')],
};

// The second input of the Merge.
const right = workflows.find(({ id }) => id === 'branches')!.connections.Right as {
	main: Array<Array<{ index: number }>>;
};
right.main[0]![0]!.index = 1;

let host: TestHost;
const ids: Record<string, string> = {};
const crowd: string[] = [];

beforeAll(async () => {
	host = await TestHost.start('n8n-2', workflows, {
		keys: [RENAMED, ROTATED],
		environment: { N8N_PAYLOAD_SIZE_MAX: '64' },
	});
	for (const { id } of workflows.slice(2)) ids[id] = await host.begin(id, rows[id] ?? [row(id)]);
	for (let n = 0; n < CROWD; n++) crowd.push(await host.begin('crowd', [row(`crowd ${n}`)]));
	for (const id of [...Object.values(ids), ...crowd]) await host.untilParked(id);
	await killThreeTimes();
	await change();
	await leaveAlone();
});

afterAll(async () => await host?.stop());

/** Once, n8n starts without the package. */
async function killThreeTimes(): Promise<void> {
	const { n8n } = host;
	const modules = path.join(n8n.userFolder, '.n8n/nodes/node_modules');
	const name = 'n8n-nodes-agent-invocation';
	for (const isThere of [false, true, true]) {
		await n8n.kill('SIGKILL');
		if (!isThere) renameSync(path.join(modules, name), path.join(n8n.userFolder, name));
		await n8n.start();
		if (!isThere) renameSync(path.join(n8n.userFolder, name), path.join(modules, name));
	}
}

/** What users do while executions wait. */
async function change(): Promise<void> {
	const { n8n, sandbox } = host;
	const { data } = await n8n.rest<{ data: { versionId: string } }>('GET', '/workflows/renamed');
	await n8n.rest('PATCH', '/workflows/renamed', { name: 'Anew', versionId: data.versionId });
	await n8n.rest('POST', '/workflows/unpublished/deactivate');
	await n8n.rest('POST', '/workflows/archived/archive');
	const { baseUrl } = sandbox;
	const credentialOf = (name: string, apiKey: string) => ({
		name,
		type: 'agentInvocationApi',
		data: { baseUrl, apiKey },
	});
	await n8n.rest('PATCH', `/credentials/${RENAMED}`, credentialOf('Anew', RENAMED));
	await n8n.rest('PATCH', `/credentials/${ROTATED}`, credentialOf(ROTATED, 'a-new-key'));
	sandbox.settings.apiKeys = [KEY, RENAMED, 'a-new-key'];
}

/** The service resets the connections of the first two polls of one of them. */
async function leaveAlone(): Promise<void> {
	const { sandbox } = host;
	const runId = sandbox.runs.all.find(({ bindings }) => bindings.text === 'away')!.runId;
	sandbox.faults.add({ path: runId, kind: 'reset', times: 1e6 });
	const polls = () => sandbox.requests.filter(({ url }) => url.endsWith(runId));
	await until(() => polls().length > 1);
	sandbox.faults.clear();
}

async function endOf(workflowId: string): Promise<StoredExecution> {
	const execution = await host.n8n.endOf(ids[workflowId]!);
	expect([workflowId, execution.status]).toEqual([workflowId, 'success']);
	return execution;
}

function createsOf(text: string): number {
	return host.sandbox.runs.all.filter(({ bindings }) => bindings.text === text).length;
}

test.each([
	'renamed',
	'unpublished',
	'archived',
	'credentialRenamed',
	'keyRotated',
	'away',
	'binary',
])('%s: the result comes all the same, of one run', async (id) => {
	expect(jsonOf(await endOf(id), 'Good')).toMatchObject([{ status: 'succeeded', output: id }]);
	expect(createsOf(id)).toBe(1);
});

test(`${CROWD} executions that were parked have their results`, async () => {
	for (const [n, id] of crowd.entries()) {
		const execution = await host.n8n.endOf(id);
		expect(jsonOf(execution, 'Good')).toMatchObject([{ output: `crowd ${n}` }]);
		expect(createsOf(`crowd ${n}`)).toBe(1);
	}
});

test('two nodes one after the other, each parked', async () => {
	const execution = await endOf('sequence');
	for (const node of ['First', 'Good']) {
		expect(jsonOf(execution, node)).toMatchObject([{ output: 'sequence' }]);
	}
	expect(createsOf('sequence')).toBe(2);
});

test('two branches into a Merge', async () => {
	const outputs = jsonOf(await endOf('branches'), 'Merge').map(({ output }) => output);
	expect(outputs).toEqual(['branches', 'branches']);
	expect(createsOf('branches')).toBe(2);
});

test('an item of 20 MB goes into the node, and to its side past it', async () => {
	const execution = await endOf('large');
	expect(jsonOf(execution, 'Good')).toMatchObject([{ output: 'large' }]);
	expect(JSON.stringify(itemsOf(execution, 'Rows')).length).toBeGreaterThan(LARGE);
});

test(`300 items over ${AGENTS} agents, in their order`, async () => {
	const given = jsonOf(await endOf('manyAgents'), 'Good');
	expect(given.map((json) => json.agent_id)).toEqual(
		Array.from({ length: 300 }, (_, n) => 10 + (n % AGENTS)),
	);
	const runIds = given.map((json) => json.run_id);
	expect(new Set(runIds).size).toBe(300);
	const started = host.sandbox.runs.all.filter(({ agentId }) => agentId >= 10);
	expect(started).toHaveLength(300);
});

test('the error workflow is told once', async () => {
	const execution = await host.n8n.endOf(ids.fails!);
	expect(execution.data.resultData.error?.message).toContain('failed: broke');
	await until(async () => (await host.n8n.executions('onError')).length > 0);
	const told = await host.n8n.executions('onError');
	expect(told).toHaveLength(1);
	const { execution: failed } = jsonOf(await host.n8n.endOf(told[0]!.id), 'Told')[0] as {
		execution: { id: string; error: { message: string } };
	};
	expect(failed.id).toBe(execution.id);
	expect(failed.error.message).toContain('failed: broke');
});
