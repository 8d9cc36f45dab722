import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import type { StoredExecution, Worker } from '../../hosts/n8n.cts';
import { memoryMb, type Signal } from '../../hosts/processes.cts';
import { nodeAndMachine, table } from '../../hosts/report.cts';
import type { SandboxRun } from '../../sandbox/runs.cts';
import { itemsOf, jsonOf, TestHost } from '../support/host.cts';
import { queueMode, removeSchema } from '../support/services.cts';
import {
	kinds,
	makeExecutions,
	makeFaults,
	workflowsFor,
	type Begin,
	type Row,
} from './workload.cts';

const FULL_MINUTES = 30;
const { values } = parseArgs({
	options: {
		minutes: { type: 'string', default: String(FULL_MINUTES) },
		seed: { type: 'string', default: '1' },
		keys: { type: 'string', default: '1' },
		queue: { type: 'boolean', default: false },
		'per-minute': { type: 'string', default: '0' },
	},
});
const minutes = Number(values.minutes);
const seed = Number(values.seed);
const { queue } = values;
/** Requests a minute that the service carries for a key; 0 for a limit per second. */
const perMinute = Number(values['per-minute']);
/** Each with a credential, which has the key for its ID. */
const keys = Array.from({ length: Number(values.keys) }, (_, index) => `key${index + 1}`);

/** How often an execution is begun and a fault is laid, in ms. */
const EXECUTION_EVERY_MS = perMinute > 0 ? 3_000 : 2_000;
const FAULT_EVERY_MS = perMinute > 0 ? 6_000 : 2_000;
const SAMPLE_EVERY_MS = 5_000;
/** What the service carries for a key; 20 a second is some two and a half times what is needed, faults and all. */
const RATE_LIMIT =
	perMinute > 0 ? { requests: perMinute, windowMs: 60_000 } : { requests: 20, windowMs: 1_000 };
/** How much more memory n8n may have in the last third than in the one before. */
const FLAT = 1.1;

/** In queue mode: the workers beside n8n's main process, and how many executions each has at a time. */
const WORKERS = 2;
const WORKER_CONCURRENCY = 30;

/** How often n8n is ended, in queue mode with one of its workers, and for how long it is away, in ms. */
const RESTART_EVERY_MS = 180_000;
const AWAY_MS = 20_000;
/** For a minute after its start, n8n shows what it has resumed as crashed. So long it is left alone, in ms. */
const AFTER_START_MS = 90_000;

/** How n8n ends an execution, whatever node waits in it, that it resumes before its own start is over. */
const RESUMED_TOO_EARLY = 'OTel settings not yet initialized';

/** How many executions are read, and retried, at a time. */
const RETRIES_AT_A_TIME = 10;

const lengthMs = minutes * 60_000;
const restarts = Math.max(0, Math.floor((lengthMs - AFTER_START_MS) / RESTART_EVERY_MS));
const createMayBeLost = /may have (been )?started/;

interface Sample {
	atMs: number;
	memoryMb: number;
	/** How many executions had begun and not ended. */
	executions: number;
}

/** What the soak has begun and seen. */
interface Load {
	/** By the execution's ID. */
	begun: Map<string, Begin>;
	/** The executions that n8n had in memory, and not stored as waiting, when it was ended. */
	interrupted: Set<string>;
	samples: Sample[];
}

/**
 * How an execution came to its end.
 *
 * - `itself`: as if n8n had run all the time.
 * - `sameRuns`: n8n ended it, and n8n's Retry has gone on with the runs that it had started.
 * - `again`: n8n ended it, and n8n's Retry has started runs.
 */
type EndedBy = 'itself' | 'sameRuns' | 'again';

type Ended = Begin & {
	end: StoredExecution;
	by: EndedBy;
	/** How many runs a row may have: one, and one more where n8n had kept none when it was retried. */
	mostRuns: number;
};

async function main(): Promise<boolean> {
	const host = await TestHost.start('n8n-2', workflowsFor(keys), {
		keys,
		settings: { rateLimit: { ...RATE_LIMIT, retryAfter: 'seconds', body: 'envelope' } },
		...(queue && { environment: queueMode }),
	});
	const workers: Worker[] = [];
	const startWorker = async () => await host.n8n.startWorker(WORKER_CONCURRENCY);
	try {
		while (queue && workers.length < WORKERS) workers.push(await startWorker());
		const rowsBefore = host.rowCounts();
		const { begun, interrupted, samples } = await load(host, workers, async (signal, n) => {
			await Promise.all([host.n8n.kill(signal), workers[n % WORKERS]?.kill(signal)]);
			return async () => {
				await host.n8n.start();
				if (queue) workers[n % WORKERS] = await startWorker();
			};
		});
		host.sandbox.faults.clear();
		const breaches: string[] = [];
		const ends: Ended[] = [];
		const todo = [...begun];
		const endAll = async () => {
			for (let next = todo.shift(); next; next = todo.shift()) {
				const [id, begin] = next;
				await endOf(host, id, begin, interrupted.has(id)).then(
					(ended) => ends.push(ended),
					(thrown: Error) => breaches.push(`${begin.workflow}: ${thrown.message}`),
				);
			}
		};
		await Promise.all(Array.from({ length: RETRIES_AT_A_TIME }, endAll));
		breaches.push(...ends.flatMap((ended) => breachesOf(host, ended)));
		const growth = median(third(samples, 2)) / median(third(samples, 1));
		// Shorter thirds are not alike: n8n's memory grows from each start on.
		if (minutes >= FULL_MINUTES && !(growth <= FLAT)) {
			breaches.push(`Memory grew to ${growth.toFixed(2)} times what it was`);
		}

		const grown = Object.entries(host.rowCounts())
			.map(([table, count]) => ({ table, more: count - (rowsBefore[table] ?? 0) }))
			.filter(({ more }) => more > 0);
		const report = makeReport(host, { ends, samples, growth, grown, breaches });
		if (minutes >= FULL_MINUTES) {
			const name = queue ? 'QUEUE.md' : perMinute > 0 ? 'MINUTE.md' : 'REPORT.md';
			writeFileSync(path.join(__dirname, name), report);
		}
		process.stdout.write(report);
		return breaches.length === 0;
	} finally {
		for (const worker of workers) await worker.kill('SIGTERM');
		await host.stop();
		if (queue) removeSchema(host.n8n.host);
	}
}

/**
 * Begins executions, lays faults and restarts n8n until the time is over.
 *
 * @param endHost ends n8n for the nth time, and gives what starts it again
 */
async function load(
	host: TestHost,
	workers: Worker[],
	endHost: (signal: Signal, n: number) => Promise<() => Promise<void>>,
): Promise<Load> {
	const begun = new Map<string, Begin>();
	const interrupted = new Set<string>();
	const samples: Sample[] = [];
	const startedAt = Date.now();
	const every = async (ms: number, count: number, act: (n: number) => unknown) => {
		for (let n = 0; n < count; n++) {
			await sleep(Math.max(0, startedAt + n * ms - Date.now()));
			await act(n);
		}
	};
	let isUp = true;
	let beginning: Promise<unknown> = Promise.resolve();
	const restart = async (signal: Signal, n: number) => {
		isUp = false;
		await beginning;
		say(signal);
		const start = await endHost(signal, n);
		// Those that wait in its database are no more in memory.
		for (const id of host.executionsThatAre('new', 'running')) interrupted.add(id);
		await sleep(AWAY_MS);
		await start();
		isUp = true;
		await sleep(AFTER_START_MS);
	};
	const executions = makeExecutions(Math.floor(lengthMs / EXECUTION_EVERY_MS), seed, keys);
	const faults = makeFaults(Math.floor(lengthMs / FAULT_EVERY_MS), seed);
	await Promise.all([
		every(EXECUTION_EVERY_MS, executions.length, async (n) => {
			if (!isUp) return;
			const { workflow, rows } = executions[n]!;
			beginning = host.begin(workflow, rows).then((id) => begun.set(id, executions[n]!));
			await beginning;
		}),
		every(FAULT_EVERY_MS, faults.length, (n) => isUp && host.sandbox.faults.add(faults[n]!)),
		every(RESTART_EVERY_MS, restarts + 1, async (n) => {
			if (n > 0) await restart(n % 2 === 1 ? 'SIGTERM' : 'SIGKILL', n);
		}),
		every(SAMPLE_EVERY_MS, Math.floor(lengthMs / SAMPLE_EVERY_MS), () => {
			if (!isUp) return;
			const atMs = Date.now() - startedAt;
			const executions = host.executionsThatAre('new', 'running', 'waiting').length;
			const processes = [host.n8n.pid, ...workers.map(({ pid }) => pid)];
			const memory = processes.reduce<number>((sum, pid) => sum + memoryMb(pid, 'VmRSS'), 0);
			samples.push({ atMs, memoryMb: memory, executions });
			const mb = Math.round(samples.at(-1)!.memoryMb);
			say(`${(atMs / 60_000).toFixed(1)} min: ${mb} MB, ${executions} executions`);
		}),
	]);
	return { begun, interrupted, samples };
}

/** Waits for an execution's end, and retries it if n8n has ended it. */
async function endOf(
	host: TestHost,
	id: string,
	begin: Begin,
	wasInterrupted: boolean,
): Promise<Ended> {
	const end = await host.n8n.endOf(id);
	const isEndedByN8n =
		end.status === 'crashed' ||
		(wasInterrupted && end.status === 'canceled') ||
		end.data.resultData.error?.message === RESUMED_TOO_EARLY;
	if (!isEndedByN8n) return { ...begin, end, by: 'itself', mostRuns: 1 };
	const allRuns = () => begin.rows.flatMap((row) => runsOf(host, row));
	const before = allRuns();
	const stored = JSON.stringify(end.data);
	const isKept =
		kinds[begin.kind]!.keeps !== undefined && before.some(({ runId }) => stored.includes(runId));
	const retried = await host.n8n.endOf(await host.n8n.retry(id));
	const by = allRuns().length > before.length ? 'again' : 'sameRuns';
	return { ...begin, end: retried, by, mostRuns: isKept ? 1 : 2 };
}

function runsOf({ sandbox }: TestHost, { values: { text } }: Row): SandboxRun[] {
	return sandbox.runs.all.filter(({ bindings }) => bindings.text === text);
}

/** What does not hold of an execution that has ended. */
function breachesOf(host: TestHost, { kind, workflow, rows, end, by, mostRuns }: Ended): string[] {
	const breaches: string[] = [];
	const breach = (what: string) =>
		breaches.push(`${workflow}, execution ${end.id}, ended by ${by}: ${what}`);
	for (const row of rows) {
		const { length } = runsOf(host, row);
		if (length > mostRuns) breach(`${length} runs of ${row.values.text}`);
	}

	const { continues } = kinds[kind]!;
	const stored = JSON.stringify(end.data);
	const isLost = createMayBeLost.test(stored);
	if (end.status !== 'success' && (continues || !isLost)) {
		breach(`${end.status}: ${end.data.resultData.error?.message}`);
	}
	const outputs = jsonOf(end, 'Good').map(({ output }) => output);
	if (new Set(outputs).size !== outputs.length) breach('an output twice');
	for (const row of rows) {
		const { status, text } = row.values;
		// Of a run before it, n8n had kept nothing when it was retried.
		const run = runsOf(host, row).at(-1);
		if (run && !stored.includes(run.runId) && !isLost) breach(`run ${run.runId} is lost`);
		const isOutput = outputs.includes(text);
		if (status !== 'succeeded' && isOutput) breach(`${text} succeeded`);
		if (status === 'succeeded' && !isOutput && !isLost) breach(`no output of ${text}`);
	}
	if (continues) {
		const failed = itemsOf(end, 'Bad').length;
		if (outputs.length + failed !== rows.length) breach(`${outputs.length} and ${failed} items`);
		for (const { json, pairedItem } of itemsOf(end, 'Run')) {
			// n8n's own, in place of the output that it had not stored when it was ended.
			if (json.isArtificialRecoveredEventItem) continue;
			const { item } = (pairedItem ?? {}) as { item?: number };
			if (item === undefined) breach(`an item of no row: ${JSON.stringify(json).slice(0, 200)}`);
			else if (json.output !== rows[item]?.values.text) breach(`item ${item} has another's output`);
		}
	}
	return breaches;
}

function makeReport(
	{ sandbox }: TestHost,
	{
		ends,
		samples,
		growth,
		grown,
		breaches,
	}: {
		ends: Ended[];
		samples: Sample[];
		growth: number;
		/** Tables of n8n's database, and how many rows they have more. */
		grown: Array<{ table: string; more: number }>;
		breaches: string[];
	},
): string {
	const counts = samples.map(({ executions }) => executions).sort((a, b) => a - b);
	const atATime = counts[counts.length >> 1];
	const byKind = Object.entries(kinds).map(([kind, { keeps }]) => {
		const all = ends.filter((ended) => ended.kind === kind);
		const count = (isCounted: (ended: Ended) => boolean) => all.filter(isCounted).length;
		return [
			kind,
			keeps ? { progress: 'its runs', wait: 'the wait' }[keeps] : 'nothing',
			all.length,
			count(({ by }) => by !== 'itself'),
			count(({ by, end }) => by === 'sameRuns' && end.status === 'success'),
			count(({ by, end }) => by === 'again' && end.status === 'success'),
			count(({ end }) => end.status === 'success'),
			all.flatMap(({ rows }) => rows).length,
			count(({ end }) => createMayBeLost.test(JSON.stringify(end.data))),
		];
	});
	const memory = Array.from({ length: 6 }, (_, part) => {
		const of = samples.slice((samples.length * part) / 6, (samples.length * (part + 1)) / 6);
		const sorted = of.map((sample) => sample.memoryMb).sort((a, b) => a - b);
		const [from, to] = [0, -1].map((at) => ((of.at(at)?.atMs ?? 0) / 60_000).toFixed(1));
		const figures = [sorted[0], median(of), sorted.at(-1)].map((mb) => Math.round(mb ?? 0));
		return [`${from} to ${to}`, ...figures];
	});
	const given = process.argv.slice(2).join(' ');
	const command = `npm run soak${given && ` -- ${given}`}`;
	return [
		'# Soak',
		'',
		`\`${command}\` ${nodeAndMachine()}. n8n 2 ${queue ? `in queue mode, with ${WORKERS} workers, PostgreSQL and Redis,` : 'in one process, with SQLite,'} against the sandbox: an execution begins every ${EXECUTION_EVERY_MS / 1_000} s, and a random fault is set every ${FAULT_EVERY_MS / 1_000} s, which hits one to three requests. ${keys.length === 1 ? 'All executions have one key, whose requests are' : `The executions have ${keys.length} keys by turns, and the requests of each key are`} limited to ${RATE_LIMIT.requests} a ${perMinute > 0 ? 'minute' : 'second'}; ${atATime} executions were at work at the same time (the median). Every ${RESTART_EVERY_MS / 60_000} minutes, ${restarts} times in all, n8n is stopped${queue ? ', and one of its workers with it' : ''}, alternately with SIGTERM (it then has 20 s) and SIGKILL, and started again ${AWAY_MS / 1_000} s after it has ended.`,
		'',
		'A lost create is one whose answer did not come: the service may have started the run or not, the item fails and says so, and no run is started in its place. It ends an execution that does not continue on errors.',
		'',
		`What n8n keeps of an execution decides what happens to it when n8n stops. If n8n keeps the wait, it continues by itself when n8n is back. If n8n keeps the runs, because the workflow saves its execution progress, n8n shows the execution as crashed, and n8n's Retry continues with the same runs. If n8n keeps nothing, Retry starts the workflow again, with new runs; the old runs continue at the service. n8n may also stop during a poll, after which Retry continues from the wait, or while the execution creates its runs, of which n8n has kept nothing. n8n also ends an execution that it resumes before its own start is over ('${RESUMED_TOO_EARLY}', whichever node waits), or takes it for crashed; Retry continues from the wait.`,
		'',
		`How many executions this ends depends on how many are in memory. ${queue ? `Only one of the ${WORKERS} workers is ended at a time.` : 'All are in the one process that is ended.'} ${keys.length === 1 ? 'They share one key, so that a rate limit, and a fault that looks like one, holds up all of them.' : 'A rate limit, and a fault that looks like one, holds up the executions of one key only.'}`,
		'',
		"Every execution that n8n has ended is retried once, with n8n's Retry, after the last restart. 'Retry: same runs' and 'Retry: new runs' are those that then succeeded; 'Succeeded' includes them.",
		'',
		table(
			[
				'Workflow',
				'n8n keeps',
				'Executions',
				'Ended by n8n',
				'Retry: same runs',
				'Retry: new runs',
				'Succeeded',
				'Items',
				'With a lost create',
			],
			byKind,
		),
		'',
		`${sandbox.runs.all.length} runs, ${sandbox.requests.length} requests, of which ${sandbox.requests.filter(({ status }) => status === 429).length} were refused (429), those by faults among them. No run was started twice, except by a Retry of an execution of which n8n had kept nothing. All executions have the latest run of each row in their data, with the right output on the right item, or tell of a lost create${breaches.length ? ' — but for what is listed below' : ''}.`,
		'',
		`n8n's memory (VmRSS${queue ? ', of all three processes' : ''}) while it ran, in MB:`,
		'',
		table(['Minutes', 'Least', 'Median', 'Most'], memory),
		'',
		`The median of the last third is ${growth.toFixed(2)} times that of the one before.`,
		'',
		`Tables of n8n's database that have more rows than before: ${grown.map(({ table, more }) => `${table} (${more})`).join(', ')}.`,
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
