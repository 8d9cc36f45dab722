import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import type { WorkflowFile } from '../../hosts/n8n.cts';
import { projectRoot } from '../../hosts/pack.cts';
import { TestHost } from '../support/host.cts';
import { Editor } from './editor.cts';

jest.setTimeout(120_000);

const folder = path.join(projectRoot, 'examples');
const examples = readdirSync(folder).map((file) => ({
	file,
	workflow: JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as WorkflowFile,
}));

let host: TestHost;
let editor: Editor;

beforeAll(async () => {
	const workflows = examples.map(({ workflow }) => workflow);
	host = await TestHost.start('n8n-2', workflows, { publishes: false });
	editor = await Editor.open(host.n8n);
}, 900_000);

afterAll(async () => {
	await editor?.close();
	await host?.stop();
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
