import type { WorkflowFile } from '../../hosts/n8n.cts';
import { jsonOf, TestHost } from '../support/host.cts';
import {
	agentNode,
	createForRow,
	n8nNode,
	rowsWorkflow,
	webhookWorkflow,
} from '../support/workflows.cts';
import { until } from '../support/until.cts';

// Where a wait may not be stored it stays in memory, ends right, and a hint says why; where it may, it is
// stored. All of them wait at the same time, since each takes more than a minute.
jest.setTimeout(400_000);

const node = agentNode('Run', { ...createForRow, options: { pollInterval: 65 } });
const row = (text: string) => ({ agent: 3, values: { seconds: 30, text } });

/** A workflow that others call. */
const called = (id: string): WorkflowFile => ({
	id,
	name: id,
	nodes: [
		n8nNode('Start', 'executeWorkflowTrigger', 1.1, { parameters: { inputSource: 'passthrough' } }),
		{ ...node, position: [220, 0] },
	],
	connections: { Start: { main: [[{ node: 'Run', type: 'main', index: 0 }]] } },
	settings: { executionOrder: 'v1', callerPolicy: 'any' },
});

/** A workflow that calls another one. */
const calling = (id: string, workflowId: string, parameters: object) =>
	webhookWorkflow(
		id,
		[
			n8nNode('Call', 'executeWorkflow', 1.2, {
				parameters: { workflowId: { __rl: true, mode: 'id', value: workflowId }, ...parameters },
			}),
			n8nNode('Good', 'noOp'),
		],
		{ Rows: [['Call']], Call: [['Good']] },
	);

const withSettings = (workflow: WorkflowFile, settings: object) => ({
	...workflow,
	settings: { ...workflow.settings, ...settings },
});

let host: TestHost;
/** What the webhooks that are answered with a result were answered. */
const answers: Record<string, unknown> = {};
/** The executions that were begun, by their workflow. */
const ids: Record<string, string> = {};

beforeAll(async () => {
	host = await TestHost.start('n8n-2', [
		called('calledForEach'),
		called('calledOnce'),
		called('calledAndLeft'),
		calling('callsForEach', 'calledForEach', { mode: 'each' }),
		calling('callsOnce', 'calledOnce', { mode: 'once' }),
		calling('callsAndLeaves', 'calledAndLeft', { options: { waitForSubWorkflow: false } }),
		webhookWorkflow('answers', [node], { Rows: [['Run']] }, 'lastNode'),
		webhookWorkflow(
			'responds',
			[node, n8nNode('Respond', 'respondToWebhook', 1.1)],
			{ Rows: [['Run']], Run: [['Respond']] },
			'responseNode',
		),
		withSettings(rowsWorkflow('oldOrder', node), { executionOrder: 'v0' }),
		withSettings(rowsWorkflow('shortOfTime', node), { executionTimeout: 120 }),
	]);
	const { n8n } = host;
	const rows = (id: string) =>
		(id === 'callsAndLeaves' ? [0] : [0, 1]).map((n) => row(`${id} ${n}`));
	for (const id of ['callsForEach', 'callsOnce', 'callsAndLeaves', 'oldOrder', 'shortOfTime']) {
		ids[id] = await host.begin(id, rows(id));
	}
	const answered = ['answers', 'responds'].map(async (id) => {
		answers[id] = await n8n.callWebhook(id, { rows: [row(id)] });
	});
	await untilStored('calledOnce');
	await untilStored('calledAndLeft');
	await Promise.all(answered);
}, 900_000);

afterAll(async () => await host?.stop());

/** The hints that our node gave in the newest execution of a workflow. */
async function hintsOf(workflowId: string): Promise<string> {
	const { data } = await host.n8n.execution(await host.n8n.newestExecutionId(workflowId));
	return JSON.stringify(data.resultData.runData.Run?.[0]?.hints ?? []);
}

/** Waits until a workflow's executions have been stored at least once. */
async function untilStored(workflowId: string): Promise<void> {
	await until(async () => {
		const executions = await host.n8n.executions(workflowId);
		return executions.length > 0 && executions.every(({ status }) => status === 'waiting');
	});
}

const outputs = async (executionId: string, name: string) => {
	const execution = await host.n8n.endOf(executionId, 300_000);
	expect(execution.status).toBe('success');
	return jsonOf(execution, name).map(({ output }) => output);
};

test.each(['answers', 'responds'])('a webhook that %s has the result', async (id) => {
	expect(answers[id]).toMatchObject({ status: 'succeeded', output: id });
	expect(await hintsOf(id)).toContain('is answered with its result');
});

test('a workflow that is called once for each item stays in memory, and its caller has each result', async () => {
	const texts = ['callsForEach 0', 'callsForEach 1'];
	expect(await outputs(ids.callsForEach!, 'Good')).toEqual(texts);
	expect(await hintsOf('calledForEach')).toContain('called this one once for each item');
});

test('a workflow that is called once for several items is stored, and its caller has each result', async () => {
	expect(await outputs(ids.callsOnce!, 'Good')).toEqual(['callsOnce 0', 'callsOnce 1']);
	expect(await hintsOf('calledOnce')).toBe('[]');
});

test('a workflow that is called and left is stored, and has its results', async () => {
	for (const { id } of await host.n8n.executions('calledAndLeft')) {
		expect((await outputs(id, 'Run')).length).toBeGreaterThan(0);
	}
	expect(await hintsOf('calledAndLeft')).toBe('[]');
});

test.each([
	['oldOrder', 'execution order v0'],
	['shortOfTime', "the workflow's own timeout is near"],
])('%s: the wait stays in memory', async (id, why) => {
	expect(await outputs(ids[id]!, 'Run')).toEqual([`${id} 0`, `${id} 1`]);
	expect(await hintsOf(id)).toContain(why);
});

test('no run was started twice', () => {
	const texts = host.sandbox.runs.all.map(({ bindings }) => bindings.text);
	expect(new Set(texts).size).toBe(texts.length);
	expect(texts).toHaveLength(11);
});
