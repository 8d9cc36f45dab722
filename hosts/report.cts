import { execFileSync } from 'node:child_process';
import { cpus, loadavg, totalmem } from 'node:os';

import { projectRoot } from './pack.cts';

/** The folders of what is published. */
const published = ['nodes', 'credentials', 'icons'];

/** How many processes wanted a core when this process began, on average over the minute before. */
const [loadAtStart = 0] = loadavg();

/** The latest commit that has changed what is published, when this process began. */
const commitAtStart = git('log', '-1', '--format=%h', '--', ...published);
const changesAtStart = git('status', '--porcelain', '--', ...published) && ' with changes';

/** A load at the start, for each core, that is not this process' own. */
const OTHER_WORK = 0.5;

/**
 * What a report is about, when and on what it was made: 'with the node of commit 1234567, 2026-01-01, 2 cores (...),
 * 24 GiB', and whether other work ran beside it. The commit is not the newest one, but the one that the node is of, so
 * that reports which were made one after the other can be told to be about the same.
 */
export function nodeAndMachine(): string {
	const date = new Date().toISOString().slice(0, 10);
	const memoryGib = Math.round(totalmem() / 2 ** 30);
	const beside =
		loadAtStart > OTHER_WORK * cpus().length
			? `, beside other work (a load average of ${loadAtStart.toFixed(1)} in the minute before it began)`
			: '';
	return `with the node of commit ${commitAtStart}${changesAtStart}, ${date}, ${cpus().length} cores (${cpus()[0]?.model}), ${memoryGib} GiB${beside}`;
}

function git(...args: string[]): string {
	return execFileSync('git', args, { cwd: projectRoot, encoding: 'utf8' }).trim();
}

/** A table in Markdown. */
export function table(heads: string[], rows: Array<Array<string | number>>): string {
	const line = (cells: Array<string | number>) => `| ${cells.join(' | ')} |`;
	return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n');
}
