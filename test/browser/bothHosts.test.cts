import type { INode } from 'n8n-workflow';

import { TestHost, until } from '../support/host.cts';
import { Editor } from './editor.cts';
import { nodeWorkflow, NODE, REPORT } from './workflows.cts';

jest.setTimeout(120_000);

describe.each(['n8n-2', 'n8n-1'] as const)('in %s', (hostName) => {
	let host: TestHost;
	let editor: Editor;

	beforeAll(async () => {
		host = await TestHost.start(hostName, [nodeWorkflow('modes', { agentId: REPORT })]);
		editor = await Editor.open(host.n8n);
	}, 900_000);

	afterAll(async () => {
		await editor?.close();
		await host?.stop();
	});

	async function stored(): Promise<INode['parameters'] | undefined> {
		const { data } = await host.n8n.rest<{ data: { nodes: INode[] } }>('GET', '/workflows/modes');
		return data.nodes.find(({ name }) => name === NODE)?.parameters;
	}

	const picture = async (name: string) => {
		if (hostName === 'n8n-2') await editor.picture(name);
	};

	test("an agent's output is at most 12 clicks away from an empty canvas, with the credential there", async () => {
		await editor.go('/workflow/new');
		expect(await editor.searchNodes('agent')).toContain('Agent Invocation');
		await picture('nodes-panel');

		await editor.chooseNode('Agent Invocation');
		await editor.part('node-creator-item-name', 'List agents').waitFor();
		await editor.part('node-creator-item-name', 'Get a run').waitFor();
		await editor.chooseNode('Create a run');

		await editor.openAgents();
		await picture('agents');
		await editor.click(editor.part('rlc-item', 'Regional report'));
		await editor.fill('region', 'north');
		await editor.page.getByText('Values to Send').click();
		await picture('node');
		const began = Date.now();
		await editor.executeStep();
		await editor.part('output-panel').getByText('Sales in the north grew in Q4.').waitFor();
		const seconds = ((Date.now() - began) / 1_000).toFixed(1);

		process.stderr.write(
			`${hostName}, from an empty canvas to the output: ${editor.clicks} clicks, ${editor.keystrokes} keystrokes; the step took ${seconds} s.\n`,
		);
		expect(editor.clicks).toBeLessThanOrEqual(12);
		await picture('output');

		await editor.part('ndv-close-button').or(editor.part('back-to-canvas')).first().click();
		await editor.page.getByText('create run: Regional report').waitFor();
	});

	test('parameters that were entered one way are kept while another is chosen', async () => {
		await editor.openNode('modes', NODE);
		const specify = editor.setting('specifyParameters');
		await editor.fill('region', 'west');

		await editor.choose(specify, 'Using Name-Value Pairs');
		await editor.click(editor.page.getByRole('button', { name: 'Add Parameter' }));
		await editor.fill('name', 'region');
		await editor.fill('value', 'south');

		await editor.choose(specify, 'Using JSON');
		await editor.setting('parametersJson').getByText('{}').waitFor();
		await editor.page.getByText("under 'Using Name-Value Pairs' is kept").waitFor();
		await editor.setting('parametersJson').locator('.cm-content').fill('{ "region": "east" }');

		await editor.choose(specify, 'Using Fields Below');
		await expect(editor.setting('region').locator('input').inputValue()).resolves.toBe('west');
		await editor.page.getByText("under 'Using JSON' is kept").waitFor();

		await editor.choose(specify, 'Using Name-Value Pairs');
		await expect(editor.setting('value').locator('input').inputValue()).resolves.toBe('south');

		await editor.choose(specify, 'Using JSON');
		await expect(editor.setting('parametersJson').innerText()).resolves.toContain('east');
		await editor.executeStep();
		await editor.part('output-panel').getByText('Sales in the east grew in Q4.').waitFor();
		await editor.page.keyboard.press('Control+s');
		await until(async () => (await stored())?.specifyParameters === 'json');
		expect(await stored()).toMatchObject({
			parameters: { value: { region: 'west' } },
			parameterPairs: { values: [{ name: 'region', value: 'south' }] },
			parametersJson: '{ "region": "east" }',
		});
	});
});
