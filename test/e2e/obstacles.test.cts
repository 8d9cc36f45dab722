import type { WorkflowFile } from '../../hosts/n8n.cts';
import { jsonOf, TestHost } from '../support/host.cts';
import {
	agentNode,
	createForRow,
	n8nNode,
	type NodeFile,
	rowsWorkflow,
	webhookWorkflow,
} from '../support/workflows.cts';
import { until } from '../support/until.cts';

// Where a wait may not be stored it stays in memory, ends right, and a hint says why; where it may, it is
// stored. All of them wait at the same time, since each takes more than a minute.

const node = agentNode('Run', { ...createForRow, options: { pollInterval: 65 } });
const row = (text: string) => ({ agent: 3, values: { seconds: 30, text } });

/** A workflow of nodes one after the other. */
const chain = (id: string, nodes: NodeFile[]): WorkflowFile => ({
	id,
	name: id,
	nodes: nodes.map((one, index) => ({ ...one, position: [220 * index, 0] })),
	connections: Object.fromEntries(
		nodes
			.slice(1)
			.map(({ name }, index) => [
				nodes[index]!.name,
				{ main: [[{ node: name, type: 'main', index: 0 }]] },
			]),
	),
	settings: { executionOrder: 'v1', callerPolicy: 'any' },
});

const start = n8nNode('Start', 'executeWorkflowTrigger', 1.1, {
	parameters: { inputSource: 'passthrough' },
});

/** A workflow that others call. */
const called = (id: string) => chain(id, [start, node]);

const call = (workflowId: string, parameters: object) =>
	n8nNode('Call', 'executeWorkflow', 1.2, {
		parameters: { workflowId: { __rl: true, mode: 'id', value: workflowId }, ...parameters },
	});

/** A workflow that calls another one. */
const calling = (id: string, workflowId: string, parameters: object, responseMode?: string) =>
	webhookWorkflow(
		id,
		[call(workflowId, parameters), n8nNode('Good', 'noOp')],
		{ Rows: [['Call']], Call: [['Good']] },
		responseMode,
	);

/** Makes two rows of each. */
const doubles = n8nNode('Double', 'code', 2, {
	parameters: {
		jsCode: `
return $input.all().flatMap(({ json: { row } }) => ['a', 'b'].map((letter) => ({
	json: { row: { ...row, values: { ...row.values, text: row.values.text + letter } } },
})));`,
	},
});

/** A schedule and a webhook that is answered with the result lead to the node. */
const twoTriggers = (): WorkflowFile => {
	const rows = [row('scheduled')];
	return webhookWorkflow(
		'scheduled',
		[
			n8nNode('Schedule', 'scheduleTrigger', 1.2, {
				parameters: { rule: { interval: [{ field: 'seconds', secondsInterval: 10 }] } },
			}),
			n8nNode('Scheduled', 'code', 2, {
				parameters: { jsCode: `return [{ json: { body: { rows: ${JSON.stringify(rows)} } } }];` },
			}),
			node,
		],
		{ Schedule: [['Scheduled']], Scheduled: [['Rows']], Rows: [['Run']] },
		'lastNode',
	);
};

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
		called('calledAndAnswers'),
		calling('callsAndAnswers', 'calledAndAnswers', { mode: 'once' }, 'lastNode'),
		called('calledBelow'),
		chain('between', [start, doubles, call('calledBelow', { mode: 'once' })]),
		calling('callsInTwoLevels', 'between', { mode: 'each' }),
		twoTriggers(),
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
	// It is started once.
	await until(async () => (await n8n.executions('scheduled')).length > 0);
	await n8n.rest('POST', '/workflows/scheduled/deactivate', {});
	const rows = (id: string) =>
		(id === 'callsAndLeaves' ? [0] : [0, 1]).map((n) => row(`${id} ${n}`));
	for (const id of [
		'callsForEach',
		'callsOnce',
		'callsAndLeaves',
		'callsInTwoLevels',
		'oldOrder',
		'shortOfTime',
	]) {
		ids[id] = await host.begin(id, rows(id));
	}
	const answer = async (id: string, texts: string[]) => {
		answers[id] = await n8n.callWebhook(id, { rows: texts.map(row) });
	};
	const answered = [
		...['answers', 'responds'].map(async (id) => await answer(id, [id])),
		answer('callsAndAnswers', ['callsAndAnswers 0', 'callsAndAnswers 1']),
	];
	await untilStored('scheduled');
	await untilStored('calledAndLeft');
	await Promise.all(answered);
});

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

/** The hint of a workflow that another one has called. */
const CALLER_WAITS = 'the workflow that has called this one waits for its result';

const outputs = async (executionId: string, name: string) => {
	const execution = await host.n8n.endOf(executionId);
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
	expect(await hintsOf('calledForEach')).toContain(CALLER_WAITS);
});

test('a webhook whose workflow calls this one for several items has the result', async () => {
	expect(answers.callsAndAnswers).toMatchObject({ output: 'callsAndAnswers 0' });
	expect(await hintsOf('calledAndAnswers')).toContain(CALLER_WAITS);
});

test('a workflow called for several items, by one that is called once for each, stays in memory', async () => {
	const texts = [0, 1].flatMap((n) => ['a', 'b'].map((letter) => `callsInTwoLevels ${n}${letter}`));
	expect(await outputs(ids.callsInTwoLevels!, 'Good')).toEqual(texts);
	expect(await hintsOf('calledBelow')).toContain(CALLER_WAITS);
});

test('the trigger that has started the execution decides whether it is answered', async () => {
	for (const { id } of await host.n8n.executions('scheduled')) {
		expect(await outputs(id, 'Run')).toEqual(['scheduled']);
	}
	expect(await hintsOf('scheduled')).toBe('[]');
});

test('a workflow that is called once for several items stays in memory, and its caller has each result', async () => {
	expect(await outputs(ids.callsOnce!, 'Good')).toEqual(['callsOnce 0', 'callsOnce 1']);
	expect(await hintsOf('calledOnce')).toContain(CALLER_WAITS);
});

test('a workflow that is called and left is stored, and has its results', async () => {
	for (const { id } of await host.n8n.executions('calledAndLeft')) {
		expect((await outputs(id, 'Run')).length).toBeGreaterThan(0);
	}
	expect(await hintsOf('calledAndLeft')).toBe('[]');
});

test.each([
	['oldOrder', "'Execution Logic' ('Execution Order' in n8n 1) is not v1"],
	['shortOfTime', "the workflow's own timeout, or n8n's (EXECUTIONS_TIMEOUT), is near"],
])('%s: the wait stays in memory', async (id, why) => {
	expect(await outputs(ids[id]!, 'Run')).toEqual([`${id} 0`, `${id} 1`]);
	expect(await hintsOf(id)).toContain(why);
});

test('no run was started twice', () => {
	const texts = host.sandbox.runs.all.map(({ bindings }) => bindings.text);
	const others = texts.filter((text) => text !== 'scheduled');
	expect(new Set(others).size).toBe(others.length);
	expect(others).toHaveLength(17);
});

test('if n8n is restarted meanwhile, a caller never takes something else for the result', async () => {
	const { n8n, sandbox } = host;
	const { length } = sandbox.runs.all;
	await host.begin('callsOnce', [row('before 0'), row('before 1')]);
	await until(() => Promise.resolve(sandbox.runs.all.length === length + 2));
	const later = async (ms: number) => await new Promise((resolve) => setTimeout(resolve, ms));
	// If the wait were stored, its poll would be overdue when n8n is back.
	await later(10_000);
	await n8n.kill('SIGKILL');
	await later(75_000);
	await n8n.start();
	// n8n looks for callers that still wait once a minute.
	await later(130_000);
	const [newest] = await n8n.executions('callsOnce');
	expect(newest!.status).toBe('crashed');
});
