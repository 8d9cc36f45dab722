import type { Worker } from '../../hosts/n8n.cts';
import { jsonOf, TestHost } from '../support/host.cts';
import { agentNode, createForRow, rowsWorkflow } from '../support/workflows.cts';
import { missingServices, queueMode, removeSchema } from '../support/services.cts';
import { until } from '../support/until.cts';

jest.setTimeout(600_000);

const CONCURRENCY = 60;
const PARKED = 60;
const IN_NODE = 40;
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
		rowsWorkflow('parked', agentNode('Run', { ...createForRow, options: { pollInterval: 65 } })),
		rowsWorkflow('inNode', agentNode('Run', createForRow)),
	];
	host = await TestHost.start('n8n-2', workflows, { environment: queueMode });
	workers.push(await host.n8n.startWorker(CONCURRENCY));
	workers.push(await host.n8n.startWorker(CONCURRENCY));
}, 900_000);

afterAll(async () => {
	for (const worker of workers) await worker.kill('SIGTERM');
	await host?.stop();
	if (host) removeSchema(host.n8n.host);
});

/** Starts executions of a workflow, each with one run that takes so long. Gives the text of each by its ID. */
async function begin(
	workflow: string,
	count: number,
	seconds: number,
): Promise<Map<string, string>> {
	const begun = new Map<string, string>();
	for (let index = 0; index < count; index++) {
		const text = `${workflow} ${index}`;
		begun.set(await host.begin(workflow, [{ agent: 3, values: { seconds, text } }]), text);
	}
	return begun;
}

const runsOf = (text: string) =>
	host.sandbox.runs.all.filter(({ bindings }) => bindings.text === text);

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

		// For a moment after its start, n8n shows as crashed what its recovery has met while it ran.
		const notRight = async () => {
			const all = await Promise.all([...parked.keys()].map((id) => host.n8n.execution(id)));
			return all
				.filter(({ status }) => status !== 'success')
				.map(({ id, status, data }) => [id, status, data.resultData.error?.message]);
		};
		await until(async () => (await notRight()).length === 0, 300_000).catch(() => {});
		expect(await notRight()).toEqual([]);
		for (const [id, text] of parked) {
			const execution = await host.n8n.endOf(id);
			expect(jsonOf(execution, 'Good').map(({ output }) => output)).toEqual([text]);
		}
		// n8n gives up the executions that the killed worker had in memory, and keeps nothing of theirs.
		const ends: string[] = [];
		for (const id of inNode.keys()) ends.push((await host.n8n.endOf(id, 400_000)).status);
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
