import type { INode } from 'n8n-workflow';

import type { StoredExecution, WorkflowFile } from '../../hosts/n8n.cts';
import { itemsOf, jsonOf, TestHost } from '../support/host.cts';
import {
	agentNode,
	collectWorkflow,
	createForRow,
	loopWorkflow,
	n8nNode,
	rowsWorkflow,
	webhookWorkflow,
} from '../support/workflows.cts';

// Parked waits in a real n8n 2 that is killed with SIGKILL in mid-wait and started again. All
// executions wait at the same time, since each takes minutes.

/** A run of the scripted agent. */
const row = (seconds: number, text: string, status = 'succeeded') => ({
	agent: 3,
	values: { seconds, text, status },
});

const parking = (options = {}) => ({
	...createForRow,
	options: { pollInterval: 65, ...options },
});

function parkedWorkflow(id: string, more: Partial<INode> = {}, options = {}) {
	return rowsWorkflow(id, agentNode('Run', parking(options), more));
}

/** What comes right after our node, and looks back at what came before it. */
const good = n8nNode('Good', 'set', 3.4, {
	parameters: {
		assignments: {
			assignments: [
				{
					id: 'from',
					name: 'from',
					type: 'string',
					value: "={{ $('Rows').item.json.row.values.text }}",
				},
			],
		},
		includeOtherFields: true,
		options: {},
	},
});
const aside = n8nNode('Aside', 'noOp');

/** A workflow that is started by hand. */
function byHand(id: string, pinData: Record<string, unknown> = {}): WorkflowFile {
	return {
		id,
		name: id,
		nodes: [
			n8nNode('Manual', 'manualTrigger'),
			agentNode('Run', {
				...parking(),
				agentId: { __rl: true, mode: 'id', value: '3' },
				parametersJson: '{ "seconds": 20, "text": "by hand" }',
			}),
		],
		connections: { Manual: { main: [[{ node: 'Run', type: 'main', index: 0 }]] } },
		settings: { executionOrder: 'v1' },
		pinData,
	};
}

/** Leads a node's output into the second input of the node after it. */
function intoSecondInput(from: string, workflow: WorkflowFile): WorkflowFile {
	const main = [[{ node: 'Merge', type: 'main', index: 1 }]];
	return { ...workflow, connections: { ...workflow.connections, [from]: { main } } };
}

const workflows = [
	parkedWorkflow('survives'),
	parkedWorkflow('stops', { retryOnFail: true, maxTries: 2, waitBetweenTries: 0 }),
	parkedWorkflow('once', { executeOnce: true, alwaysOutputData: true }),
	parkedWorkflow('stored', {}, { pollInterval: 0, whereToWait: 'stored' }),
	rowsWorkflow('manyRows', agentNode('Run', parking({ pollInterval: 66, maxConcurrency: 5 }))),
	parkedWorkflow('continues', { onError: 'continueRegularOutput' }),
	parkedWorkflow('separates', { onError: 'continueErrorOutput', retryOnFail: true }),
	parkedWorkflow('timesOut', { onError: 'continueErrorOutput' }, { timeout: 100 }),
	parkedWorkflow('outputsAnyway', {}, { timeout: 100, onTimeout: 'output' }),
	webhookWorkflow(
		'branches',
		[
			n8nNode('Side', 'if', 1, {
				parameters: {
					conditions: {
						boolean: [{ value1: "={{ $json.row.values.text === 'left' }}", value2: true }],
					},
				},
			}),
			agentNode('Run', parking()),
			good,
		],
		{ Rows: [['Side']], Side: [['Run'], ['Run']], Run: [['Good']] },
	),
	webhookWorkflow(
		'second',
		[
			n8nNode('Side', 'if', 1, {
				parameters: {
					conditions: {
						boolean: [{ value1: "={{ $json.row.values.text.startsWith('left') }}", value2: true }],
					},
				},
			}),
			agentNode('Run', {
				...parking({ maxConcurrency: 2 }),
				parametersJson: "={{ JSON.stringify($('Rows').item.json.row.values) }}",
			}),
			good,
		],
		{ Rows: [['Side']], Side: [[], ['Run']], Run: [['Good']] },
	),
	intoSecondInput(
		'Aside',
		webhookWorkflow(
			'merges',
			[agentNode('Run', parking()), aside, n8nNode('Merge', 'merge', 3.2, { parameters: {} })],
			{ Rows: [['Run', 'Aside']], Run: [['Merge']], Aside: [['Merge']] },
		),
	),
	loopWorkflow('loops', agentNode('Run', parking())),
	collectWorkflow('collects', { options: { pollInterval: 65 } }),
	byHand('manual'),
	byHand('pinned', { Run: [{ json: { output: 'pinned' } }] }),
];

// This one's own timeout ends its wait before n8n ends the workflow.
workflows.push({
	...parkedWorkflow('limited', { onError: 'continueErrorOutput' }),
	settings: { executionOrder: 'v1', executionTimeout: 170 },
});

const rows: Record<string, unknown[]> = {
	survives: [row(240, 'four minutes'), row(1, 'one second'), row(100, 'in between')],
	stops: [row(1, 'soon'), row(40, 'broke for good', 'failed'), row(3_600, 'never awaited')],
	once: [row(20, 'the first'), row(20, 'no other')],
	stored: [row(1, 'stored at once')],
	manyRows: Array.from({ length: 25 }, (_, n) => row(30, `row ${n}`)),
	second: ['left a', 'left b', 'right c', 'right d', 'right e'].map((text) => row(20, text)),
	merges: [row(20, 'merged')],
	continues: [row(40, 'broke', 'failed'), row(50, '', 'cancelled'), row(1, 'went well')],
	separates: [row(40, 'broke', 'failed'), row(50, '', 'cancelled'), row(1, 'went well')],
	timesOut: [row(600, 'too late'), row(1, 'in time')],
	outputsAnyway: [row(600, 'too late'), row(1, 'in time')],
	branches: [row(30, 'left'), row(30, 'right')],
	loops: [row(20, 'first turn'), row(1, 'second turn')],
	limited: [row(600, 'limited')],
	collects: Array.from({ length: 25 }, (_, n) => row(20 + n, `collected ${n}`)),
};

let host: TestHost;
const ids: Record<string, string> = {};
let begunBeforeKill = 0;

beforeAll(async () => {
	host = await TestHost.start('n8n-2', workflows);
	for (const id of Object.keys(rows)) ids[id] = await host.begin(id, rows[id]!);
	ids.manual = await host.n8n.runManually('manual', 'Manual');
	ids.step = await host.n8n.runManually('manual', 'Manual', { stepOf: 'Run' });
	for (const id of Object.values(ids)) await host.untilParked(id);
	begunBeforeKill = createsOf(rows.manyRows!.map((_, n) => `row ${n}`));
	await host.n8n.kill('SIGKILL');
	await host.n8n.start();
});

afterAll(async () => await host?.stop());

async function endOf(workflowId: string): Promise<StoredExecution> {
	return await host.n8n.endOf(ids[workflowId]!);
}

function pollsOf(text: string): number {
	const run = host.sandbox.runs.all.find(({ bindings }) => bindings.text === text);
	return host.sandbox.requests.filter(({ url }) => url.endsWith(run!.runId)).length;
}

/** What the sandbox was asked to create for rows, by their text. */
function createsOf(texts: string[]): number {
	return host.sandbox.runs.all.filter(({ bindings }) => texts.includes(bindings.text ?? '')).length;
}

test('three items that fail, are cancelled and succeed, continuing', async () => {
	const execution = await endOf('continues');
	expect(execution.status).toBe('success');
	expect(jsonOf(execution, 'Good')).toMatchObject([
		{ error: expect.stringContaining('failed: broke') as string, details: { status: 'failed' } },
		{ error: expect.stringContaining('was cancelled') as string, details: { status: 'cancelled' } },
		{ status: 'succeeded', output: 'went well' },
	]);
	expect(itemsOf(execution, 'Run').map(({ pairedItem }) => pairedItem)).toEqual([
		{ item: 0 },
		{ item: 1 },
		{ item: 2 },
	]);
});

test('three items that fail, are cancelled and succeed, with an error output', async () => {
	const execution = await endOf('separates');
	expect(execution.status).toBe('success');
	expect(jsonOf(execution, 'Good')).toMatchObject([{ status: 'succeeded', output: 'went well' }]);
	const named = JSON.stringify(jsonOf(execution, 'Bad'));
	const [failed, cancelled] = ['failed', 'cancelled'].map((status) =>
		host.sandbox.runs.all.find(
			({ script, runId }) => script.status === status && named.includes(runId),
		),
	);
	expect(jsonOf(execution, 'Bad')).toMatchObject([
		{
			row: { values: { text: 'broke' } },
			error: `The agent's run failed: broke (run ${failed?.runId} of agent 3)`,
			details: { agent_id: 3, run_id: failed?.runId, status: 'failed' },
		},
		{
			row: { values: { status: 'cancelled' } },
			error: `The agent's run was cancelled at the service (run ${cancelled?.runId} of agent 3)`,
			details: { agent_id: 3, run_id: cancelled?.runId, status: 'cancelled' },
		},
	]);
});

test('Retry On Fail, and Retry, wait for the runs that go on and start again the one that failed', async () => {
	const execution = await endOf('stops');
	expect(execution.status).toBe('error');
	const { error } = execution.data.resultData;
	expect(error?.message).toMatch(/ failed: broke for good \(run [0-9a-f-]{36} of agent 3\)$/);
	const other = host.sandbox.runs.all.find(({ bindings }) => bindings.text === 'never awaited');
	expect(error?.description).toContain(other?.runId);
	expect(error?.description).toContain("'Get a run' gives the results");
	expect(error).toMatchObject({ node: { name: 'Run' } });
	expect([createsOf(['broke for good']), createsOf(['never awaited', 'soon'])]).toEqual([2, 2]);

	const retried = await host.n8n.endOf(await host.n8n.retry(execution.id));
	expect(retried.status).toBe('error');
	expect([createsOf(['broke for good']), createsOf(['never awaited', 'soon'])]).toEqual([4, 2]);
});

test('the time limit holds while parked, as a failed item and as output', async () => {
	const separated = await endOf('timesOut');
	expect(jsonOf(separated, 'Good')).toMatchObject([{ output: 'in time' }]);
	expect(jsonOf(separated, 'Bad')).toMatchObject([
		{
			row: { values: { text: 'too late' } },
			error: expect.stringContaining('has not finished within 100 s') as string,
			details: { agent_id: 3, status: 'running' },
		},
	]);
	const output = await endOf('outputsAnyway');
	expect(jsonOf(output, 'Good')).toMatchObject([
		{ agent_id: 3, status: 'running' },
		{ output: 'in time' },
	]);
});

test('Execute Once and Always Output Data: the first item alone, once', async () => {
	const execution = await endOf('once');
	expect(jsonOf(execution, 'Good')).toMatchObject([{ output: 'the first' }]);
	expect(createsOf(['no other'])).toBe(0);
});

test('stored from the start: the first poll comes after the restart', async () => {
	const execution = await endOf('stored');
	expect(jsonOf(execution, 'Good')).toMatchObject([{ output: 'stored at once' }]);
	expect(pollsOf('stored at once')).toBe(1);
});

test('25 rows, five at a time: those that are not begun keep none from being stored', async () => {
	const execution = await endOf('manyRows');
	expect(execution.status).toBe('success');
	const texts = rows.manyRows!.map((_, n) => `row ${n}`);
	expect(jsonOf(execution, 'Good').map(({ output }) => output)).toEqual(texts);
	expect(createsOf(texts)).toBe(25);
	expect(begunBeforeKill).toBe(5);
});

test("behind the second output of an If, and before a Merge: `$('Rows').item` is right", async () => {
	// The last one began after a rest.
	expect(jsonOf(await endOf('second'), 'Good')).toMatchObject(
		['right c', 'right d', 'right e'].map((text) => ({ output: text, from: text })),
	);
	expect(jsonOf(await endOf('merges'), 'Merge')).toMatchObject([
		{ output: 'merged' },
		{ row: { values: { text: 'merged' } } },
	]);
});

test('the same node, reached from two branches, is parked for both', async () => {
	const execution = await endOf('branches');
	expect(execution.status).toBe('success');
	const outputs = [0, 1].flatMap((run) => jsonOf(execution, 'Run', { run }));
	expect(outputs.map(({ output }) => output).sort()).toEqual(['left', 'right']);
	for (const json of [0, 1].flatMap((run) => jsonOf(execution, 'Good', { run }))) {
		expect(json.from).toBe(json.output);
	}
	expect(createsOf(['left', 'right'])).toBe(2);
});

test('every turn of Loop Over Items has its own run', async () => {
	const execution = await endOf('loops');
	expect(execution.status).toBe('success');
	expect(jsonOf(execution, 'Good')).toMatchObject([
		{ output: 'first turn' },
		{ output: 'second turn' },
	]);
	expect(execution.data.resultData.runData.Run).toHaveLength(2);
	expect(createsOf(['first turn', 'second turn'])).toBe(2);
});

test('more runs than are worked on at a time, started before and collected', async () => {
	const execution = await endOf('collects');
	expect(execution.status).toBe('success');
	const texts = rows.collects!.map((_, n) => `collected ${n}`);
	expect(jsonOf(execution, 'Good').map(({ output }) => output)).toEqual(texts);
	expect(createsOf(texts)).toBe(texts.length);
});

test('executions started by hand: of the workflow, of a step, and with pinned data', async () => {
	const execution = await endOf('manual');
	expect(execution.status).toBe('success');
	expect(jsonOf(execution, 'Run')).toMatchObject([{ output: 'by hand' }]);
	const step = await endOf('step');
	expect(jsonOf(step, 'Run')).toMatchObject([{ output: 'by hand' }]);
	expect(createsOf(['by hand'])).toBe(2);

	const pinned = await host.n8n.endOf(await host.n8n.runManually('pinned', 'Manual'));
	expect(jsonOf(pinned, 'Run')).toEqual([{ output: 'pinned' }]);
	expect(createsOf(['by hand'])).toBe(2);
});

test("the workflow's own timeout: the wait ends before it, and names the run", async () => {
	const execution = await endOf('limited');
	expect(execution.status).toBe('success');
	const [run] = host.sandbox.runs.all.filter(({ bindings }) => bindings.text === 'limited');
	expect(jsonOf(execution, 'Bad')).toMatchObject([
		{
			error: expect.stringMatching(/has not finished within 1[34]\d(\.\d)? s \(run /) as string,
			details: { run_id: run?.runId },
		},
	]);
});

test('a run of four minutes survives: right outputs, in order, one create an item', async () => {
	const execution = await endOf('survives');
	expect(execution.status).toBe('success');
	expect(jsonOf(execution, 'Good').map(({ output }) => output)).toEqual([
		'four minutes',
		'one second',
		'in between',
	]);
	expect(createsOf(['four minutes', 'one second', 'in between'])).toBe(3);
	// The one that had finished at the first poll was not asked for again.
	expect(pollsOf('one second')).toBe(1);
	expect(pollsOf('in between')).toBe(2);
	expect([4, 5, 6]).toContain(pollsOf('four minutes'));
	// Nothing of the rests is left in what the execution tells.
	const [task, ...more] = execution.data.resultData.runData.Run!;
	expect(more).toEqual([]);
	expect(task?.source).toMatchObject([{ previousNode: 'Rows', previousNodeRun: 0 }]);
	expect(JSON.stringify(execution.data)).not.toContain('agentInvocation"');
});

test('nothing is left: one row an execution in the list, no API key on disk', async () => {
	await Promise.all(Object.keys(ids).map(endOf));
	for (const id of Object.keys(rows)) {
		const listed = await host.n8n.executions(id);
		expect(listed.length).toBe(id === 'stops' ? 2 : 1);
	}
	await host.n8n.kill('SIGTERM');
	expect(host.filesWithKey()).toEqual([]);
});
