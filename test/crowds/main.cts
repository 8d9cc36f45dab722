import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import type { IDataObject } from 'n8n-workflow';

import type { StoredExecution } from '../../hosts/n8n.cts';
import { memoryMb } from '../../hosts/processes.cts';
import { nodeAndMachine, table } from '../../hosts/report.cts';
import { jsonOf, TestHost } from '../support/host.cts';
import { crowds, type Crowd, type Row } from './crowds.cts';

const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });

/** How often n8n's database is asked how many executions go on, in ms. */
const LOOK_EVERY_MS = 2_000;

/** For a while after its start, n8n shows as crashed what its recovery has met while it ran. That long, in ms. */
const RECOVERY_MS = 180_000;

/** What became of a crowd, and what it cost. */
interface Outcome {
	crowd: Crowd;
	/** From the first execution's beginning, or from n8n's second start, until the last one has ended. */
	seconds: number;
	/** n8n's memory (VmRSS) before the first execution, and its peak (VmHWM) from then on, in MB. */
	beforeMb: number;
	peakMb: number;
	/** The largest execution in n8n's database while all wait, in kB; absent where none is stored. */
	storedKb: number | undefined;
	requests: number;
	refused: number;
	/** Executions that n8n has ended, and that its Retry has ended well. */
	retried: number;
	breaches: string[];
}

async function main(): Promise<boolean> {
	const outcomes: Outcome[] = [];
	for (const crowd of crowds.filter(({ what }) => what.includes(values.only))) {
		say(crowd.what);
		outcomes.push(await meet(crowd));
		say(JSON.stringify({ ...outcomes.at(-1), crowd: crowd.what }));
	}
	const report = makeReport(outcomes);
	if (!values.only) writeFileSync(path.join(__dirname, 'REPORT.md'), report);
	process.stdout.write(report);
	return outcomes.every(({ breaches }) => breaches.length === 0);
}

async function meet(crowd: Crowd): Promise<Outcome> {
	const { workflow, executions, isEndedWhileParked, requestsASecond = 0 } = crowd;
	const host = await TestHost.start('n8n-2', [workflow]);
	const { n8n, sandbox } = host;
	try {
		sandbox.settings.rateLimit.requests = requestsASecond;
		const beforeMb = memoryMb(n8n.pid, 'VmRSS');
		let from = Date.now();
		for (let index = 0; index < executions; index++) {
			await n8n.callWebhook(workflow.id, { rows: crowd.rowsOf(index) });
		}
		say(`begun after ${Math.round((Date.now() - from) / 1_000)} s`);
		let peakMb = 0;
		let storedKb: number | undefined;
		if (isEndedWhileParked) {
			await untilNone(host, 'new', 'running');
			storedKb = largestStored(host) / 1_000;
			peakMb = memoryMb(n8n.pid, 'VmHWM');
			await n8n.kill('SIGTERM');
			await sleep(Math.max(0, lastDueAt(host) - Date.now()));
			const parked = host.executionsThatAre('waiting').length;
			say(`${parked} parked and due; ${Math.round(storedKb)} kB, ${Math.round(peakMb)} MB`);
			if (parked !== executions) throw new Error(`${parked} of ${executions} are parked`);
			from = Date.now();
			await n8n.start();
		}
		await untilNone(host, 'new', 'running', 'waiting');
		const recovered = Date.now() + RECOVERY_MS;
		while (Date.now() < recovered && host.executionsThatAre('crashed').length > 0) {
			await sleep(LOOK_EVERY_MS);
		}
		await untilNone(host, 'new', 'running', 'waiting');
		const seconds = (lastStoppedAt(host) - from) / 1_000;
		peakMb = Math.max(peakMb, memoryMb(n8n.pid, 'VmHWM'));

		const { ends, retried } = await endsOf(host);
		const breaches = breachesOf(host, crowd, ends);
		const requests = sandbox.requests.length;
		const refused = sandbox.requests.filter(({ status }) => status === 429).length;
		return { crowd, seconds, beforeMb, peakMb, storedKb, requests, refused, retried, breaches };
	} finally {
		await host.stop();
	}
}

async function untilNone(host: TestHost, ...statuses: string[]): Promise<void> {
	while (host.executionsThatAre(...statuses).length > 0) await sleep(LOOK_EVERY_MS);
}

function largestStored(host: TestHost): number {
	const [row] = host.sql('SELECT MAX(LENGTH(data)) AS bytes FROM execution_data');
	return Number(row?.bytes);
}

/** When n8n is to resume the last execution that waits, in ms since the epoch. */
function lastDueAt(host: TestHost): number {
	return dateOf(host.sql('SELECT MAX("waitTill") AS date FROM execution_entity'));
}

function lastStoppedAt(host: TestHost): number {
	return dateOf(host.sql('SELECT MAX("stoppedAt") AS date FROM execution_entity'));
}

function dateOf([row]: Array<Record<string, unknown>>): number {
	return Date.parse(`${String(row?.date).replace(' ', 'T')}Z`);
}

/** How all executions have ended; of those that n8n has ended itself, how its Retry has. */
async function endsOf(host: TestHost) {
	const ends: StoredExecution[] = [];
	let retried = 0;
	for (const { id: number } of host.sql('SELECT id FROM execution_entity ORDER BY id')) {
		const id = String(number);
		const end = await host.n8n.execution(id);
		if (end.status === 'success') {
			ends.push(end);
			continue;
		}
		say(`${id}: ${end.status}: ${end.data.resultData.error?.message}`);
		retried++;
		ends.push(await host.n8n.endOf(await host.n8n.retry(id)));
	}
	return { ends, retried };
}

/** What does not hold: each row has one run, and one execution has given the results of its rows. */
function breachesOf(
	{ sandbox }: TestHost,
	{ startsRuns, executions, rowsOf }: Crowd,
	ends: StoredExecution[],
): string[] {
	const breaches: string[] = [];
	const runs = new Map<string | undefined, number>();
	for (const { bindings } of sandbox.runs.all) {
		runs.set(bindings.text, (runs.get(bindings.text) ?? 0) + 1);
	}
	const given = ends.map((end) => JSON.stringify(jsonOf(end, 'Good').map(textOf)));
	for (let execution = 0; execution < executions; execution++) {
		const texts = rowsOf(execution).map((row) => row.values.text);
		for (const text of texts) {
			const started = runs.get(text) ?? 0;
			if (started !== (startsRuns ? 1 : 0)) breaches.push(`${started} runs of ${text}`);
		}
		const expected = JSON.stringify(texts);
		const results = given.filter((all) => all === expected).length;
		if (results !== 1) breaches.push(`execution ${execution} has its results ${results} times`);
	}
	if (ends.length !== executions) breaches.push(`${ends.length} executions`);
	return breaches;
}

/** The text of a run's output, or of the row that n8n's Wait node has passed on. */
function textOf(json: IDataObject): unknown {
	return json.output ?? (json as unknown as { row?: Row }).row?.values.text;
}

function makeReport(outcomes: Outcome[]): string {
	const heads = [
		'Crowd',
		'Time (s)',
		'Memory before (MB)',
		'Peak (MB)',
		'Stored (kB)',
		'Requests',
		'Refused',
		'By Retry',
		'Wrong',
	];
	const rows = outcomes.map(({ crowd, ...outcome }) => [
		crowd.what,
		outcome.seconds.toFixed(0),
		Math.round(outcome.beforeMb),
		Math.round(outcome.peakMb),
		outcome.storedKb === undefined ? '' : Math.round(outcome.storedKb),
		outcome.requests,
		outcome.refused,
		outcome.retried,
		outcome.breaches.length,
	]);
	return `${[
		'# Crowds',
		'',
		`\`npm run crowds\` ${nodeAndMachine()}. Each in an n8n 2 of its own, in one process on SQLite, against the sandbox; one run each.`,
		'',
		"'Time': from the beginning of the first execution until the last one has ended. Where n8n is ended while all executions are parked, it is away until the last of them is overdue, and the time begins when it is started again. 'Memory': n8n's, before the first execution (VmRSS) and at its peak (VmHWM). 'Stored': the largest execution in n8n's database while all are parked. 'By Retry': executions that n8n has ended itself, and that its Retry has brought to their end. 'Wrong': rows with more or less than one run, and executions without the results of all their rows in order.",
		'',
		table(heads, rows),
		...outcomes.flatMap(({ crowd, breaches }) =>
			breaches.length
				? ['', `${crowd.what}:`, '', ...breaches.slice(0, 20).map((b) => `- ${b}`)]
				: [],
		),
	].join('\n')}\n`;
}

function say(what: string): void {
	process.stderr.write(`${what}\n`);
}

void main().then((isGood) => (process.exitCode = isGood ? 0 : 1));
