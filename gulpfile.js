const { execFile } = require('node:child_process');
const { rm } = require('node:fs/promises');
const { promisify } = require('node:util');
const { dest, parallel, series, src, watch } = require('gulp');

const clean = () => rm('dist', { recursive: true, force: true });

async function compile() {
	await promisify(execFile)(process.execPath, [require.resolve('typescript/bin/tsc')]).catch(
		(error) => {
			throw new Error(`tsc found mistakes:\n${error.stdout}`);
		},
	);
}

// n8n looks for a node's codex and schemas beside the compiled node file.
const codexAndSchemas = () =>
	src(['nodes/**/*.node.json', 'nodes/**/__schema__/**/*.json'], { base: '.' }).pipe(dest('dist'));

const icons = () => src('icons/*.svg', { encoding: false }).pipe(dest('dist/icons'));

exports.build = series(clean, parallel(compile, codexAndSchemas, icons));
exports.default = exports.build;

// For `npm run dev`, which says where the node is installed: n8n loads it anew.
const install = () =>
	src('dist/**', { base: '.', encoding: false }).pipe(dest(process.env.INSTALLED_NODE));

// Gives nothing back: gulp would end with the first mistake that tsc finds.
exports.watch = () => {
	watch(['nodes/**', 'credentials/**', 'icons/**'], series(exports.build, install));
};
