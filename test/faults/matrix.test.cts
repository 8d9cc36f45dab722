import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import * as retryPolicy from '../../nodes/AgentInvocation/service/retryPolicy.ts';
import { requestTimeouts } from '../../nodes/AgentInvocation/service/service.ts';
import { table } from '../../hosts/report.cts';
import { startSandbox } from '../../sandbox/server.cts';
import { creates } from '../support/sandboxed.cts';
import { faultCases, startForeigner, type FaultCase, type Foreigner } from './faults.cts';
import { Network } from './line.cts';
import { operationCases, TIME_LIMIT_S, type OperationCase, type Outcome } from './operations.cts';

const REPORT = path.join(__dirname, 'REPORT.md');
const KEY = 'the-key-that-stays-home';
const AT_A_TIME = 5;
/** How long a request may take here, in s. */
const REQUEST_LIMIT_S = 6;
/** More requests than this are repeats: a create and one poll. */
const FEW = 2;
/** A cell that takes longer hangs, in ms. Patience is cut to some seconds below. */
const HANGS_MS = 60_000;

const DETAILS = [
	'Fault',
	'Once: requests, runs',
	'What the user sees',
	'Lasting: requests, runs',
	'What the user sees',
];

interface Cell {
	operation: OperationCase;
	fault: FaultCase;
	lasts: boolean;
	outcome: Outcome;
	requests: number;
	runs: Array<{ runId: string }>;
}

let foreigner: Foreigner;
let network: Network;
let faults: FaultCase[];
const cells: Cell[] = [];
let met = 0;

beforeAll(async () => {
	jest.replaceProperty(retryPolicy, 'READ_PATIENCE_MS', (TIME_LIMIT_S * 1_000) as never);
	jest.replaceProperty(retryPolicy, 'EDITOR_PATIENCE_MS', (TIME_LIMIT_S * 1_000) as never);
	jest.replaceProperty(retryPolicy.backoffRange, 'first', 20);
	jest.replaceProperty(requestTimeouts, 'GET', REQUEST_LIMIT_S * 1_000);
	jest.replaceProperty(requestTimeouts, 'POST', REQUEST_LIMIT_S * 1_000);
	foreigner = await startForeigner();
	network = await Network.open();
	faults = faultCases(foreigner.port);

	const todo = operationCases.flatMap((operation) =>
		faults.flatMap((fault) => [false, true].map((lasts) => ({ operation, fault, lasts }))),
	);
	await meetAll(
		todo.filter(({ fault }) => !fault.isHeavy),
		AT_A_TIME,
	);
	await meetAll(
		todo.filter(({ fault }) => fault.isHeavy),
		1,
	);
}, 600_000);

afterAll(() => {
	foreigner?.close();
	jest.restoreAllMocks();
});

type Meeting = Pick<Cell, 'operation' | 'fault' | 'lasts'>;

async function meetAll(meetings: Meeting[], atATime: number): Promise<void> {
	const todo = [...meetings];
	const workers = Array.from({ length: atATime }, async () => {
		for (let next = todo.shift(); next; next = todo.shift()) {
			cells.push({ ...next, ...(await meet(next)) });
		}
	});
	await Promise.all(workers);
}

async function meet({ operation, fault, lasts }: Meeting) {
	// Executions with one key at one address share a pace, and the system gives a port more than once.
	const apiKey = `${KEY}-${++met}`;
	const sandbox = await startSandbox(0, { apiKeys: [apiKey], pendingMs: 0 });
	const times = lasts ? Infinity : 1;
	const line = fault.line && (await network.lineTo(sandbox.baseUrl));
	if (fault.sandbox) sandbox.faults.add({ ...fault.sandbox(), ...operation.hit, times });
	if (fault.line) line?.break(fault.line, times, operation.hitsLater ? 'create' : 'now');
	try {
		const { baseUrl } = line ?? sandbox;
		const credential = { baseUrl, apiKey };
		const outcome = await Promise.race([operation.run(credential, sandbox), hang()]);
		const started = creates(sandbox).filter(({ url }) => !url.includes('dry_run')).length;
		if (!operation.startsRun) expect(started).toBe(0);
		const runs = operation.startsRun ? sandbox.runs.all : [];
		return { outcome, requests: line?.connections ?? sandbox.requests.length, runs };
	} finally {
		line?.close();
		await sandbox.close();
	}
}

async function hang(): Promise<Outcome> {
	return await new Promise((resolve) => {
		const error = { name: 'Hang', message: 'It hangs', description: '' };
		setTimeout(() => resolve({ stored: undefined, error }), HANGS_MS).unref();
	});
}

const label = ({ operation, fault, lasts }: Cell) =>
	`${operation.name}; ${fault.name}, ${lasts ? 'lasting' : 'once'}`;

/** The cells for which something does not hold, by name. */
const breaches = (holds: (cell: Cell) => boolean) =>
	cells.filter((cell) => !holds(cell)).map((cell) => `${label(cell)}: ${seen(cell)}`);

test('every operation meets every fault', () => {
	expect(cells).toHaveLength(operationCases.length * faults.length * 2);
	expect(cells.length).toBeGreaterThan(600);
});

test('nothing hangs', () => {
	expect(breaches(({ outcome }) => outcome.error?.name !== 'Hang')).toEqual([]);
});

test('a run is never started twice', () => {
	expect(breaches(({ runs }) => runs.length <= 1)).toEqual([]);
});

test('a run is never lost: it is output, or the message names it or says that it may be there', () => {
	const isKnown = ({ runs, outcome: { error, stored } }: Cell) =>
		runs.every(({ runId }) =>
			error
				? error.message.includes(runId) || error.message.includes('may have been started')
				: JSON.stringify(stored).includes(runId),
		);
	expect(breaches(isKnown)).toEqual([]);
});

test("errors are n8n's own, with what to do", () => {
	const isUseful = ({ outcome: { error } }: Cell) =>
		!error || (/^Node(Api|Operation)Error$/.test(error.name) && error.description.length > 20);
	expect(breaches(isUseful)).toEqual([]);
});

test('a temporary failure while a run is waited for does not end the wait', () => {
	// What asks for a year leaves the node no time to poll again.
	const isTransient = ({ name, line }: FaultCase) =>
		line ?? /^(Reset|Headers|Body|\d+ to another|429(?!.*a year)|50\d|200)/.test(name);
	const endsWell = ({ operation, fault, lasts, outcome }: Cell) =>
		lasts || !operation.hitsLater || !isTransient(fault) || outcome.shown === 'a succeeded run';
	expect(breaches(endsWell)).toEqual([]);
});

test('the key is nowhere but in requests to the service', () => {
	expect(breaches(({ outcome }) => !JSON.stringify(outcome).includes(KEY))).toEqual([]);
	expect(foreigner.received).toEqual([]);
});

test('REPORT.md shows it as it is (UPDATE_REPORT=1 npm run test:faults writes it)', () => {
	const report = makeReport();
	if (process.env.UPDATE_REPORT) writeFileSync(REPORT, report);
	const written = existsSync(REPORT) ? readFileSync(REPORT, 'utf8') : '';
	expect(report.split('\n')).toEqual(written.split('\n'));
});

function makeReport(): string {
	const heads = operationCases.map(({ name }) => name);
	return `${[
		'# What the node does under faults',
		'',
		"Every operation meets every fault, in n8n's engine and over real HTTP: once, so that the next request is answered as usual, and lasting. `UPDATE_REPORT=1 npm run test:faults` writes this page; the test fails when something else happens.",
		'',
		'Each cell says what happens if the fault occurs once and, where that differs, what happens if it lasts:',
		'',
		"- **result**: the operation's result, as without the fault.",
		'- **error**: an error says what went wrong. No run was started.',
		'- **error, run named**: a run was started, and the error has its ID.',
		'- **in doubt**: the service may have started a run. The error says so, and no other run is started.',
		'',
		table(
			['Fault', ...heads],
			merge((fault) => operationCases.map((operation) => summaryOf(operation, fault))),
		),
		'',
		'What happens to executions when n8n itself stops: [KILLS.md](KILLS.md).',
		'',
		'## Details',
		'',
		`Patience is cut short for this test: ${TIME_LIMIT_S} s for waits and reads, ${REQUEST_LIMIT_S} s for a request. "+" stands for requests that are repeated until patience ends: after five attempts, or when that time is over. A run's ID is shown as RUN.`,
		...operationCases.flatMap((operation) => [
			'',
			`### ${operation.name}`,
			'',
			'<details><summary>Requests, runs and messages</summary>',
			'',
			table(
				DETAILS,
				merge((fault) => detailsOf(operation, fault)),
			),
			'',
			'</details>',
		]),
	].join('\n')}\n`;
}

/** A row for all faults that have the same cells. */
function merge(cellsOf: (fault: FaultCase) => string[]): string[][] {
	const rows = new Map<string, { names: string[]; texts: string[] }>();
	for (const fault of faults) {
		const texts = cellsOf(fault);
		const key = JSON.stringify(texts);
		rows.set(key, { names: [...(rows.get(key)?.names ?? []), fault.name], texts });
	}
	return [...rows.values()].map(({ names, texts }) => [names.join('; '), ...texts]);
}

function summaryOf(operation: OperationCase, fault: FaultCase): string {
	const words = cellsOf(operation, fault).map(({ runs, outcome: { error } }) => {
		if (!error) return 'result';
		if (error.message.includes('may have been started')) return 'in doubt';
		return runs.length > 0 ? 'error, run named' : 'error';
	});
	return [...new Set(words)].join('; lasting: ');
}

function detailsOf(operation: OperationCase, fault: FaultCase): string[] {
	return cellsOf(operation, fault).flatMap((cell) => [
		`${requestsOf(cell)}, ${cell.runs.length}`,
		seen(cell),
	]);
}

/** For the fault that happens once and the one that lasts. */
function cellsOf(operation: OperationCase, fault: FaultCase): Cell[] {
	return [false, true].flatMap((lasts) =>
		cells.filter(
			(cell) => cell.operation === operation && cell.fault === fault && cell.lasts === lasts,
		),
	);
}

function requestsOf({ requests, lasts }: Cell): string {
	// How many there are until patience is at its end is a matter of chance.
	return lasts && requests > FEW ? '+' : String(requests);
}

function seen({ outcome: { error, shown }, runs }: Cell): string {
	if (!error) return shown ?? '';
	const message = runs.reduce((text, { runId }) => text.replaceAll(runId, 'RUN'), error.message);
	return message.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'RUN');
}
