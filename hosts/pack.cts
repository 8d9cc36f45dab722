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
 * Installs the tarball where n8n keeps community nodes, in the way n8n does: without running scripts,
 * and without the peer dependency, which the host itself gives.
 */
export function installNode(tarball: Tarball, userFolder: string): void {
	const nodes = path.join(userFolder, '.n8n', 'nodes');
	mkdirSync(nodes, { recursive: true });
	execFileSync(
		'npm',
		['install', tarball.file, '--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund'],
		{ cwd: nodes, stdio: ['ignore', 'ignore', 'pipe'] },
	);
}
