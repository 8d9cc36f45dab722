import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import type { StoredExecution } from '../../hosts/n8n.cts';
import { dateAndMachine, memoryMb } from '../../hosts/processes.cts';
import { itemsOf, jsonOf, TestHost } from '../support/host.cts';
import { kinds, makeExecutions, makeFaults, type Begin } from './workload.cts';

const FULL_MINUTES = 30;
const { values } = parseArgs({
	options: {
		minutes: { type: 'string', default: String(FULL_MINUTES) },
		seed: { type: 'string', default: '1' },
	},
});
const minutes = Number(values.minutes);
const seed = Number(values.seed);

/** How often an execution is begun and a fault is laid, in ms. */
const EXECUTION_EVERY_MS = 2_000;
const FAULT_EVERY_MS = 2_000;
const SAMPLE_EVERY_MS = 5_000;
/** How much more memory n8n may have in the last third than in the one before. */
const FLAT = 1.1;

const lengthMs = minutes * 60_000;
const createMayBeLost = /may have (been )?started/;

interface Sample {
	atMs: number;
	memoryMb: number;
}

async function main(): Promise<boolean> {
	const workflows = Object.values(kinds).map(({ workflow }) => workflow);
	const host = await TestHost.start('n8n-2', workflows);
	try {
		const begun = new Map<string, Begin>();
		const samples = await load(host, begun);
		host.sandbox.faults.clear();
		const breaches: string[] = [];
		const ends: Array<Begin & { end: StoredExecution }> = [];
		for (const [id, begin] of begun) {
			const end = await host.n8n.endOf(id, 600_000).catch((thrown: Error) => {
				breaches.push(`${begin.workflow}: ${thrown.message}`);
			});
			if (end) ends.push({ ...begin, end });
		}
		breaches.push(...ends.flatMap(({ end, ...begin }) => breachesOf(host, begin, end)));
		const growth = median(third(samples, 2)) / median(third(samples, 1));
		if (!(growth <= FLAT)) breaches.push(`Memory grew to ${growth.toFixed(2)} times what it was`);

		const report = makeReport(host, ends, samples, growth, breaches);
		if (minutes === FULL_MINUTES) writeFileSync(path.join(__dirname, 'REPORT.md'), report);
		process.stdout.write(report);
		return breaches.length === 0;
	} finally {
		await host.stop();
	}
}

/** Begins executions and lays faults until the time is over. Gives n8n's memory meanwhile. */
async function load(host: TestHost, begun: Map<string, Begin>): Promise<Sample[]> {
	const samples: Sample[] = [];
	const startedAt = Date.now();
	const every = async (ms: number, count: number, act: (n: number) => unknown) => {
		for (let n = 0; n < count; n++) {
			await sleep(Math.max(0, startedAt + n * ms - Date.now()));
			await act(n);
		}
	};
	const executions = makeExecutions(Math.floor(lengthMs / EXECUTION_EVERY_MS), seed);
	const faults = makeFaults(Math.floor(lengthMs / FAULT_EVERY_MS), seed);
	await Promise.all([
		every(EXECUTION_EVERY_MS, executions.length, async (n) => {
			const { workflow, rows } = executions[n]!;
			begun.set(await host.begin(workflow, rows), executions[n]!);
		}),
		every(FAULT_EVERY_MS, faults.length, (n) => host.sandbox.faults.add(faults[n]!)),
		every(SAMPLE_EVERY_MS, Math.floor(lengthMs / SAMPLE_EVERY_MS), () => {
			const atMs = Date.now() - startedAt;
			samples.push({ atMs, memoryMb: memoryMb(host.n8n.pid, 'VmRSS') });
			say(`${(atMs / 60_000).toFixed(1)} min: ${Math.round(samples.at(-1)!.memoryMb)} MB`);
		}),
	]);
	return samples;
}

/** What does not hold of an execution that has ended. */
function breachesOf({ sandbox }: TestHost, begin: Begin, end: StoredExecution): string[] {
	const { workflow, rows } = begin;
	const breaches: string[] = [];
	const breach = (what: string) => breaches.push(`${workflow}, execution ${end.id}: ${what}`);
	const { continues } = kinds[workflow]!;
	const stored = JSON.stringify(end.data);
	const isLost = createMayBeLost.test(stored);

	if (end.status !== 'success' && (continues || !isLost)) {
		breach(`${end.status}: ${end.data.resultData.error?.message}`);
	}
	const outputs = jsonOf(end, 'Good').map(({ output }) => output);
	if (new Set(outputs).size !== outputs.length) breach('an output twice');
	for (const { values: asked } of rows) {
		const runs = sandbox.runs.all.filter(({ bindings }) => bindings.text === asked.text);
		if (runs.length > 1) breach(`${runs.length} runs of ${asked.text}`);
		for (const { runId } of runs) {
			if (!stored.includes(runId) && !isLost) breach(`run ${runId} is lost`);
		}
		const isOutput = outputs.includes(asked.text);
		if (asked.status !== 'succeeded' && isOutput) breach(`${asked.text} succeeded`);
		if (asked.status === 'succeeded' && !isOutput && !isLost) breach(`no output of ${asked.text}`);
	}
	if (continues) {
		const failed = itemsOf(end, 'Bad').length;
		if (outputs.length + failed !== rows.length) breach(`${outputs.length} and ${failed} items`);
		for (const { json, pairedItem } of itemsOf(end, 'Run')) {
			const { item } = pairedItem as { item: number };
			if (json.output !== rows[item]?.values.text) breach(`item ${item} has another's output`);
		}
	}
	return breaches;
}

function makeReport(
	{ sandbox }: TestHost,
	ends: Array<Begin & { end: StoredExecution }>,
	samples: Sample[],
	growth: number,
	breaches: string[],
): string {
	const lost = ({ end }: { end: StoredExecution }) =>
		createMayBeLost.test(JSON.stringify(end.data));
	const byKind = Object.keys(kinds).map((kind) => {
		const all = ends.filter(({ workflow }) => workflow === kind);
		const succeeded = all.filter(({ end }) => end.status === 'success').length;
		const rows = all.flatMap(({ rows: some }) => some).length;
		return `| ${kind} | ${all.length} | ${succeeded} | ${rows} | ${all.filter(lost).length} |`;
	});
	const memory = Array.from({ length: 6 }, (_, part) => {
		const of = samples.slice((samples.length * part) / 6, (samples.length * (part + 1)) / 6);
		const sorted = of.map((sample) => sample.memoryMb).sort((a, b) => a - b);
		const [from, to] = [0, -1].map((at) => ((of.at(at)?.atMs ?? 0) / 60_000).toFixed(1));
		const figures = [sorted[0], median(of), sorted.at(-1)].map((mb) => Math.round(mb ?? 0));
		return `| ${from} to ${to} | ${figures.join(' | ')} |`;
	});
	return [
		'# Soak',
		'',
		`\`npm run soak -- --minutes ${minutes} --seed ${seed}\` on ${dateAndMachine()}. n8n 2 in one process against the sandbox: an execution begun every ${EXECUTION_EVERY_MS / 1_000} s and a random fault laid every ${FAULT_EVERY_MS / 1_000} s, of which each meets one to three requests.`,
		'',
		'A lost create is one whose answer did not come: the service may have started the run or not, the item fails and says so, and no run is started in its place. It ends an execution that does not continue on errors.',
		'',
		'| Workflow | Executions | Succeeded | Items | With a lost create |',
		'| --- | --- | --- | --- | --- |',
		...byKind,
		'',
		`${sandbox.runs.all.length} runs, ${sandbox.requests.length} requests. None of the runs was started twice; each is in its execution's data, which has the right output on the right item, or tells of a lost create${breaches.length ? ' — but for what is listed below' : ''}.`,
		'',
		"n8n's memory (VmRSS), in MB:",
		'',
		'| Minutes | Least | Median | Most |',
		'| --- | --- | --- | --- |',
		...memory,
		'',
		`The median of the last third is ${growth.toFixed(2)} times that of the one before.`,
		'',
		...breaches.map((breach) => `- ${breach}`),
	]
		.join('\n')
		.trimEnd()
		.concat('\n');
}

function third(samples: Sample[], index: number): Sample[] {
	return samples.slice((samples.length * index) / 3, (samples.length * (index + 1)) / 3);
}

function median(samples: Sample[]): number {
	const sorted = samples.map((sample) => sample.memoryMb).sort((a, b) => a - b);
	return sorted[sorted.length >> 1] ?? NaN;
}

function say(what: string): void {
	process.stderr.write(`${what}\n`);
}

void main().then((isGood) => (process.exitCode = isGood ? 0 : 1));
