// Breaks the code in every way that StrykerJS knows, one at a time, and reports what no unit test and no world noticed.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

import ts from 'typescript';

import { projectRoot } from '../../hosts/pack.cts';
import { nodeAndMachine, table } from '../../hosts/report.cts';
import type { Patch } from '../support/simulation/world/nodeCode.cts';
import { noticedInWorlds, WORLDS } from './inWorlds.cts';
import { survivors, type Survivor } from './survivors.cts';

const CODE = 'nodes/AgentInvocation/';

/** What is changed in each room, in CODE; what the editor shows is for its own tests. */
const ROOMS = {
	ground: ['*.ts'],
	items: ['items/*.ts'],
	engine: ['engine/*.ts'],
	operations: ['operations/**/*.ts'],
	waiting: ['waiting/*.ts'],
	service: ['service/*.ts'],
};
type Room = keyof typeof ROOMS;
const SHOWN = ['*.node.ts', 'labels.ts', 'operations/agentField.ts', 'operations/run/*Fields.ts'];

/** The types of what the editor shows. */
const SHOWN_TYPE = /INodeProperties/;

/** What starts runs, remembers them and stores their waits. */
const DECIDES =
	/^(item\.ts|engine\/(parking|parkingObstacles|whoWaits|crash|suspend)|operations\/run\/(startRun|create)|items\/(memory|nodePass|checkpoint|toThisPass|dryRuns|whenToPark|whereToWait)|service\/sendWithRetry)/;

/** The least share of the mutants that are to be killed, in a room and in what decides, in percent. */
const LEAST = 85;
const LEAST_WHERE_IT_DECIDES = 95;

const REPORT = path.join(__dirname, 'REPORT.md');
const INTRODUCTION = `# Mutation testing

StrykerJS changes the code in one place at a time, and the unit tests are to notice. Those that draw at random, run for minutes or look at no code are left out (jest.config.cjs). What these do not notice is looked for in ${WORLDS} simulated worlds, as many as \`npm test\` has, unless \`survivors.cts\` says why it may survive. A mutant that goes on for ever counts as killed, as does one with which a test cannot be loaded.

`;

interface Place {
	line: number;
	column: number;
}

/** What StrykerJS reports, as far as it is read here. */
interface Found {
	status:
		| ('Killed' | 'Timeout' | 'Survived' | 'NoCoverage' | 'RuntimeError' | 'Ignored')
		/** Noticed by the simulation alone. */
		| 'InWorld';
	replacement: string;
	location: { start: Place; end: Place };
}

/** A mutant in a file of this name, in CODE. */
interface Mutant extends Found {
	file: string;
	source: string;
}

/** A mutant that no test has noticed. */
interface Unnoticed {
	file: string;
	line: number;
	original: string;
	replacement: string;
	reason: string | undefined;
}

/**
 * Measures rooms, all of them by default, and writes of each what came of it. With `--part 3/8`, it measures a part of them
 * all: of their declarations the third, the eleventh and so on.
 */
async function main(): Promise<boolean> {
	const options = { part: { type: 'string' } } as const;
	const { values, positionals } = parseArgs({ options, allowPositionals: true });
	const rooms = Object.keys(ROOMS) as Room[];
	const wanted = rooms.filter((room) => positionals.length === 0 || positionals.includes(room));
	const [part = 1, of = 1] = values.part?.split('/').map(Number) ?? [];
	if (wanted.length < positionals.length || !(part >= 1 && part <= of)) {
		console.error(`The rooms are ${rooms.join(', ')}. A part is given as 3/8.`);
		return false;
	}
	if (values.part !== undefined) {
		const declarations = wanted.flatMap(declarationsOf);
		return await measure(
			`part ${values.part}`,
			declarations.filter((_, index) => index % of === part - 1),
		);
	}
	let areGood = true;
	for (const room of wanted) areGood = (await measure(room, declarationsOf(room))) && areGood;
	return areGood;
}

/** The lines of a declaration in a file, by its path in CODE. */
interface Declaration {
	file: string;
	from: number;
	to: number;
}

/** A room's functions, methods and other declarations, but for those of what the editor shows. */
function declarationsOf(room: Room): Declaration[] {
	const root = path.join(projectRoot, CODE);
	const files = ts.sys.readDirectory(root, ['.ts'], SHOWN, ROOMS[room]);
	return files.flatMap((name) => {
		const file = path.relative(root, name);
		const source = ts.createSourceFile(name, readFileSync(name, 'utf8'), ts.ScriptTarget.Latest);
		const lineOf = (at: number) => source.getLineAndCharacterOfPosition(at).line + 1;
		return source.statements
			.flatMap((statement): ts.Node[] =>
				ts.isClassDeclaration(statement) ? [...statement.members] : [statement],
			)
			.filter((node) => !ts.isImportDeclaration(node) && !isOnlyType(node))
			.filter((node) => !(ts.isVariableStatement(node) && SHOWN_TYPE.test(node.getText(source))))
			.map((node) => ({ file, from: lineOf(node.getStart(source)), to: lineOf(node.end) }));
	});
}

function isOnlyType(node: ts.Node): boolean {
	return ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node);
}

/** @param name of what is measured, in the report */
async function measure(name: string, declarations: Declaration[]): Promise<boolean> {
	const ranges = declarations.map(({ file, from, to }) => `${CODE}${file}:${from}-${to}`);
	const incremental = `reports/mutation-${name.replace(/\W/g, '-')}.json`;
	const options = ['--mutate', ranges.join(','), '--incrementalFile', incremental];
	const config = path.join(__dirname, 'stryker.config.json');
	const stryker = spawnSync('npx', ['stryker', 'run', config, ...options], {
		cwd: projectRoot,
		stdio: 'inherit',
	});
	if (stryker.status !== 0) return false;
	const report = path.join(projectRoot, 'reports/mutation.json');
	const { files } = JSON.parse(readFileSync(report, 'utf8')) as {
		files: Record<string, { source: string; mutants: Found[] }>;
	};
	const all: Mutant[] = Object.entries(files).flatMap(([file, { source, mutants }]) =>
		mutants.map((mutant) => ({ ...mutant, source, file: file.slice(CODE.length) })),
	);
	const looked = all.filter(
		(mutant) => isUnnoticed(mutant.status) && describe(mutant).reason === undefined,
	);
	const noticed = await noticedInWorlds(looked.map(patchOf));
	looked.forEach((mutant, index) => {
		if (noticed[index]) mutant.status = 'InWorld';
	});
	const deciding = all.filter(({ file }) => DECIDES.test(file));
	const unnoticed = all.filter(({ status }) => isUnnoticed(status)).map(describe);
	const byFile = Object.keys(files).map((key) => {
		const ofFile = all.filter(({ file }) => CODE + file === key);
		return rowOf(key.slice(CODE.length), ofFile);
	});
	const heads = [
		'',
		'Mutants',
		'Killed',
		'Never ended',
		'In a world',
		'Survived',
		'Reached by no test',
	];
	const rows = [
		rowOf('All', all),
		...(deciding.length > 0 ? [rowOf('What starts, remembers and parks runs', deciding)] : []),
		...byFile,
	];
	const given = name.startsWith('part') ? `--${name}` : name;
	writeSection(name, [
		`\`npm run test:mutation -- ${given}\` ${nodeAndMachine()}.`,
		table([...heads, 'Killed (%)'], rows),
		...survivorLines(unnoticed),
	]);
	const unexplained = unnoticed.filter(({ reason }) => reason === undefined);
	for (const { file, line, original, replacement } of unexplained) {
		console.error(`${file}:${line}: no reason is given for\n\t${original}\n\t=> ${replacement}`);
	}
	return (
		unexplained.length === 0 &&
		shareKilled(all) >= LEAST &&
		shareKilled(deciding) >= LEAST_WHERE_IT_DECIDES
	);
}

/** Puts a section in the report, which keeps the others. */
function writeSection(name: string, paragraphs: string[]): void {
	const sections = readFileSync(REPORT, 'utf8').split(/^## /m).slice(1);
	const byName = new Map(sections.map((section) => [section.split('\n')[0], section.trimEnd()]));
	byName.set(name, [name, ...paragraphs].join('\n\n').trimEnd());
	const all = [...byName.values()].map((section) => `## ${section}\n`);
	writeFileSync(REPORT, `${INTRODUCTION}${all.join('\n')}`);
}

function isUnnoticed(status: Found['status']): boolean {
	return status === 'Survived' || status === 'NoCoverage';
}

/** The mutant as a change of the node's source. */
function patchOf({ source, file, location: { start, end }, replacement }: Mutant): Patch {
	const before = source.slice(0, offsetIn(source, start));
	const replace = before + replacement + source.slice(offsetIn(source, end));
	return { file: CODE + file, find: source, replace };
}

function describe({ source, file, location: { start, end }, replacement }: Mutant): Unnoticed {
	const original = onOneLine(source.slice(offsetIn(source, start), offsetIn(source, end)));
	const mutant = { file, line: start.line, original, replacement: onOneLine(replacement) };
	return { ...mutant, reason: survivors.find((survivor) => explains(survivor, mutant))?.reason };
}

function offsetIn(source: string, { line, column }: Place): number {
	const before = source.split('\n').slice(0, line - 1);
	return before.reduce((sum, { length }) => sum + length + 1, 0) + column - 1;
}

function explains(
	{ file, original, replacement }: Survivor,
	mutant: Omit<Unnoticed, 'reason'>,
): boolean {
	return (
		(file instanceof RegExp ? file.test(mutant.file) : file === mutant.file) &&
		(original instanceof RegExp ? original.test(mutant.original) : original === mutant.original) &&
		(replacement === undefined || replacement === mutant.replacement)
	);
}

function rowOf(name: string, mutants: Found[]): Array<string | number> {
	const count = (...wanted: Array<Found['status']>) =>
		mutants.filter(({ status }) => wanted.includes(status)).length;
	const killed = count('Killed', 'RuntimeError');
	const alive = [count('Survived'), count('NoCoverage')];
	const counts = [killed, count('Timeout'), count('InWorld'), ...alive];
	return [name, mutants.length, ...counts, shareKilled(mutants).toFixed(1)];
}

/** In percent. */
function shareKilled(mutants: Found[]): number {
	const alive = mutants.filter(({ status }) => isUnnoticed(status)).length;
	return (1 - alive / Math.max(1, mutants.length)) * 100;
}

/** A paragraph for each reason, and the list of what survived for it. */
function survivorLines(unnoticed: Unnoticed[]): string[] {
	const lineOf = ({ file, line, original, replacement }: Unnoticed) =>
		`- ${file}:${line}: ${asCode(original)} → ${asCode(replacement)}`;
	const reasons = new Set(unnoticed.map(({ reason }) => reason));
	return [...reasons].flatMap((reason) => [
		reason ?? 'No reason is given.',
		unnoticed
			.filter((mutant) => mutant.reason === reason)
			.map(lineOf)
			.join('\n'),
	]);
}

/** In Markdown; it may hold backticks itself, at most two in a row. */
function asCode(code: string): string {
	return code.includes('`') ? `\`\`\` ${code} \`\`\`` : `\`${code}\``;
}

function onOneLine(code: string): string {
	return code.replace(/\s+/g, ' ').trim();
}

void main().then((isGood) => {
	process.exitCode = isGood ? 0 : 1;
});
