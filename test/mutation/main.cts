// Breaks the code in every way that StrykerJS knows, one at a time, and reports what no unit test and no world noticed.
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
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
	items: ['item.ts', 'items/*.ts'],
	engine: ['engine/*.ts'],
	operations: ['operations/*.ts', 'operations/run/*.ts'],
	waiting: ['waiting/*.ts'],
	service: ['service/*.ts'],
};
type Room = keyof typeof ROOMS;
const SHOWN = ['operations/agentField.ts', 'operations/run/*Fields.ts', 'operations/index.ts'];

/** Files that begin with what the editor shows. What follows from there on is changed. */
const SHOWN_AT_FIRST = ['create', 'get'].map((name) => `operations/run/${name}.ts`);
const SHOWN_UNTIL = /^export const \w+: Operation/;

/** What starts runs, remembers them and stores their waits. */
const DECIDES =
	/^(item\.ts|engine\/(parking|parkingObstacles|whoWaits|crash|suspend)|operations\/run\/(startRun|create)|items\/(memory|nodePass|checkpoint|toThisPass|startedByDryRun|whenToPark|whereToWait)|service\/sendWithRetry)/;

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

/** Measures rooms, all of them by default, and writes of each what came of it. */
async function main(): Promise<boolean> {
	const wanted = process.argv.slice(2);
	const rooms = (Object.keys(ROOMS) as Room[]).filter(
		(room) => wanted.length === 0 || wanted.includes(room),
	);
	if (rooms.length < wanted.length) {
		console.error(`The rooms are ${Object.keys(ROOMS).join(', ')}.`);
		return false;
	}
	let areGood = true;
	for (const room of rooms) areGood = (await measure(room)) && areGood;
	return areGood;
}

async function measure(room: Room): Promise<boolean> {
	const options = ['--mutate', mutated(room), '--incrementalFile', `reports/mutation-${room}.json`];
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
	const byFile = Object.keys(files).map((file) => {
		const name = file.slice(CODE.length);
		return rowOf(
			name,
			all.filter((mutant) => mutant.file === name),
		);
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
	writeRoom(room, [
		`\`npm run test:mutation -- ${room}\` ${nodeAndMachine()}.`,
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

/** Puts a room's section in the report, which keeps those of the others. */
function writeRoom(room: Room, paragraphs: string[]): void {
	const sections = readFileSync(REPORT, 'utf8').split(/^## /m).slice(1);
	const byRoom = new Map(sections.map((section) => [section.split('\n')[0], section.trimEnd()]));
	byRoom.set(room, [room, ...paragraphs].join('\n\n').trimEnd());
	const kept = Object.keys(ROOMS).flatMap((name) => byRoom.get(name) ?? []);
	writeFileSync(REPORT, `${INTRODUCTION}${kept.map((section) => `## ${section}\n`).join('\n')}`);
}

/** What StrykerJS is to change in a room, as it reads it: patterns, and files with a range of lines. */
function mutated(room: Room): string {
	const patterns = ROOMS[room].map((pattern) => CODE + pattern);
	if (room !== 'operations') return patterns.join(',');
	const without = [...SHOWN, ...SHOWN_AT_FIRST].map((pattern) => `!${CODE}${pattern}`);
	const ranges = SHOWN_AT_FIRST.map((file) => {
		const lines = readFileSync(path.join(projectRoot, CODE, file), 'utf8').split('\n');
		const from = lines.findIndex((line) => SHOWN_UNTIL.test(line)) + 1;
		return `${CODE}${file}:${from}-${lines.length}`;
	});
	return [...patterns, ...without, ...ranges].join(',');
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
