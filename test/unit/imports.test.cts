import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

// The node's folders from the ground upwards. A file may import from its own folder and from those before.
const LAYERS = [
	['.'],
	['service'],
	['item'],
	['waiting'],
	['engine'],
	['items'],
	['operations'],
	['editor'],
];
const root = path.join(__dirname, '../../nodes/AgentInvocation');
const TOP = 'AgentInvocation.node.ts';

const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
	(file) => file.endsWith('.ts') && file !== TOP,
);

/** The folder below the root that a file is in. The record of an item stands between two of them. */
const folderOf = (file: string) =>
	file.includes(path.sep) ? file.split(path.sep)[0]! : /^item/.test(file) ? 'item' : '.';
const layerOf = (file: string) => LAYERS.findIndex((names) => names.includes(folderOf(file)));

function importsOf(file: string): string[] {
	const text = readFileSync(path.join(root, file), 'utf8');
	const found = [...text.matchAll(/from '(\.[^']+)'/g)].map(([, target]) => target!);
	return found.map((target) => path.relative(root, path.resolve(root, path.dirname(file), target)));
}

test('there are files, and each is in a folder that has its place', () => {
	expect(files.length).toBeGreaterThan(30);
	expect(files.filter((file) => layerOf(file) < 0)).toEqual([]);
});

test('no file is longer than 220 lines', () => {
	const lines = (file: string) => readFileSync(path.join(root, file), 'utf8').split('\n').length;
	expect(files.filter((file) => lines(file) > 221)).toEqual([]);
});

test('imports go one way only', () => {
	const wrong = files.flatMap((file) =>
		importsOf(file)
			.filter((target) => {
				const isOwnFolder = folderOf(target) === folderOf(file);
				return !isOwnFolder && layerOf(target) >= layerOf(file);
			})
			.map((target) => `${file} imports ${target}`),
	);
	expect(wrong).toEqual([]);
});

test('no file is imported in a circle', () => {
	const graph = new Map(files.map((file) => [file, importsOf(file).map((to) => `${to}.ts`)]));
	const visit = (file: string, trail: string[]): string[] =>
		trail.includes(file)
			? [[...trail, file].join(' > ')]
			: (graph.get(file) ?? []).flatMap((next) => visit(next, [...trail, file]));
	expect(files.flatMap((file) => visit(file, [])).slice(0, 3)).toEqual([]);
});

/** Which files of one folder import from another, as 'file imports file'. */
function crossing(from: string, to: string): string[] {
	const project = path.join(__dirname, '../..');
	const sources = readdirSync(path.join(project, from), { recursive: true, encoding: 'utf8' });
	return sources
		.filter((file) => file.endsWith('.cts'))
		.flatMap((file) => {
			const place = path.join(from, file);
			const text = readFileSync(path.join(project, place), 'utf8');
			return [...text.matchAll(/(?:from|import\() ?'(\.[^']+)'/g)]
				.map(([, target]) => path.normalize(path.join(path.dirname(place), target!)))
				.filter((target) => target.startsWith(`${to}${path.sep}`))
				.map((target) => `${place} imports ${target}`);
		});
}

test('tests import nothing of the benchmarks', () => {
	expect(crossing('test', 'bench')).toEqual([]);
});

test('benchmarks import only what the tests share', () => {
	const imports = crossing('bench', 'test');
	expect(imports.length).toBeGreaterThan(3);
	expect(imports.filter((one) => !one.includes(' imports test/support/'))).toEqual([]);
});
