const { execFile } = require('node:child_process');
const { mkdir, readdir, readFile, rename, rm, writeFile } = require('node:fs/promises');
const path = require('node:path');
const { promisify } = require('node:util');
const { dest, parallel, series, src, watch } = require('gulp');
const prettier = require('prettier');

// Each build has a folder of its own, since another npm script may build, or use `dist`, at the same time.
const building = `node_modules/.cache/build-${process.pid}`;

const clean = () => rm(building, { recursive: true, force: true });

// What tsc writes for modules that may have a default export, or are read before they are complete. None of ours is.
const NEEDLESS =
	/^Object\.defineProperty\(exports, "__esModule", \{ value: true \}\);\n|^(exports\.\w+ = )+void 0;\n/gm;

// A call of an imported function, written so that it gets no `this`. None of ours uses one.
const CALL = /\(0, (\w+\.\w+)\)\(/g;

/**
 * Imports by their names, as the source has them. What tsc writes reads an import anew at each use, for modules that
 * import each other. None of ours do (test/unit/imports.test.cts).
 */
function withNamedImports(text) {
	const modules = [...text.matchAll(/^const (\w+_\d+) = require\(/gm)].map(([, name]) => name);
	return modules.reduce((left, name) => {
		const uses = new RegExp(`\\b${name}\\.(\\w+)`, 'g');
		const imported = [...new Set([...left.matchAll(uses)].map(([, used]) => used))];
		const list = `const { ${imported.join(', ')} } =`;
		return left.replace(uses, '$1').replace(`const ${name} =`, list);
	}, text);
}

// Exports in one statement, where tsc writes one for each.
function withExportsTogether(text) {
	return text.replace(/^(exports\.(\w+) = \2;\n)+/gm, (lines) => {
		const exported = [...lines.matchAll(/ = (\w+);/g)].map(([, name]) => name);
		return exported.length > 1 ? `Object.assign(exports, { ${exported.join(', ')} });\n` : lines;
	});
}

// The published code is read too: it looks like the source, which tsc's own indentation does not.
async function compile() {
	const tsc = [require.resolve('typescript/bin/tsc'), '--outDir', building];
	await promisify(execFile)(process.execPath, tsc).catch((error) => {
		throw new Error(`tsc found mistakes:\n${error.stdout}`);
	});
	const style = await prettier.resolveConfig(__filename);
	for (const file of (await filesIn(building)).filter((name) => name.endsWith('.js'))) {
		const filepath = path.join(building, file);
		const text = (await readFile(filepath, 'utf8')).replace(NEEDLESS, '').replace(CALL, '$1(');
		const short = withExportsTogether(withNamedImports(text));
		const code = await prettier.format(short, { ...style, filepath });
		await writeFile(filepath, code);
	}
}

// n8n looks for a node's codex and schemas beside the compiled node file.
const codexAndSchemas = () =>
	src(['nodes/**/*.node.json', 'nodes/**/__schema__/**/*.json'], { base: '.' }).pipe(
		dest(building),
	);

const icons = () => src('icons/*.svg', { encoding: false }).pipe(dest(`${building}/icons`));

const filesIn = async (folder) =>
	(await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []))
		.filter((entry) => entry.isFile())
		.map((entry) => path.relative(folder, path.join(entry.parentPath ?? entry.path, entry.name)));

/** Moves what has changed into `dist`, a whole file at a time: whoever reads meanwhile misses none. */
async function publish() {
	const built = await filesIn(building);
	for (const file of built) {
		const [from, to] = [path.join(building, file), path.join('dist', file)];
		const before = await readFile(to).catch(() => undefined);
		if (before?.equals(await readFile(from))) continue;
		await mkdir(path.dirname(to), { recursive: true });
		await rename(from, to);
	}
	for (const file of await filesIn('dist')) {
		if (!built.includes(file)) await rm(path.join('dist', file), { force: true });
	}
	await clean();
}

exports.build = series(clean, parallel(compile, codexAndSchemas, icons), publish);
exports.default = exports.build;

// For `npm run dev`, which says where the node is installed: n8n loads it anew.
const install = () =>
	src('dist/**', { base: '.', encoding: false }).pipe(dest(process.env.INSTALLED_NODE));

// Gives nothing back: gulp would end with the first mistake that tsc finds.
exports.watch = () => {
	watch(['nodes/**', 'credentials/**', 'icons/**'], series(exports.build, install));
};
