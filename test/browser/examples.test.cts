import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import type { WorkflowFile } from '../../hosts/n8n.cts';
import { projectRoot } from '../../hosts/pack.cts';
import { startChatModel, type ChatModel } from '../e2e/chatModel.cts';
import { TestHost } from '../support/host.cts';
import { until } from '../support/until.cts';
import { Editor } from './editor.cts';

const folder = path.join(projectRoot, 'examples');
const examples = readdirSync(folder).map((file) => ({
	file,
	workflow: JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as WorkflowFile,
}));

let chatModel: ChatModel;
let host: TestHost;
let editor: Editor;

beforeAll(async () => {
	const workflows = examples.map(({ workflow }) => workflow);
	chatModel = await startChatModel([{ tool: 'Start', arguments: { region: 'south' } }]);
	host = await TestHost.start('n8n-2', workflows, {
		publishes: false,
		keys: ['agentInvocation1'],
		credentials: [
			{
				id: 'chatModel0000001',
				name: 'Chat model account',
				type: 'openAiApi',
				data: { apiKey: 'none', url: chatModel.baseUrl },
			},
		],
	});
	editor = await Editor.open(host.n8n);
});

afterAll(async () => {
	await editor?.close();
	await host?.stop();
	await chatModel?.close();
});

/** What is seen on the canvas, in the browser's pixels. */
interface Seen {
	name: string;
	left: number;
	top: number;
	right: number;
	bottom: number;
}

/** The nodes with their labels, the notes, and the texts of the notes. */
async function lookAtCanvas(): Promise<Record<'nodes' | 'notes' | 'texts', Seen[]>> {
	return await editor.page.evaluate(() => {
		const outline = (name: string, parts: Element[]) => {
			const boxes = parts
				.map((part) => part.getBoundingClientRect())
				.filter(({ width, height }) => width > 0 && height > 0);
			return {
				name,
				left: Math.min(...boxes.map(({ left }) => left)),
				top: Math.min(...boxes.map(({ top }) => top)),
				right: Math.max(...boxes.map(({ right }) => right)),
				bottom: Math.max(...boxes.map(({ bottom }) => bottom)),
			};
		};
		const all = Array.from(
			document.querySelectorAll('[data-node-name][data-node-type]'),
			(node) => ({
				name: node.getAttribute('data-node-name') ?? '',
				body: node.querySelector('[data-canvas-node-render-type]')!,
			}),
		);
		const isNote = ({ body }: { body: Element }) => body.matches('[data-test-id="sticky"]');
		const notes = all.filter(isNote);
		return {
			nodes: all
				.filter((one) => !isNote(one))
				.map(({ name, body }) => outline(name, [body, ...Array.from(body.querySelectorAll('*'))])),
			notes: notes.map(({ name, body }) => outline(name, [body])),
			texts: notes.map(({ name, body }) =>
				outline(name, Array.from(body.querySelectorAll('h2, p, li'))),
			),
		};
	});
}

const overlap = (a: Seen, b: Seen) =>
	a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

const holds = (outer: Seen, inner: Seen) =>
	outer.left <= inner.left &&
	outer.top <= inner.top &&
	inner.right <= outer.right &&
	inner.bottom <= outer.bottom;

test.each(examples)(
	'$file: nothing overlaps, and the note holds its text',
	async ({ workflow }) => {
		await editor.go(`/workflow/${workflow.id}`);
		await editor.page.locator('[data-node-name][data-node-type]').last().waitFor();
		await editor.part('sticky').locator('h2').waitFor();
		const { nodes, notes, texts } = await lookAtCanvas();

		expect([...nodes, ...notes].map(({ name }) => name).sort()).toEqual(
			workflow.nodes.map(({ name }) => name).sort(),
		);
		const all = [...nodes, ...notes];
		const overlapping = all.flatMap((a, index) =>
			all.slice(index + 1).flatMap((b) => (overlap(a, b) ? [`${a.name} and ${b.name}`] : [])),
		);
		expect(overlapping).toEqual([]);
		const tooSmall = notes.filter((note, index) => !holds(note, texts[index]!));
		expect(tooSmall.map(({ name }) => name)).toEqual([]);
	},
);

const isOurs = ({ type }: { type?: string }) => type?.startsWith('n8n-nodes-agent-invocation.');

/** The nodes that are marked as executed well, and those whose output is marked as stale. */
async function marked(): Promise<{ good: number; stale: number }> {
	const count = async (mark: string) => await editor.part(`canvas-node-status-${mark}`).count();
	return { good: await count('success'), stale: await count('warning') };
}

/** Executes the workflow on the canvas: by its button, or by a message in its chat. */
async function execute({ nodes }: WorkflowFile): Promise<void> {
	if (!nodes.some(({ type }) => type?.endsWith('.chatTrigger'))) {
		return await editor.click(editor.part('execute-workflow-button').first());
	}
	await editor.click(editor.part('workflow-chat-button').first());
	await editor.click(editor.part('canvas-chat-body').locator('textarea'));
	await editor.type('How is the south doing?');
	await editor.page.keyboard.press('Enter');
}

/** The ID of the workflow that is on the canvas; the editor has stored it. */
const idOnCanvas = () => new URL(editor.page.url()).pathname.split('/')[2]!;

/** What is stored of its nodes, and how they are marked. */
async function seen() {
	const { data } = await host.n8n.rest<{ data: WorkflowFile }>('GET', `/workflows/${idOnCanvas()}`);
	return { nodes: data.nodes, ...(await marked()) };
}

/** Long enough for the editor to mark what has changed, and to store it by itself. */
const SETTLED_MS = 4_000;

test.each(examples)(
	'$file: pasted onto a canvas it can be executed, and opening its nodes changes nothing',
	async ({ workflow }) => {
		await editor.go('/workflow/new');
		await editor.part('canvas-plus-button').waitFor();
		await editor.paste(JSON.stringify(workflow));
		await editor.page.waitForURL((url) => !url.pathname.endsWith('/new'));
		await execute(workflow);
		await until(async () => (await host.n8n.executions(idOnCanvas())).length > 0);
		const execution = await host.n8n.endOf(await host.n8n.newestExecutionId(idOnCanvas()));
		expect(execution.status).toBe('success');
		expect(JSON.stringify(execution.data.resultData)).toContain('Sales in the');
		await until(async () => (await marked()).good > 1);
		await editor.page.waitForTimeout(SETTLED_MS);
		if (workflow.id === 'oneRunPerRow0001') {
			await editor.part('zoom-to-fit').click();
			await editor.picture('workflow');
		}
		const before = await seen();
		expect(before.stale).toBe(0);

		for (const { name } of workflow.nodes.filter(isOurs)) {
			await editor.part('canvas-node', name).first().dblclick();
			await editor.part('ndv').waitFor();
			await editor.page.waitForTimeout(SETTLED_MS);
			await editor.page.keyboard.press('Escape');
		}
		await editor.page.waitForTimeout(SETTLED_MS);
		await expect(seen()).resolves.toEqual(before);
	},
);
