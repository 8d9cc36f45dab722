import { startSandbox, type Sandbox } from '../../sandbox/server.cts';
import { TestHost } from '../support/host.cts';
import { Editor } from './editor.cts';
import { nodeWorkflow, NODE, REPORT } from './workflows.cts';

jest.setTimeout(120_000);

const ROWS = [{ region: 'north' }, { region: 'south', quarter: 'Q1' }];

let empty: Sandbox;
let host: TestHost;
let editor: Editor;

// One workflow a test: the editor stores what is done in it.
const workflows = {
	picker: nodeWorkflow('picker', {}),
	pages: nodeWorkflow('pages', {}),
	byId: nodeWorkflow('byId', {}),
	emptyOrganization: nodeWorkflow('emptyOrganization', {}, { credentialId: 'emptyOrganization' }),
	badKey: nodeWorkflow('badKey', {}, { credentialId: 'badKey' }),
	unreachable: nodeWorkflow('unreachable', {}, { credentialId: 'unreachable' }),
	fields: nodeWorkflow('fields', {}),
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
		credentials: [
			credential('emptyOrganization', { baseUrl: empty.baseUrl, apiKey }),
			credential('badKey', { baseUrl: empty.baseUrl, apiKey: 'revoked-key' }),
			credential('unreachable', { baseUrl: 'http://127.0.0.1:9/api/v1', apiKey }),
		],
	});
	editor = await Editor.open(host.n8n);
}, 900_000);

afterAll(async () => {
	await editor?.close();
	await host?.stop();
	await empty?.close();
});

const open = (workflow: keyof typeof workflows) => editor.openNode(workflow, NODE);
const output = () => editor.part('output-panel');

describe('the list of agents', () => {
	test('shows each agent with its description, and finds one by a word of it', async () => {
		await open('picker');
		const entries = await editor.openAgents();
		await expect(entries.nth(1).innerText()).resolves.toBe(
			'Regional report — Writes the sales report of a region',
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

	test('is not needed for an agent whose ID one knows', async () => {
		await open('byId');
		await editor.click(editor.part('rlc-mode-selector'));
		await editor.click(editor.part('mode-id'));
		await editor.click(editor.part('rlc-input'));
		await editor.type('four');
		await editor.page.keyboard.press('Tab');
		await editor.part('parameter-issues').first().hover();
		await editor.page.getByText("'Agent' by ID must be a whole number, such as 42").waitFor();
		await editor.part('rlc-input').fill('4');
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
		await editor.page.getByText('region *: north, south, east or west').waitFor();
		await editor.page.getByText('quarter: Q1 to Q4').waitFor();

		await editor.chooseAgent('Structured answer');
		await editor.page.getByText('text *: The text to classify').waitFor();
		await expect(editor.setting('region').count()).resolves.toBe(0);

		await editor.chooseAgent('Daily briefing');
		await editor.page.getByText('This agent has no parameters. Nothing needs to be').waitFor();
		await expect(editor.setting('text').count()).resolves.toBe(0);
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
