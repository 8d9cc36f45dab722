import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';

import { nodeAndMachine, table } from '../../../../hosts/report.cts';
import { plantedDefects } from '../plantedDefects.cts';

const REPORT = path.join(__dirname, '../REPORT.md');
const PLANTED = path.join(__dirname, '../PLANTED.md');

/** How many worlds one process tries, so that none holds too much memory. */
const WORLDS_EACH = 2_500;

/** The most worlds in which one planted defect is looked for. */
const WORLDS_FOR_PLANTED = 20_000;

interface Asked {
	worlds: number;
	seed: number;
	say: (line: string) => void;
}

/** Tries worlds, on all cores, and writes the report. */
export async function reportWorlds({ worlds, seed, say }: Asked): Promise<void> {
	const began = performance.now();
	const parts = Array.from({ length: Math.ceil(worlds / WORLDS_EACH) }, (_, part) => [
		...['--worlds', String(Math.min(WORLDS_EACH, worlds - part * WORLDS_EACH))],
		...['--seed', String(seed + part * WORLDS_EACH), '--no-shrink'],
	]);
	const broken = (await all(parts, say)).flatMap(brokenIn);
	const minutes = Math.round((performance.now() - began) / 60_000);
	write(REPORT, [
		'# What the simulation finds',
		`\`npm run simulate -- --report --worlds ${worlds} --seed ${seed}\` ${nodeAndMachine()}. Everything here is simulated: n8n's own engine executes the workflows on a virtual clock; its contexts, database and processes, and the service, are stand-ins.`,
		`${worlds.toLocaleString('en')} worlds, from seed ${seed} on, took ${minutes} min; ${broken.length} broke a promise of \`world/invariants.cts\`.${broken.map((line) => `\n- ${line}`).join('')}`,
	]);
	say(`${broken.length} promises broken`);
	process.exitCode = broken.length > 0 ? 1 : 0;
}

/** Looks for each planted defect, on all cores, and writes the report. */
export async function reportPlanted({ seed, say }: Omit<Asked, 'worlds'>): Promise<void> {
	const searches = plantedDefects.map(({ name }) => [
		...['--planted', '--worlds', String(WORLDS_FOR_PLANTED), '--seed', String(seed)],
		...['--only', `^${name.replace(/[^\w ]/g, '.')}$`],
	]);
	const rows = (await all(searches, say)).map((said) => rowOf(said));
	const noticed = rows.filter(([, after]) => /^\d+$/.test(after ?? ''));
	write(PLANTED, [
		'# Planted defects',
		`\`npm run simulate -- --report --planted --seed ${seed}\` ${nodeAndMachine()}. Each defect is a small patch of the node (\`planted/\`), which is looked for in simulated worlds of up to 155 items, ${WORLDS_FOR_PLANTED.toLocaleString('en')} at the most. ${noticed.length} of ${rows.length} are noticed.`,
		table(['Planted defect', 'Worlds until noticed', 'As'], rows),
	]);
	say(`${noticed.length} of ${rows.length} planted defects noticed`);
	process.exitCode = noticed.length < rows.length ? 1 : 0;
}

function write(report: string, paragraphs: string[]): void {
	writeFileSync(report, `${paragraphs.join('\n\n')}\n`);
}

/** The promises that a search found broken, each with the seed of its world. */
function brokenIn(said: string): string[] {
	return [...said.matchAll(/^BROKEN (.*)\nseed (\d+)/gm)].map(
		([, what, own]) => `${what} (seed ${own})`,
	);
}

/** The row of the table that a search for a planted defect prints. */
function rowOf(said: string): string[] {
	const [, , row = '| ? | ? | ? |'] = said.split('\n').filter((line) => line.startsWith('|'));
	return row
		.split('|')
		.slice(1, 4)
		.map((cell) => cell.trim());
}

/** What each of these prints, as many at a time as there are cores. */
async function all(given: string[][], say: (line: string) => void): Promise<string[]> {
	const said: string[] = [];
	let next = 0;
	const work = async () => {
		for (let own = next++; own < given.length; own = next++) {
			said[own] = await simulate(given[own]!);
			const lines = said[own]!.trim().split('\n');
			for (const line of [...brokenIn(said[own]!), ...lines.slice(-2)]) say(line.slice(0, 300));
		}
	};
	await Promise.all(Array.from({ length: availableParallelism() }, work));
	return said;
}

/** A process of its own: a node that stands still ends it. */
async function simulate(args: string[]): Promise<string> {
	const main = path.join(__dirname, 'main.cts');
	return await new Promise((resolve) => {
		execFile(
			process.execPath,
			['--require', 'tsx/cjs', main, ...args],
			{ maxBuffer: 2 ** 30 },
			(_, stdout) => resolve(stdout),
		);
	});
}
