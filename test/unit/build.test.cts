import { execFile } from 'node:child_process';
import {
	copyFileSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

// Several npm scripts may build in one checkout, while others use what is built. With real builds of a small
// project, inside this one's modules, where it finds gulp and tsc.
const root = path.join(__dirname, '../..');

let project: string;
beforeEach(() => {
	const cache = path.join(root, 'node_modules/.cache');
	mkdirSync(cache, { recursive: true });
	project = mkdtempSync(path.join(cache, 'build-test-'));
	for (const folder of ['nodes', 'icons']) mkdirSync(path.join(project, folder));
	copyFileSync(path.join(root, 'gulpfile.js'), path.join(project, 'gulpfile.js'));
	const compilerOptions = { module: 'commonjs', target: 'es2022', types: [], rootDir: '.' };
	write('tsconfig.json', JSON.stringify({ compilerOptions, include: ['nodes'] }));
	write('nodes/Node.ts', 'export const node = 1;');
	write('nodes/Node.node.json', '{}');
	write('icons/icon.svg', '<svg/>');
});
afterEach(() => rmSync(project, { recursive: true, force: true }));

const write = (file: string, text: string) => writeFileSync(path.join(project, file), text);

async function build(): Promise<void> {
	const gulp = path.join(root, 'node_modules/gulp/bin/gulp.js');
	await promisify(execFile)(process.execPath, [gulp, 'build'], { cwd: project });
}

const built = () =>
	readdirSync(path.join(project, 'dist'), { recursive: true, encoding: 'utf8' }).sort();

test('builds at the same time pull nothing from under each other, and leave only what is built', async () => {
	await build();
	const before = built();
	expect(before).toEqual(
		['icons', 'icons/icon.svg', 'nodes', 'nodes/Node.js', 'nodes/Node.node.json'].sort(),
	);

	write('nodes/Node.ts', 'export const node = 2;');
	write('dist/nodes/Old.js', '');
	let areBuilding = true;
	const builds = Promise.all([build(), build()]).finally(() => (areBuilding = false));
	const seen = new Set<string>();
	while (areBuilding) {
		const file = path.join(project, 'dist/nodes/Node.js');
		seen.add(existsSync(file) ? (/node = \d/.exec(readFileSync(file, 'utf8'))?.[0] ?? '') : '');
		await sleep(1);
	}
	await builds;
	expect([...seen]).toEqual(['node = 1', 'node = 2']);
	expect(built()).toEqual(before);
	expect(readdirSync(path.join(project, 'node_modules/.cache'))).toEqual([]);
});
