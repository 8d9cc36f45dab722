import type { Locator } from 'playwright-core';

import { toColumn } from '../../nodes/AgentInvocation/storedText.ts';
import { TestHost } from '../support/host.cts';
import {
	EVALUATED,
	FIRST_HOSTILE_ID,
	HACKED,
	hostileAgents,
	hostileTexts,
} from '../support/hostileAgents.cts';
import { Editor } from './editor.cts';
import { nodeWorkflow, NODE } from './workflows.cts';

const texts = Object.entries(hostileTexts).map(([what, text], index) => {
	const id = FIRST_HOSTILE_ID + index;
	const agent = { __rl: true, mode: 'id', value: id };
	const values = JSON.stringify(
		Object.fromEntries([
			[text, 'mine'],
			['fails', 'yes'],
		]),
	);
	return {
		what,
		text,
		id,
		choosing: nodeWorkflow(`choosing${id}`, {}),
		failing: nodeWorkflow(`failing${id}`, {
			agentId: agent,
			specifyParameters: 'json',
			parametersJson: values,
		}),
		quoting: nodeWorkflow(`quoting${id}`, {
			resource: 'run',
			operation: 'get',
			agentId: agent,
			runId: '11111111-2222-4333-8444-555555555555',
		}),
	};
});
/** Those that the list does not tell all about; hostileNames.test.cts has all of them, without a browser. */
const followed = texts.filter(({ what }) =>
	[
		'an image',
		'a script',
		'an expression',
		'the prototype',
		'the end of a path',
		'right to left',
		'a megabyte',
	].includes(what),
);
const workflows = followed.flatMap(({ choosing, failing, quoting }) => [
	choosing,
	failing,
	quoting,
]);
const list = nodeWorkflow('list', {});

let host: TestHost;
let editor: Editor;
const dialogs: string[] = [];

beforeAll(async () => {
	host = await TestHost.start('n8n-2', [list, ...workflows], {
		publishes: false,
		settings: { moreAgents: hostileAgents, agentCount: 6 },
	});
	editor = await Editor.open(host.n8n);
	editor.page.on('dialog', (dialog) => {
		if (dialog.type() !== 'beforeunload') dialogs.push(dialog.message());
		void dialog.accept();
	});
});

afterAll(async () => {
	await editor?.close();
	await host?.stop();
});

beforeEach(() => host.sandbox.faults.clear());
afterEach(async () => {
	const { page } = editor;
	expect(dialogs).toEqual([]);
	expect(await page.evaluate((name) => name in window, HACKED)).toBe(false);
	await expect(
		page.locator(`#${HACKED}, img[src="x"], a[href^="javascript:"]`).count(),
	).resolves.toBe(0);
	await expect(page.getByText(EVALUATED).count()).resolves.toBe(0);
});

/** How a text reads, without what is not seen. */
const reads = (text: string) =>
	text
		.replace(/[\ud800-\udbff](?![\udc00-\udfff])|\p{Cc}|\p{Cf}|\ufffd/gu, '')
		.replace(/\s+/g, ' ')
		.trim();

const textOf = async (target: Locator) => reads((await target.allTextContents()).join(' '));

/** Waits for n8n's notification of a failure, which shows the message as HTML. */
const notified = async () => await editor.page.locator('.el-notification').first().waitFor();

/** The beginning of a text: what is long is cut in labels, and in long outputs by the editor. */
const beginOf = (text: string) => reads(text).slice(0, 60);

test('the list of agents shows each as it is', async () => {
	await editor.openNode('list', NODE);
	const entries = await editor.openAgents();
	const shown = (await entries.allTextContents()).map(reads);
	const missing = texts.filter(
		({ text }) => !shown.some((entry) => entry.startsWith(beginOf(text))),
	);
	expect(missing.map(({ what }) => what)).toEqual([]);
});

test('an error of the list is text', async () => {
	const { image, script } = { image: hostileTexts['an image'], script: hostileTexts['a script'] };
	const body = { error: { code: image, message: script, request_id: script } };
	host.sandbox.faults.add({ kind: 'answer', status: 400, body, times: 9, path: '/agents$' });
	await editor.openNode('list', NODE);
	await editor.openAgents();
	const said = await editor.part('rlc-error-container').textContent();
	expect(said).toContain(image);
	expect(said).toContain(script);
});

// The editor did not get through with a parameter whose name has a megabyte; hostileNames.test.cts has it.
test.each(followed.filter(({ what }) => what !== 'a megabyte'))(
	'$what: chosen, filled in, executed and output',
	async ({ text, id }) => {
		await editor.openNode(`choosing${id}`, NODE);
		const entries = await editor.openAgents();
		await editor.click(entries.nth(id - FIRST_HOSTILE_ID));
		const field = editor.setting(toColumn(text));
		await field.waitFor();
		expect(await textOf(editor.part('resource-mapper-container'))).toContain(beginOf(text));

		await editor.click(field.locator('input, .cm-content').first());
		await editor.type('mine');
		await editor.page.waitForTimeout(1_000);
		await editor.executeStep();
		const output = editor.part('output-panel');
		await output.getByText('succeeded').first().waitFor();
		expect(await textOf(output)).toContain(beginOf(text));
		const run = host.sandbox.runs.all.filter(({ agentId }) => agentId === id).at(-1);
		expect(Object.entries(run?.bindings ?? {})).toEqual([[text, 'mine']]);

		await editor.part('ndv-close-button').or(editor.part('back-to-canvas')).first().click();
		const node = editor.page.locator(`[data-node-name="${NODE}"]`).first();
		await node.waitFor();
		expect(await textOf(node)).toContain(beginOf(text));
	},
);

test.each(followed)('$what: in errors', async ({ text, id }) => {
	await editor.openNode(`failing${id}`, NODE);
	await editor.executeStep();
	const output = editor.part('output-panel');
	await output.getByText("The agent's run failed").first().waitFor();
	await notified();
	expect(await textOf(output)).toContain(beginOf(text));

	const body = { error: { code: text, message: text, request_id: text } };
	host.sandbox.faults.add({ kind: 'answer', status: 400, body });
	await editor.openNode(`quoting${id}`, NODE);
	await editor.executeStep();
	await output.getByTestId('node-error-message').waitFor();
	await notified();
	expect(await textOf(output)).toContain(beginOf(text));
});
