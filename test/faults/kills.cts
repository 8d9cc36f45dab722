import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { table } from '../../hosts/report.cts';
import type { KilledHost, Outcome, Standing } from './killedHost.cts';
import { cases, isKept } from './moments.cts';

/** The report that is kept. */
export const REPORT = path.join(__dirname, 'KILLS.md');

/** Every n8n that is ended, in the order of the report's columns. */
export const hosts: KilledHost[] = (['n8n-2', 'n8n-1'] as const).flatMap((hostName) =>
	(['SQLite', 'PostgreSQL'] as const).flatMap((database) =>
		(['SIGKILL', 'SIGTERM'] as const).map((signal) => ({ hostName, database, signal })),
	),
);

/** What the report calls a host. */
export function hostKey({ hostName, database, signal }: KilledHost): string {
	return `${hostName.replace('-', ' ')}, ${database}, ${signal}`;
}

const keys = hosts.map(hostKey);

/** The report's columns that say what follows the end of n8n. */
const COLUMNS = {
	'Then nothing': ({ thenNothing }: Outcome) => show(thenNothing.status, thenNothing),
	'Then Retry': ({ thenNothing, thenRetry }: Outcome) =>
		thenRetry ? show(wordFor(thenNothing, thenRetry), thenRetry) : '–',
};

const show = (word: string, { runs, results }: Standing) => `${word} ${runs}/${results}`;

/** What the user sees of a Retry, as the report's legend explains it. */
function wordFor(before: Standing, after: Standing): string {
	if (after.status !== 'success') return after.status;
	const word = after.runs > before.runs ? 'new run' : 'same run';
	return after.isPassedOn ? word : `${word}, next node skipped`;
}

export function committedReport(): string {
	return existsSync(REPORT) ? readFileSync(REPORT, 'utf8') : '';
}

/**
 * The report with what was seen.
 *
 * @param seen by the host's key; a host that was not tried keeps what the report says of it
 */
export function makeReport(seen: Map<string, Outcome[]>): string {
	const kept = readTable(committedReport());
	const rows = cases.map((one) => {
		const row = [
			one.moment.name,
			one.savesProgress ? 'yes' : 'no',
			isKept(one) ? 'the run' : 'nothing',
		];
		const cells = Object.entries(COLUMNS).map(([column, textOf]) => {
			const before = kept.get(keyOf(row, column));
			const texts = keys.map((key) => {
				const outcome = seen.get(key)?.find(({ of }) => of === one);
				return outcome ? textOf(outcome) : (before?.get(key) ?? 'not tried');
			});
			return join(texts);
		});
		return [...row, ...cells];
	});
	return `${[
		'# What happens to an execution when n8n stops',
		'',
		`A real n8n executes a workflow with one run. At each moment, with the workflow's setting "Save execution progress" off and on, n8n is killed (SIGKILL), or asked to stop and given five seconds (SIGTERM). It is then started again; the service keeps running. "Then nothing" is what n8n does by itself. "Then Retry" is what "Retry with original workflow" does with an execution that has not succeeded.`,
		'',
		`Each cell was the same in all ${hosts.length} combinations of n8n (2 and 1), database (SQLite and PostgreSQL) and signal (SIGKILL and SIGTERM), unless it names one.`,
		'',
		'`UPDATE_REPORT=1 KILLS=all npm run test:faults` writes this page, and needs PostgreSQL. By default, the test checks only SQLite, and on n8n 1 only SIGKILL; it fails when something else happens.',
		'',
		'A cell says what the user sees, how many runs were started, and how many results were delivered:',
		'',
		'- success: the output, as if nothing had happened.',
		'- crashed: n8n says that the execution stopped before it finished. Its run, if one was started, continues at the service.',
		'- same run: Retry gives the output of the run that the execution had started.',
		"- new run: Retry starts a run and gives its output. n8n had kept nothing of the node's work, and an earlier run continues at the service. If n8n stops while the first run is being created, this happens even if progress is saved. To prevent it, the node would have to store a note first. That would cost every execution a pass of n8n's engine, and Retry would refuse to start runs that were never requested.",
		'- next node skipped: n8n 1 disables the first node with which it resumes an execution that has waited. In such a Retry, this is the node after this one. The result is in the execution.',
		'',
		"No run is started twice, except by the user's own Retry of an execution of which n8n had kept nothing. No result is lost if n8n had kept the run.",
		'',
		table(
			['When n8n was stopped', 'Progress saved', 'n8n had kept', ...Object.keys(COLUMNS)],
			rows,
		),
	].join('\n')}\n`;
}

const keyOf = (...parts: unknown[]) => JSON.stringify(parts);

/**
 * What holds for the hosts, as one cell: what most of them do, then those that differ.
 *
 * @param texts of the hosts, in their order
 */
function join(texts: string[]): string {
	const of = (text: string) => keys.filter((_, index) => texts[index] === text);
	const [usual, ...others] = [...new Set(texts)].sort((a, b) => of(b).length - of(a).length);
	const named = others.map((text) => `${shorten(of(text)).join(' and ')}: ${text}`);
	return [usual, ...named].join('; ');
}

/** The names of hosts, where 'n8n 1' stands for all whose names begin with it. */
function shorten(some: string[]): string[] {
	const areAll = (name: string) =>
		keys.filter((key) => key.startsWith(name)).every((key) => some.includes(key));
	const shortest = some.map((key) => {
		const parts = key.split(', ');
		const names = parts.map((_, index) => parts.slice(0, index + 1).join(', '));
		return names.find(areAll) ?? key;
	});
	return [...new Set(shortest)];
}

/** What a cell says of each host, by its key. */
function split(cell: string): Map<string, string> {
	const [usual = '', ...others] = cell.split('; ');
	const texts = new Map(keys.map((key) => [key, usual]));
	for (const other of others) {
		const [names = '', text = ''] = other.split(': ');
		for (const name of names.split(' and ')) {
			for (const key of keys.filter((key) => key.startsWith(name))) texts.set(key, text);
		}
	}
	return texts;
}

/** The cells of a report, each with what it says of the hosts. */
function readTable(report: string): Map<string, Map<string, string>> {
	const [heads = [], , ...rows] = report
		.split('\n')
		.filter((line) => line.startsWith('|'))
		.map((line) => line.slice(2, -2).split(' | '));
	const cells = rows.flatMap((row) =>
		heads.slice(3).map((head, index) => {
			const key = keyOf(row.slice(0, 3), head);
			return [key, split(row[index + 3] ?? '')] as const;
		}),
	);
	return new Map(cells);
}
