import { TestHost } from '../support/host.cts';
import { until } from '../support/until.cts';
import { Editor } from './editor.cts';
import { nodeWorkflow, NEXT, NODE } from './workflows.cts';

const byId = (value: number) => ({ __rl: true, mode: 'id', value });

const workflows = {
	finished: nodeWorkflow('finished', { agentId: byId(1) }),
	onTheirWay: nodeWorkflow('onTheirWay', { agentId: byId(1), waitForCompletion: false }),
	dryRun: nodeWorkflow('dryRun', { agentId: byId(1), dryRun: true }),
	quoted: nodeWorkflow('quoted', {
		agentId: byId(3),
		specifyParameters: 'json',
		parametersJson: '={ "text": "{{ 1 + 1 }}", "seconds": "1" }',
	}),
	failed: nodeWorkflow('failed', { agentId: byId(5) }),
	long: nodeWorkflow('long', {
		agentId: { __rl: true, mode: 'list', value: 3, cachedResultName: 'Market research' },
		specifyParameters: 'json',
		parametersJson: '{ "seconds": 600 }',
		options: { pollInterval: 65 },
	}),
	listed: nodeWorkflow('listed', { resource: 'agent', operation: 'list', limit: 3 }),
};

/** As a user would name them, in the list of executions. */
const NAMES: Record<string, string> = {
	finished: 'Morning briefing',
	onTheirWay: 'Reports overnight',
	dryRun: 'Prompt of the briefing',
	quoted: 'Market report',
	failed: 'Supplier check',
	long: 'Weekly research',
	listed: 'List of our agents',
};

let host: TestHost;
let editor: Editor;

beforeAll(async () => {
	const files = Object.entries(workflows).map(([id, workflow]) => ({
		...workflow,
		name: NAMES[id]!,
	}));
	host = await TestHost.start('n8n-2', files, {
		publishes: false,
		settings: { agentNames: { 3: 'Market research' } },
	});
	editor = await Editor.open(host.n8n);
});

afterAll(async () => {
	await editor?.close();
	await host?.stop();
});

const output = () => editor.part('output-panel');

async function execute(workflow: keyof typeof workflows): Promise<void> {
	await editor.openNode(workflow, NODE);
	await editor.executeStep();
}

test.each([
	['finished', ['status', 'output', 'agent_id', 'run_id', 'created_at', 'completed_at']],
	['listed', ['id', 'name', 'description', 'parameters']],
] as const)(
	'before the first run, the next node sees what it will get: %s',
	async (workflow, keys) => {
		await editor.openNode(workflow, NEXT);
		const preview = editor.part('ndv-input-panel');
		for (const key of keys) await preview.getByText(key, { exact: true }).first().waitFor();
	},
);

test('a finished run is a row that begins with what it brought', async () => {
	await execute('finished');
	const heads = output().locator('th');
	await output().getByText('All systems normal.').first().waitFor();
	const names = (await heads.allInnerTexts()).map((name) => name.trim()).filter(Boolean);
	expect(names.slice(0, 4)).toEqual(['status', 'output', 'agent_id', 'run_id']);
	await expect(output().getByText('These runs continue at the service.').count()).resolves.toBe(0);
});

test.each([
	['onTheirWay', "These runs continue at the service. To get a result later, use 'Get a run'"],
	['dryRun', 'This was a dry run.'],
	['quoted', 'write {{ JSON.stringify($json.field) }} without quotation marks around it'],
] as const)('a hint says what there is to know: %s', async (workflow, hint) => {
	await execute(workflow);
	await output().getByText(hint).waitFor();
});

test('a failed run says which one it was, why it failed and what to do', async () => {
	await execute('failed');
	await output()
		.getByText(
			/The agent's run failed: A tool of the agent gave no answer \(run [0-9a-f-]{36} of agent 5\)/,
		)
		.first()
		.waitFor();
	await output().getByText("choose 'Output the Run' in 'If Run Does Not Succeed'").waitFor();
});

test('a parked execution shows that it waits', async () => {
	const id = await host.n8n.runManually('long', 'Start');
	await host.untilParked(id);
	await editor.go(`/workflow/long/executions/${id}`);
	await editor.page.getByText('Waiting').first().waitFor();

	// Whose run it waits for, and when n8n polls next.
	await editor.page.getByText('Market research', { exact: true }).waitFor();
	await editor.go('/executions');
	const status = editor.page.getByText('Waiting').first();
	await status.hover();
	await editor.page.getByText(/waiting until \w+ \d+, \d/i).waitFor();
	await editor.picture('parked', status);
	await host.n8n.stopExecution(id);
});

test('while one looks at it, a parked execution says what it waits for', async () => {
	const { length } = await host.n8n.executions('long');
	await editor.go('/workflow/long');
	await editor.part('execute-workflow-button').last().click();
	await until(async () => (await host.n8n.executions('long')).length > length);
	const id = await host.n8n.newestExecutionId('long');
	await host.untilParked(id);
	await editor.page.locator(`[data-node-name="${NODE}"]`).first().dblclick();
	await output().getByText("Waiting for 'Market research' to finish, for up to 1 hour.").waitFor();
	await host.n8n.stopExecution(id);
});
