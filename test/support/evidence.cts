import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { projectRoot } from '../../hosts/pack.cts';
import { table } from '../../hosts/report.cts';

/** A row of a table, by the heads of its columns. */
type Row = Record<string, string>;

interface Table {
	heads: string[];
	rows: Row[];
}

/** A generated report, as far as docs/evidence.md cites it. */
interface Report {
	file: string;
	text: string;
	tables: Table[];
}

/** The reports, each with its name and the command that makes it. */
const REPORTS = {
	'test/faults/REPORT.md': ['Faults', 'UPDATE_REPORT=1 npm run test:faults'],
	'test/faults/KILLS.md': ['Kills', 'UPDATE_REPORT=1 KILLS=all npm run test:faults'],
	'test/support/simulation/REPORT.md': [
		'Simulation',
		'npm run simulate -- --report --worlds 100000 --seed 3200001',
	],
	'test/support/simulation/PLANTED.md': [
		'Planted defects',
		'npm run simulate -- --report --planted',
	],
	'test/soak/REPORT.md': ['Soak', 'npm run soak'],
	'test/soak/MINUTE.md': ['Soak per minute', 'npm run soak -- --per-minute 180'],
	'test/soak/QUEUE.md': ['Soak in queue mode', 'npm run soak -- --queue --keys 3 --minutes 120'],
	'test/crowds/REPORT.md': ['Crowds', 'npm run crowds'],
	'bench/RESULTS.md': ['Benchmarks', 'npm run bench'],
	'bench/LIMITS.md': ['Limits', 'npm run bench -- --limits'],
	'test/mutation/REPORT.md': ['Mutation', 'npm run test:mutation'],
} as const;

type ReportFile = keyof typeof REPORTS;

function read(file: ReportFile): Report {
	const text = readFileSync(path.join(projectRoot, file), 'utf8');
	return { file, text, tables: tablesOf(text) };
}

function tablesOf(text: string): Table[] {
	const blocks = text.match(/(^\|.*\|\n)+/gm) ?? [];
	return blocks.map((block) => {
		const [heads = [], , ...rows] = block.trimEnd().split('\n').map(cellsOf);
		// Of two columns with one name, none can be meant.
		const columns = [...heads.entries()].filter(
			([, head]) => heads.indexOf(head) === heads.lastIndexOf(head),
		);
		const rowOf = (cells: string[]): Row =>
			Object.fromEntries(columns.map(([index, head]) => [head, cells[index] ?? '']));
		return { heads, rows: rows.map(rowOf) };
	});
}

const cellsOf = (line: string) =>
	line
		.slice(1, -1)
		.split('|')
		.map((cell) => cell.trim());

/** The one table that has these columns. */
function tableWith({ file, tables }: Report, ...heads: string[]): Row[] {
	const found = tables.filter((one) => heads.every((head) => one.heads.includes(head)));
	if (found.length === 1) return found[0]!.rows;
	throw new Error(`${file} has ${found.length} tables with the columns ${heads.join(', ')}`);
}

/** The one row in which these columns have these values. */
function rowWith(rows: Row[], wanted: Row): Row {
	const found = rows.filter((row) =>
		Object.entries(wanted).every(([head, value]) => row[head] === value),
	);
	if (found.length === 1) return found[0]!;
	throw new Error(`${found.length} rows have ${JSON.stringify(wanted)}`);
}

/** What the pattern's first group finds in a report. */
function said({ file, text }: Report, pattern: RegExp): string {
	const found = pattern.exec(text)?.[1];
	if (found === undefined) throw new Error(`${file} does not say ${pattern}`);
	return found;
}

const sum = (rows: Row[], head: string) =>
	rows.reduce((total, row) => total + Number(row[head]), 0);

const percent = (share: number) => `${Math.round(share * 100)}%`;

const inWords = (count: number | string) => Number(count).toLocaleString('en');

/** A claim of the pages, and what a report says about it. */
interface Evidence {
	claim: string;
	seen: (report: Report) => string;
	/** In what it was measured. */
	where: string;
	report: ReportFile;
}

const ENGINE = "n8n's engine";
const SIMULATED = 'Simulated';
const REAL = 'A real n8n 2';
const BEFORE = 'the node as it was before 2026-11-24';
const KILLED = 'A real n8n 2 and n8n 1, not in queue mode';

const EVIDENCE: Evidence[] = [
	{
		claim:
			'Without **Retry Create on Server Error**, none of the tested faults starts a second run',
		seen: startedUnderFaults,
		where: ENGINE,
		report: 'test/faults/REPORT.md',
	},
	{
		claim: 'Killing n8n starts no second run by itself',
		seen: startedInKills,
		where: KILLED,
		report: 'test/faults/KILLS.md',
	},
	{
		claim: 'A stored wait is not lost in a restart',
		seen: resumedInKills,
		where: KILLED,
		report: 'test/faults/KILLS.md',
	},
	...soak('test/soak/REPORT.md', `${REAL} (${BEFORE})`),
	...soak('test/soak/MINUTE.md', `${REAL}, under a limit per minute`),
	...soak('test/soak/QUEUE.md', `${REAL} in queue mode (${BEFORE})`),
	{
		claim: 'The node keeps its promises in random situations',
		seen: simulatedWorlds,
		where: SIMULATED,
		report: 'test/support/simulation/REPORT.md',
	},
	{
		claim: 'The simulation finds every defect that was planted in the node',
		seen: plantedDefects,
		where: SIMULATED,
		report: 'test/support/simulation/PLANTED.md',
	},
	{
		claim: 'Rows run in parallel',
		seen: manyRows,
		where: SIMULATED,
		report: 'bench/RESULTS.md',
	},
	{
		claim: 'A result of an agent whose runs are known is noticed soon',
		seen: lateness,
		where: 'By arithmetic',
		report: 'bench/RESULTS.md',
	},
	{
		claim: 'Executions share the rate limit of a key',
		seen: sharedKey,
		where: ENGINE,
		report: 'bench/RESULTS.md',
	},
	{
		claim: 'Under most common limits, requests use most of what the limit allows',
		seen: limits,
		where: SIMULATED,
		report: 'bench/LIMITS.md',
	},
	{
		claim: 'A stored wait uses almost no memory',
		seen: costOfWaiting,
		where: REAL,
		report: 'bench/RESULTS.md',
	},
	{
		claim: 'Crowds get the right results',
		seen: crowds,
		where: `${REAL} (${BEFORE})`,
		report: 'test/crowds/REPORT.md',
	},
	{
		claim: 'The tests notice mistakes',
		seen: mutants,
		where: `Unit tests alone (${BEFORE})`,
		report: 'test/mutation/REPORT.md',
	},
];

function startedUnderFaults({ tables }: Report): string {
	const cells = tables
		.filter(({ heads }) => heads.includes('Once: requests, runs'))
		// Other operations start no run, whatever fails.
		.filter(({ rows }) => rows.some((row) => /, [1-9]/.test(row['Once: requests, runs']!)))
		.flatMap(({ rows }) => rows)
		.flatMap((row) => {
			const faults = row.Fault?.split('; ') ?? [];
			const runs = [row['Once: requests, runs'], row['Lasting: requests, runs']];
			return faults.flatMap(() => runs.map((cell) => Number(cell?.split(', ')[1])));
		});
	const most = Math.max(...cells);
	return `In ${inWords(cells.length)} cases (an operation that starts a run, and a fault that happens once or lasts), at most ${most} run was started`;
}

/** What KILLS.md says of each moment; each row holds for several hosts. */
function killsOf(report: Report) {
	const hosts = Number(said(report, /in all (\d+) combinations/));
	const rows = tableWith(report, 'When n8n was stopped', 'Then nothing', 'Then Retry').map(
		(row) => ({
			moment: row['When n8n was stopped']!,
			kept: row['n8n had kept']!,
			first: row['Then nothing']!,
			retried: row['Then Retry']!,
		}),
	);
	return { hosts, rows };
}

function startedInKills(report: Report): string {
	const { hosts, rows } = killsOf(report);
	const moments = new Set(rows.map(({ moment }) => moment)).size;
	const twice = rows.filter(({ first, retried }) => /\b2\//.test(`${first} ${retried}`));
	if (twice.some(({ kept }) => kept !== 'nothing')) throw new Error('A run was started twice');
	return `${rows.length * hosts} times n8n was stopped or killed, half of them by SIGKILL, at ${moments} moments. A second run was started in ${twice.length * hosts} of them, each time by the user's Retry after n8n had stored nothing`;
}

function resumedInKills(report: Report): string {
	const { hosts, rows } = killsOf(report);
	const count = (some: unknown[]) => some.length * hosts;
	const parked = rows.filter(({ moment }) => moment === 'Parked');
	const resumed = parked.filter(({ first }) => first === 'success 1/1');
	const later = rows.filter(({ moment }) => moment.startsWith('Parked, '));
	const same = later.filter(({ retried }) => retried.startsWith('same run 1/1'));
	return `Killed while the wait was stored: ${count(resumed)} of ${count(parked)} resumed by themselves. Killed during or after a poll: in ${count(same)} of ${count(later)}, Retry continued with the same run`;
}

function soak(report: ReportFile, where: string): Evidence[] {
	return [
		{
			claim: 'Under load, the node starts no run twice, and what n8n has stored continues',
			seen: soaked,
			where,
			report,
		},
	];
}

/** What a soak says of its executions. */
function soakOf(report: Report) {
	const rows = tableWith(report, 'Workflow', 'Executions');
	// Soaks of before 2026-11-24 count what n8n has ended in three columns.
	const before = ['Ended with n8n', 'Ended in its creates', "By n8n's Retry"];
	const [row = {}] = rows;
	const heads = 'Ended by n8n' in row ? ['Ended by n8n'] : before;
	const ended = (some: Row[]) => heads.reduce((total, head) => total + sum(some, head), 0);
	const sameRuns = sum(rows, 'Ended by n8n' in row ? 'Retry: same runs' : "By n8n's Retry");
	return { rows, ended, sameRuns, kills: said(report, /, (\d+) times in all/) };
}

function soaked(report: Report): string {
	const runs = said(report, /^(\d+) runs, /m);
	said(report, /(None of the runs|No run) was started twice[^.]*\. All executions [^—]*$/m);
	const { rows, ended, sameRuns, kills } = soakOf(report);
	const areRetried = rows.every((row) => 'Retry: new runs' in row);
	const others = areRetried ? 'began again, with new runs' : 'were not retried, or began again';
	return `${inWords(runs)} runs in ${inWords(sum(rows, 'Executions'))} executions, with random faults, and n8n stopped or killed ${kills} times: the node started no run twice by itself. ${ended(rows)} executions ended with n8n: Retry continued ${sameRuns} with the same runs; the other ${ended(rows) - sameRuns} ${others}. All others have the output of each run, or say that a run may have been started`;
}

function simulatedWorlds(report: Report): string {
	const worlds = said(report, /^([\d,]+) worlds, /m);
	const broken = said(report, /; (\d+) broke a promise/);
	// The report of 2026-11-28 says so of what it found.
	const which = report.text.includes('The promise was wrong')
		? '. That promise was too strong, and was corrected. The other situations were not repeated afterwards'
		: '';
	return `${worlds} random situations: ${broken} broke a promise${which}`;
}

function plantedDefects(report: Report): string {
	const noticed = said(report, /(\d+ of \d+) are noticed/);
	return `It noticed ${noticed} defects that were planted to test it`;
}

function manyRows(report: Report): string {
	const rows = tableWith(report, 'Policy', 'Wall time (s)');
	const seconds = (policy: RegExp) => {
		const found = rows.filter(
			({ Runs, Items, Policy = '' }) =>
				Runs === '2 s each' && Items === '1000' && policy.test(Policy),
		);
		if (found.length !== 1) throw new Error(`${report.file}: ${found.length} rows have ${policy}`);
		return inWords(found[0]!['Wall time (s)']!);
	};
	return `1,000 rows of 2 s each: this node ${seconds(/^This node/)} s, a loop of n8n's own nodes ${seconds(/^HTTP Request/)} s, one row at a time, like n8n's Databricks node, ${seconds(/Databricks/)} s`;
}

function lateness(report: Report): string {
	const rows = tableWith(report, 'Length', 'Mean lateness', 'Most');
	const late = rows
		.filter(({ Length }) => parseInt(Length!) >= 10)
		.map((row) => parseFloat(row['Mean lateness']!));
	return `Runs of 10 s to 8 hours, of which five similar ones are known: ${Math.min(...late).toFixed(1)} to ${Math.max(...late).toFixed(1)}% late on average`;
}

function sharedKey(report: Report): string {
	const load = '20 executions of 10 items of 2 s, 20 requests a second';
	const row = rowWith(tableWith(report, 'Load', 'Refused'), { Load: load });
	return `${load}: ${row['First (s)']} s, ${row.Refused} of ${row.Requests} requests refused`;
}

function limits(report: Report): string {
	const rows = tableWith(report, 'This node: carried');
	const carried = rows.map((row) => Number(row['This node: carried']));
	const refused = Math.max(...rows.map((row) => parseFloat(row['This node: refused']!))) / 100;
	const missed = tableWith(report, 'Missed').length;
	return `${rows.length} limits, with windows of 1 to 60 s: the node uses ${percent(Math.min(...carried))} to ${percent(Math.max(...carried))} of each (above 100% if it allows a burst at first; the target is 85%), with up to ${percent(refused)} of the requests refused (the target is 5%). ${missed} of them miss a target; the report has the reasons`;
}

function costOfWaiting(report: Report): string {
	const rows = tableWith(report, 'Waiting', 'Each (MB)');
	const of = (waiting: string, executions = '200') =>
		rowWith(rows, { Waiting: waiting, Executions: executions })['Each (MB)'];
	const stored = (waiting: string) => `${of(waiting)} and ${of(waiting, '500')} MB`;
	return `For each of 200 and of 500 waiting executions: ${stored('This node, parked')} stored; n8n's Wait node ${stored("n8n's Wait node")}. In memory, for each of 200: ${of('This node, in memory')} MB`;
}

function crowds(report: Report): string {
	const rows = tableWith(report, 'Crowd', 'Wrong');
	const [parked] = rows;
	const own = rows.filter(({ Crowd }) => !Crowd!.includes("n8n's Wait node"));
	return `${own.length} crowds of up to 10,000 items: ${sum(own, 'Wrong')} wrong results. 500 executions that were overdue when n8n started ended within ${parked?.['Time (s)']} s`;
}

function mutants(report: Report): string {
	const rooms = report.tables.map(({ rows }) => rowWith(rows, { '': 'All' }));
	const mutants = sum(rooms, 'Mutants');
	const unnoticed = sum(rooms, 'Survived') + sum(rooms, 'Reached by no test');
	const share = (1 - unnoticed / mutants) * 100;
	const names = [...report.text.matchAll(/^## (.*)$/gm)].map(([, name]) => name);
	return `${share.toFixed(1)}% of ${inWords(mutants)} deliberate small mistakes in the code (${names.join(', ')}) were noticed`;
}

/** What does not hold, or not everywhere. */
const EXCEPTIONS: Array<[report: ReportFile, says: (report: Report) => string]> = [
	[
		'test/crowds/REPORT.md',
		(report) => {
			const rows = tableWith(report, 'Crowd', 'Peak (MB)');
			const [own, waitNode] = rows.map((row) => inWords(row['Peak (MB)']!));
			return `When n8n resumes 500 executions at the same time, it takes up to ${own} MB of memory. With its own Wait node it takes ${waitNode} MB.`;
		},
	],
	[
		'test/soak/REPORT.md',
		(report) => {
			const { rows, ended, kills } = soakOf(report);
			const stored = rows.filter((row) => row['n8n keeps'] === 'the wait');
			return `Stopping n8n also ends executions that are not stored at that moment: in half an hour with ${kills} stops, ${ended(rows)} of ${inWords(sum(rows, 'Executions'))}. ${ended(stored)} of these were among the ${sum(stored, 'Executions')} that store their waits: n8n stopped while it started or polled their runs, or resumed them before its own start was over. All runs continued at the service.`;
		},
	],
	[
		'test/soak/MINUTE.md',
		(report) => {
			const { rows } = soakOf(report);
			const stored = rows.filter((row) => row['n8n keeps'] === 'the wait');
			const ended = sum(stored, 'Ended by n8n');
			const same = sum(stored, 'Retry: same runs');
			return `Under a limit per minute, ${sum(stored, 'Executions')} executions store their waits. n8n ended ${ended} of them. Retry continued ${same} with the same runs; n8n had not yet stored the other ${ended - same}, so Retry started new runs.`;
		},
	],
	[
		'test/faults/KILLS.md',
		(report) => {
			const skipped = killsOf(report).rows.filter(({ retried }) => retried.includes('skipped'));
			const hosts = skipped.map(({ retried }) => /; (.*): .*skipped/.exec(retried)?.[1]);
			return `On ${hosts.join(', ')} with 'Save execution progress', if n8n is killed while the node after a stored wait is working, Retry skips that node.`;
		},
	],
	[
		'bench/RESULTS.md',
		(report) =>
			`${said(report, /(In \d+ of the \d+) this node takes longer/)} examples of ordinary loads, this node takes longer than a loop of n8n's own nodes: it polls long runs less often, and keeps to rate limits.`,
	],
	[
		'bench/RESULTS.md',
		(report) => {
			const rows = tableWith(report, 'Limiter', 'Cells that miss');
			return `In ${sum(rows, 'Cells that miss')} of ${sum(rows, 'Cells')} simulated combinations of a rate limit and a load, the node takes more than 1.3 times the shortest possible time (1.5 times without a limit), or has more requests refused than intended.`;
		},
	],
];

/** What docs/evidence.md has to say by the reports as they are now. One that was never made is not cited. */
export function evidencePage(): string {
	const files = Object.keys(REPORTS) as ReportFile[];
	const made = files.filter((file) => existsSync(path.join(projectRoot, file)));
	const reports = new Map(made.map((file) => [file, read(file)]));
	const link = (file: ReportFile) => `[${REPORTS[file][0]}](../${file})`;
	const claims = EVIDENCE.flatMap(({ claim, seen, where, report }) => {
		const found = reports.get(report);
		return found ? [[claim, seen(found), where, link(report)]] : [];
	});
	const sources = made.map((file) => [
		link(file),
		`\`${REPORTS[file][1]}\``,
		...madeOf(reports.get(file)!),
	]);
	const exceptions = EXCEPTIONS.flatMap(([file, says]) => {
		const found = reports.get(file);
		return found ? [`- ${says(found)} (${link(file)})`] : [];
	});
	return `# Evidence

This page lists what was measured. A [sandbox](../sandbox/openapi.yaml) or a simulated service stands in for the service; nothing was measured with the service itself. Each report comes from one run of its suite, on a machine with two cores. Most say whether other work ran at the same time. The last table names the commit of each report. This is often an older one. Most of the node's code has changed since 2026-11-24. 'n8n 2' is 2.40.7 in reports dated before 2026-11-24, and 2.41.1 since then.

${table(['Claim', 'What was seen', 'Measured in', 'Report'], claims)}

## Known exceptions

${exceptions.join('\n')}
- In queue mode, if a worker is killed while it polls stored waits, n8n fails these executions, and Retry may find nothing stored: of 20, it continued 6. If the killed worker is started again at once, n8n may fail the executions of other workers, too. ([What the code relies on in n8n](n8n.md#what-was-seen))

## The reports

${table(['Report', 'Made by', 'Commit of the node', 'Date'], sources)}

This page is made from the reports: \`UPDATE_REPORT=1 npx jest --selectProjects unit -- unit/pages\`. A test fails if it differs from them.
`;
}

/** The commits and the dates of a report; a test may compare it with what happens instead, whenever it runs. */
function madeOf({ file, text }: Report): [commit: string, date: string] {
	const kept = file.endsWith('KILLS.md')
		? 'current for SQLite (on n8n 1, SIGKILL alone)'
		: 'current';
	if (text.includes('the test fails when')) return [`${kept}: a test fails if it is outdated`, ''];
	const made = [...text.matchAll(/commit ([0-9a-f]{7,})\b.*?(\d{4}-\d\d-\d\d)/g)];
	const all = (group: 1 | 2) => [...new Set(made.map((match) => match[group]))].join(', ');
	return [all(1) || 'not noted', all(2)];
}
