import { readFileSync } from 'node:fs';
import path from 'node:path';

import type { INode } from 'n8n-workflow';

import type { WorkflowFile } from '../../hosts/n8n.cts';
import { projectRoot } from '../../hosts/pack.cts';
import { startSandbox, type Sandbox } from '../../sandbox/server.cts';
import { TestHost } from '../support/host.cts';
import { agentNode, toolWorkflow } from '../support/workflows.cts';
import { until } from '../support/until.cts';
import { Editor } from './editor.cts';
import { nodeWorkflow, NODE, REPORT } from './workflows.cts';

const ROWS = [{ region: 'north' }, { region: 'south', quarter: 'Q1' }];

const HOSTILE_KEY = 'hostile-key';

let empty: Sandbox;
let host: TestHost;
let editor: Editor;

// One workflow a test: the editor stores what is done in it.
const workflows = {
	picker: nodeWorkflow('picker', {}),
	pages: nodeWorkflow('pages', {}),
	byId: nodeWorkflow('byId', {}),
	byName: nodeWorkflow('byName', {}),
	emptyOrganization: nodeWorkflow('emptyOrganization', {}, { credentialId: 'emptyOrganization' }),
	badKey: nodeWorkflow('badKey', {}, { credentialId: 'badKey' }),
	unreachable: nodeWorkflow('unreachable', {}, { credentialId: 'unreachable' }),
	fields: nodeWorkflow('fields', {}),
	described: nodeWorkflow('described', {}),
	// With a key of its own, so that no other test's list of agents is kept for it.
	hostile: nodeWorkflow('hostile', { agentId: REPORT }, { credentialId: HOSTILE_KEY }),
	tool: toolWorkflow('tool', 'none', agentNode(NODE, {})),
	modelTool: toolWorkflow('modelTool', 'none', agentNode(NODE, {})),
	expressions: nodeWorkflow('expressions', { agentId: REPORT }, { rows: ROWS }),
	mapped: nodeWorkflow('mapped', { agentId: REPORT }, { rows: ROWS }),
	expressionAgent: nodeWorkflow('expressionAgent', {
		agentId: { __rl: true, mode: 'id', value: '={{ $json.agent }}' },
	}),
};

beforeAll(async () => {
	empty = await startSandbox(0, { agentCount: 0 });
	const [apiKey = ''] = empty.settings.apiKeys;
	const credential = (id: string, data: Record<string, string>) => ({ id, name: id, data });
	host = await TestHost.start('n8n-2', Object.values(workflows), {
		publishes: false,
		keys: [HOSTILE_KEY],
		credentials: [
			credential('emptyOrganization', { baseUrl: empty.baseUrl, apiKey }),
			credential('badKey', { baseUrl: empty.baseUrl, apiKey: 'revoked-key' }),
			credential('unreachable', { baseUrl: 'http://127.0.0.1:9/api/v1', apiKey }),
		],
	});
	editor = await Editor.open(host.n8n);
});

afterAll(async () => {
	await editor?.close();
	await host?.stop();
	await empty?.close();
});

const open = (workflow: keyof typeof workflows) => editor.openNode(workflow, NODE);
const output = () => editor.part('output-panel');

/** By which a tool's field is left to the model. */
const MODEL_BUTTON = 'from-ai-override-button';

const REPORT_NAME = 'Regional report';

const readExample = (file: string) =>
	JSON.parse(readFileSync(path.join(projectRoot, 'examples', file), 'utf8')) as WorkflowFile;

/** All of the yellow notices. */
const notices = async () => await editor.part('ndv').locator('.notice-content').allInnerTexts();

/** Waits for a description of parameters, and gives the whole notice. */
async function described(text: string): Promise<string> {
	const notice = editor.part('empty-fields-notice');
	await notice.getByText(text.split('\n')[0]!).waitFor();
	return await notice.innerText();
}

describe('the list of agents', () => {
	test('shows each agent with its description, and finds one by a word of it', async () => {
		await open('picker');
		const entries = await editor.openAgents();
		await expect(entries.nth(1).innerText()).resolves.toBe(
			'Regional report\u2060 — Writes the sales report of a region',
		);
		await editor.type('in archive 127');
		await entries.filter({ hasText: 'Archive agent 127' }).click();
		await expect(editor.part('rlc-input').inputValue()).resolves.toMatch(/^Archive agent 127/);
	});

	test('goes on past a hundred agents as one scrolls', async () => {
		await open('pages');
		const entries = await editor.openAgents();
		await entries.first().hover();
		const last = entries.filter({ hasText: 'Archive agent 130' });
		while ((await last.count()) === 0) {
			await editor.page.mouse.wheel(0, 2_000);
			await editor.page.waitForTimeout(100);
		}
		await expect(entries.count()).resolves.toBe(130);
	});

	test('is not needed for an agent whose name one knows', async () => {
		await open('byName');
		await editor.click(editor.part('rlc-mode-selector'));
		await editor.click(editor.part('mode-name'));
		await editor.click(editor.part('rlc-input'));
		await editor.type('regional report');
		await editor.fill('region', 'north');
		await editor.executeStep();
		await output().getByText('Sales in the north grew in Q4.').waitFor();
		await editor.part('ndv-close-button').or(editor.part('back-to-canvas')).first().click();
		await editor.page.getByText('regional report', { exact: true }).waitFor();
	});

	test('is not needed for an agent whose ID one knows', async () => {
		await open('byId');
		await editor.click(editor.part('rlc-mode-selector'));
		await editor.click(editor.part('mode-id'));
		await editor.click(editor.part('rlc-input'));
		await editor.type('4');
		await editor.setting('text').waitFor();
	});

	test.each([
		[
			'emptyOrganization',
			'The organization has no published agents',
			'Publish one in the service and open this list again.',
		],
		[
			'badKey',
			'401 - The service does not accept the API key',
			"enter it in this node's credential",
		],
		[
			'unreachable',
			'No connection to the service could be made',
			"Check the host and port of the credential's 'Base URL'",
		],
	] as const)('says itself what is wrong: %s', async (workflow, problem, remedy) => {
		await open(workflow);
		await editor.openAgents();
		const said = await editor.part('rlc-error-container').innerText();
		expect(said).toContain(problem);
		expect(said).toContain(remedy);
	});
});

describe("the agent's parameters", () => {
	test('appear once it is chosen, and change with it', async () => {
		await open('fields');
		await editor.setting('waitForCompletion').waitFor();
		await expect(editor.part('resource-mapper-container').count()).resolves.toBe(0);

		await editor.chooseAgent('Regional report');
		await editor.page.getByText('region *', { exact: true }).waitFor();
		await editor.page.getByText('quarter', { exact: true }).first().waitFor();

		await editor.chooseAgent('Structured answer');
		await editor.page.getByText('text *', { exact: true }).waitFor();
		await expect(editor.setting('region').count()).resolves.toBe(0);

		await editor.chooseAgent('Daily briefing');
		await editor.page.getByText('This agent has no parameters. Nothing needs to be').waitFor();
		await expect(editor.setting('text').count()).resolves.toBe(0);
	});

	test('are described whole below, however they are given, and for a new agent again', async () => {
		await open('described');
		await editor.chooseAgent('Regional report');
		const ofReport =
			'region (required): north, south, east or west\nquarter: Q1 to Q4; the present one when left out';
		await expect(described(ofReport)).resolves.toBe(ofReport);
		for (const way of ['Using Name-Value Pairs', 'Using JSON']) {
			await editor.choose(editor.setting('specifyParameters'), way);
			await expect(notices()).resolves.toEqual([ofReport]);
		}
		await editor.chooseAgent('Structured answer');
		await described('text (required): The text to classify');
		await expect(notices()).resolves.toHaveLength(1);
	});

	test('are described in text, whatever an agent says', async () => {
		const hostile = {
			name: '<b>name</b>',
			description: '<a href="//evil.example">link</a> <img src=x onerror="alert(1)"> {{ 1 + 1 }}',
		};
		const agents = [{ id: 2, name: 'Hostile', parameters: [hostile] }];
		const body = { agents, pagination: { total: 1 } };
		host.sandbox.faults.add({ kind: 'answer', path: '/agents', body, times: 99 });
		try {
			await open('hostile');
			await described(`${hostile.name}: ${hostile.description}`);
			await expect(
				editor.part('ndv').locator('a[href*="evil"], img[src="x"]').count(),
			).resolves.toBe(0);
		} finally {
			host.sandbox.faults.clear();
		}
	});

	test('that are required are asked for before anything is run', async () => {
		const runs = host.sandbox.runs.all.length;
		await open('fields');
		await editor.chooseAgent('Regional report');
		await editor.setting('region').waitFor();
		await editor.executeStep();
		await editor.page.getByText('Parameter "region" is required').first().waitFor();
		expect(host.sandbox.runs.all).toHaveLength(runs);
	});

	test('take expressions', async () => {
		await open('expressions');
		await editor.fillExpression('region', '$json.region');
		await editor.executeStep();
		await output().getByText('Sales in the north grew in Q4.').waitFor();
		await output().getByText('Sales in the south grew in Q4.').waitFor();
	});

	test('are taken from the input items where they are mapped automatically', async () => {
		await open('mapped');
		await editor.setting('region').waitFor();
		await editor.choose(editor.part('mapping-mode-select'), 'Map Automatically');
		await editor.executeStep();
		await output().getByText('Sales in the north grew in Q4.').waitFor();
		await output().getByText('Sales in the south grew in Q1.').waitFor();
	});

	test('of an agent that is not known yet: the node says what to do', async () => {
		await open('expressionAgent');
		await editor.page.getByText("'Agent' is an expression that has no value yet").waitFor();
	});
});

describe('as the tool of an AI Agent', () => {
	test('only the agent and its parameters can be left to the model', async () => {
		await openTool('tool');
		await editor.setting('waitForCompletion').waitFor();
		await expect(editor.setting('dryRun').count()).resolves.toBe(0);
		for (const name of ['region', 'quarter']) {
			await expect(editor.setting(name).getByTestId(MODEL_BUTTON).count()).resolves.toBe(1);
		}
		const agent = editor.part('rlc-input-container').getByTestId(MODEL_BUTTON);
		await expect(agent.count()).resolves.toBe(1);
		await expect(editor.part(MODEL_BUTTON).count()).resolves.toBe(3);
	});

	test('a parameter that is left to the model is what the example has', async () => {
		await openTool('modelTool');
		await editor.click(editor.setting('region').getByTestId(MODEL_BUTTON));
		await editor.click(editor.part('selectable-list-selectable-description'));
		const container = editor.part('mapping-fields-container');
		await editor.click(container.locator('textarea'));
		await editor.type('north, south, east or west');
		await editor.page.waitForTimeout(1_000);
		await editor.page.keyboard.press('Control+s');

		const example = readExample('agent-as-ai-tool.json').nodes.find(
			({ name }) => name === 'Start a report',
		);
		await until(async () => JSON.stringify(await storedTool()).includes('east or west'));
		expect((await storedTool())?.parameters).toEqual(example?.parameters?.parameters);
	});

	async function openTool(workflow: 'tool' | 'modelTool'): Promise<void> {
		await open(workflow);
		await editor.chooseAgent(REPORT_NAME);
		await editor.setting('region').waitFor();
	}

	async function storedTool(): Promise<INode['parameters'] | undefined> {
		const { data } = await host.n8n.rest<{ data: { nodes: INode[] } }>(
			'GET',
			'/workflows/modelTool',
		);
		return data.nodes.find(({ name }) => name === NODE)?.parameters;
	}
});
