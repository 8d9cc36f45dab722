import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';

/** The root of this project. */
export const projectRoot = path.dirname(__dirname);

/** A file of the packed package. */
export interface PackedFile {
	path: string;
	size: number;
}

/** What `npm pack` makes of the built package. */
export interface Tarball {
	file: string;
	files: PackedFile[];
	unpackedSize: number;
}

/** Packs the built package as npm would publish it. */
export function packNode(destination: string): Tarball {
	const printed = execFileSync('npm', ['pack', '--json', '--pack-destination', destination], {
		cwd: projectRoot,
		encoding: 'utf8',
		stdio: ['ignore', 'pipe', 'ignore'],
	});
	const [packed] = JSON.parse(printed) as Array<{
		filename: string;
		files: PackedFile[];
		unpackedSize: number;
	}>;
	if (!packed) throw new Error('npm pack gave no tarball');
	return { ...packed, file: path.join(destination, packed.filename) };
}

/**
 * Installs the node where n8n keeps community nodes, with the command that the README gives: without
 * running scripts, and without the peer dependency, which the host itself gives.
 *
 * @param source what npm takes: a tarball's file, or the package's name
 * @param registry the registry to take it from; the machine's own when absent
 */
export function installNode(source: string, userFolder: string, registry?: string): void {
	const nodes = path.join(userFolder, '.n8n', 'nodes');
	mkdirSync(nodes, { recursive: true });
	const from = registry === undefined ? [] : ['--registry', registry];
	execFileSync(
		'npm',
		[
			'install',
			source,
			...from,
			'--ignore-scripts',
			'--legacy-peer-deps',
			'--no-audit',
			'--no-fund',
		],
		{ cwd: nodes, stdio: ['ignore', 'ignore', 'pipe'] },
	);
}
