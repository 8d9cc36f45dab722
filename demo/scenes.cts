import { setTimeout as sleep } from 'node:timers/promises';

import type { ListedExecution, N8n, StoredExecution } from '../hosts/n8n.cts';
import type { Sandbox } from '../sandbox/server.cts';

export const ROWS_WORKFLOW = 'oneRunPerRow0001';
export const LONG_RUN_WORKFLOW = 'longRun000000001';
const TRIGGER = "When clicking 'Execute workflow'";
const RESULTS = 'Results';

/** How long to wait for the long run's result, in ms; a fast machine needs two minutes. */
const PATIENCE_MS = 360_000;

/** Something went wrong in the demo; the message says what. */
export class DemoFailed extends Error {}

/** Runs the example that starts a run for each row. */
export async function rowsBecomeResults(n8n: N8n): Promise<void> {
	console.log('\n1. Rows become results: one agent run for each row, all in parallel.');
	const execution = await n8n.endOf(await n8n.runManually(ROWS_WORKFLOW, TRIGGER));
	for (const { region, report } of resultsOf(execution)) {
		console.log(`   ${region as string}: ${report as string}`);
	}
}

/** Parks a run of a minute, kills n8n, starts it again, and waits for the result. */
export async function longRunOutlivesN8n(n8n: N8n, { runs }: Sandbox): Promise<void> {
	console.log(`
2. A long wait survives n8n: a run of one minute, with 'Where to Wait' set to 'Stored From the Start'.`);
	const before = runs.all.length;
	const id = await n8n.runManually(LONG_RUN_WORKFLOW, TRIGGER);
	const { waitTill } = await untilWaiting(n8n, id);
	const run = runs.all.at(-1);
	say(`n8n has started run ${run?.runId}, and shows the execution as Waiting.`);

	await n8n.kill('SIGKILL');
	say('n8n was killed (SIGKILL). The run continues at the service.');
	await n8n.start();
	const seconds = Math.max(0, Math.round((Date.parse(waitTill ?? '') - Date.now()) / 1_000));
	say(
		`n8n was started again. It resumes the execution in ${seconds} s; 30 s later, the node asks for the result.`,
	);

	const execution = await endOf(n8n, id);
	const [result] = resultsOf(execution);
	const started = runs.all.length - before;
	say(`The execution has succeeded. Its result: ${result?.report as string}`);
	if (started !== 1) throw new DemoFailed(`Runs started at the service: ${started} instead of 1.`);
	console.log('   Runs started at the service: 1. The restarted n8n continued with the same run.');
}

async function untilWaiting(n8n: N8n, id: string): Promise<ListedExecution> {
	const deadline = Date.now() + PATIENCE_MS;
	for (;;) {
		const execution = (await n8n.executions(LONG_RUN_WORKFLOW)).find((one) => one.id === id);
		if (execution?.status === 'waiting') return execution;
		if (execution?.status === 'error' || Date.now() > deadline) {
			throw new DemoFailed(`The execution should be 'waiting', but is '${execution?.status}'.`);
		}
		await sleep(100);
	}
}

/** Shortly after its start, n8n may show an execution as crashed that continues. */
async function endOf(n8n: N8n, id: string): Promise<StoredExecution> {
	const deadline = Date.now() + PATIENCE_MS;
	for (;;) {
		const execution = await n8n.endOf(id);
		if (execution.status !== 'crashed' || Date.now() > deadline) return execution;
		await sleep(1_000);
	}
}

function resultsOf({ status, data: { resultData } }: StoredExecution) {
	const [task] = resultData.runData[RESULTS] ?? [];
	const items = task?.data?.main?.[0] ?? [];
	if (status === 'success' && items.length > 0) return items.map(({ json }) => json);
	throw new DemoFailed(
		`The execution ended as '${status}', without results. ${resultData.error?.message ?? ''}`,
	);
}

function say(line: string): void {
	console.log(`   ${new Date().toTimeString().slice(0, 8)}  ${line}`);
}
