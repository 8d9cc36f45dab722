import type { Worker } from '../../hosts/n8n.cts';
import { jsonOf, TestHost } from '../support/host.cts';
import { agentNode, createForRow, rowsWorkflow } from '../support/workflows.cts';
import { missingServices, queueMode, removeSchema } from '../support/services.cts';
import { until } from '../support/until.cts';

const CONCURRENCY = 60;
const PARKED = 60;
const IN_NODE = 40;
const POLLED = 20;
/** More polls at a time than one of two workers has. The resumes of all may take longer than a poll. */
const OPEN_AT_ONCE = POLLED / 2 + 1;
/** For the throughput: how many executions in all, and at a time on a worker. */
const SHORT = 60;
const FEW = 5;

const missing = missingServices();
if (missing.length > 0) process.stderr.write(`Queue mode is not tested. ${missing.join(' ')}\n`);
const testQueue = missing.length > 0 ? test.skip : test;

let host: TestHost;
const workers: Worker[] = [];
beforeAll(async () => {
	if (missing.length > 0) return;
	const workflows = [
		// Parked for long enough that main is up again, on a slow machine too.
		rowsWorkflow('parked', agentNode('Run', { ...createForRow, options: { pollInterval: 180 } })),
		rowsWorkflow('polled', agentNode('Run', { ...createForRow, options: { pollInterval: 65 } })),
		rowsWorkflow('inNode', agentNode('Run', createForRow)),
	];
	host = await TestHost.start('n8n-2', workflows, { environment: queueMode });
	workers.push(await host.n8n.startWorker(CONCURRENCY));
	workers.push(await host.n8n.startWorker(CONCURRENCY));
});

afterAll(async () => {
	for (const worker of workers) await worker.kill('SIGTERM');
	await host?.stop();
	if (host) removeSchema(host.n8n.host);
});

let allBegun = 0;

/** Starts executions of a workflow, each with one run that takes so long. Gives the text of each by its ID. */
async function begin(
	workflow: string,
	count: number,
	seconds: number,
): Promise<Map<string, string>> {
	const begun = new Map<string, string>();
	for (let index = 0; index < count; index++) {
		const text = `${workflow} ${allBegun++}`;
		begun.set(await host.begin(workflow, [{ agent: 3, values: { seconds, text } }]), text);
	}
	return begun;
}

const runsOf = (text: string) =>
	host.sandbox.runs.all.filter(({ bindings }) => bindings.text === text);

/**
 * Waits until all executions have succeeded, and gives what has not by then. For a moment after its
 * start, n8n shows as crashed or failed what it has met while it started.
 */
async function notSucceeded(executions: Map<string, string>) {
	const others = async () => {
		const all = await Promise.all([...executions.keys()].map((id) => host.n8n.execution(id)));
		return all
			.filter(({ status }) => status !== 'success')
			.map(({ id, status, data }) => ({ id, status, error: data.resultData.error?.message }));
	};
	await until(async () => (await others()).length === 0, 300_000).catch(() => {});
	return await others();
}

/** Each execution has the output of its own run. */
async function expectOwnOutputs(executions: Map<string, string>): Promise<void> {
	for (const [id, text] of executions) {
		const execution = await host.n8n.endOf(id);
		expect(jsonOf(execution, 'Good').map(({ output }) => output)).toEqual([text]);
	}
}

testQueue(
	'a worker is killed and main restarted in mid-wait: every parked execution ends right',
	async () => {
		const parked = await begin('parked', PARKED, 30);
		const inNode = await begin('inNode', IN_NODE, 60);
		for (const id of parked.keys()) await host.untilParked(id);
		await until(() => [...inNode.values()].every((text) => runsOf(text).length > 0));

		await workers[0]!.kill('SIGKILL');
		await host.n8n.kill('SIGTERM');
		await host.n8n.start();
		workers[0] = await host.n8n.startWorker(CONCURRENCY);

		expect(await notSucceeded(parked)).toEqual([]);
		await expectOwnOutputs(parked);
		// n8n gives up the executions that the killed worker had in memory, and keeps nothing of theirs.
		const ends: string[] = [];
		for (const id of inNode.keys()) ends.push((await host.n8n.endOf(id)).status);
		expect(ends.filter((end) => end !== 'crashed' && end !== 'success')).toEqual([]);
		expect(ends).toContain('crashed');
		for (const text of [...parked.values(), ...inNode.values()]) {
			expect(runsOf(text)).toHaveLength(1);
		}
		const crashed = ends.filter((end) => end === 'crashed').length;
		process.stderr.write(
			`${PARKED} parked executions: all right. ${IN_NODE} in the node: ${crashed} ended with their worker.\n`,
		);
	},
);

testQueue('a worker is killed while it polls: n8n fails those executions alone', async () => {
	// Neither worker can have all of them.
	for (const worker of workers.splice(0)) await worker.kill('SIGTERM');
	for (let n = 0; n < 2; n++) workers.push(await host.n8n.startWorker(POLLED / 2));
	const polled = await begin('polled', POLLED, 1);
	for (const id of polled.keys()) await host.untilParked(id);
	host.sandbox.faults.add({ method: 'GET', kind: 'delay', delayMs: 30_000, times: POLLED });
	const polls = () =>
		host.sandbox.requests.filter(({ method, isOpen }) => isOpen && method === 'GET');
	await until(() => polls().length >= OPEN_AT_ONCE);
	// Started again at once, it has those of the other worker marked as crashed, too (docs/n8n.md, What was seen).
	await workers.shift()!.kill('SIGKILL');

	const failed: string[] = [];
	for (const [id, text] of polled) {
		const { status } = await host.n8n.endOf(id);
		expect(runsOf(text)).toHaveLength(1);
		if (status === 'success') continue;
		polled.delete(id);
		failed.push(status);
	}
	await expectOwnOutputs(polled);
	process.stderr.write(`${POLLED} polls: ${failed.length} ended with their worker.\n`);
	expect(failed.filter((status) => status !== 'error' && status !== 'crashed')).toEqual([]);
	expect(failed.length).toBeGreaterThan(0);
	expect(polled.size).toBeGreaterThan(0);
});

testQueue('one worker and two: how many executions they carry', async () => {
	for (const worker of workers.splice(0)) await worker.kill('SIGTERM');
	for (const count of [1, 2]) {
		workers.push(await host.n8n.startWorker(FEW));
		const began = Date.now();
		const executions = await begin('inNode', SHORT, 1);
		for (const id of executions.keys()) {
			expect((await host.n8n.endOf(id)).status).toBe('success');
		}
		const seconds = (Date.now() - began) / 1_000;
		process.stderr.write(
			`${count} workers, ${FEW} executions at a time each: ${(SHORT / seconds).toFixed(1)} executions of 1 s a second\n`,
		);
	}
});
