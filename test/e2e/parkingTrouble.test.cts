import type { INode } from 'n8n-workflow';

import type { ListedExecution, StoredExecution } from '../../hosts/n8n.cts';
import { jsonOf, TestHost, until } from '../support/host.cts';
import { agentNode, createForRow, rowsWorkflow } from '../support/workflows.cts';

// What becomes of a parked wait when something else is taken away: its sub-workflows, its credential,
// its run, its key, its own execution. All wait at the same time, since each takes minutes.
jest.setTimeout(480_000);

const [REVOKED, DELETED] = ['revokedKey000001', 'deletedKey000001'] as const;

/** A run that has finished when the first look is due. */
const row = (text: string) => ({ agent: 3, values: { seconds: 40, text } });

function parkedWorkflow(id: string, key?: string, more: Partial<INode> = {}) {
	const node = agentNode('Run', { ...createForRow, options: { pollInterval: 65 } }, more);
	if (key) node.credentials = { agentInvocationApi: { id: key, name: key } };
	return rowsWorkflow(id, node);
}

const workflows = [
	parkedWorkflow('killedInPoll'),
	parkedWorkflow('watcherStopped'),
	parkedWorkflow('keeperStopped'),
	parkedWorkflow('keeperStoppedToo', undefined, { onError: 'continueErrorOutput' }),
	parkedWorkflow('stopped'),
	parkedWorkflow('vanished'),
	parkedWorkflow('revoked', REVOKED),
	parkedWorkflow('deleted', DELETED),
	parkedWorkflow('deletedToo', DELETED, { onError: 'continueErrorOutput' }),
];

let host: TestHost;
const ids: Record<string, string> = {};
/** An execution and its sub-workflows, newest first, and when it was begun. */
let waiting: ListedExecution[];
let beganOn: number;

beforeAll(async () => {
	host = await TestHost.start('n8n-2', workflows, { keys: [REVOKED, DELETED] });
	const { n8n, sandbox } = host;
	beganOn = Date.now();
	await begin('watcherStopped');
	waiting = await n8n.executions('watcherStopped');
	for (const { id } of workflows.slice(2)) await begin(id);

	await n8n.stopExecution(ids.stopped!);
	await n8n.stopExecution(await subExecution('watcherStopped', 'watcher'));
	await n8n.stopExecution(await subExecution('keeperStopped', 'keeper'));
	await n8n.stopExecution(await subExecution('keeperStoppedToo', 'keeper'));
	sandbox.runs.forget(runIdOf('vanished'));
	sandbox.settings.apiKeys = sandbox.settings.apiKeys.filter((key) => key !== REVOKED);
	await n8n.rest('DELETE', `/credentials/${DELETED}`);

	// n8n is killed while the look at this run hangs; the others have had theirs by then.
	await new Promise((resolve) => setTimeout(resolve, 10_000));
	await begin('killedInPoll');
	const path = runIdOf('killedInPoll');
	sandbox.faults.add({ kind: 'stall', path, delayMs: 60_000 });
	await until(() => sandbox.requests.some(({ url }) => url.endsWith(path)), 120_000);
	await n8n.kill('SIGKILL');
	await n8n.start();

	// The times at which those that are left wake up by themselves.
	host.makeDue(await subExecution('watcherStopped', 'keeper'));
	host.makeDue(ids.keeperStopped!);
	host.makeDue(ids.keeperStoppedToo!);
	await wakeUntilSure('killedInPoll');
}, 900_000);

afterAll(async () => await host?.stop());

async function begin(workflowId: string): Promise<void> {
	const id = await host.begin(workflowId, [row(workflowId)]);
	ids[workflowId] = id;
	await host.untilParked(id);
}

/** The keeper is started by the node, the watcher by the keeper, so its ID is the larger one. */
async function subExecution(workflowId: string, which: 'keeper' | 'watcher'): Promise<string> {
	const executions = await host.n8n.executions(workflowId);
	const ids = executions.filter(({ mode }) => mode === 'integrated').map(({ id }) => Number(id));
	return String(which === 'keeper' ? Math.min(...ids) : Math.max(...ids));
}

/** At its first check, a keeper may not know yet that its watcher was killed, and checks again soon. */
async function wakeUntilSure(workflowId: string): Promise<void> {
	const keeper = await subExecution(workflowId, 'keeper');
	host.makeDue(keeper);
	let checksInS = 0;
	await until(async () => {
		const executions = await host.n8n.executions(workflowId);
		const waiting = executions.find(({ id, status }) => id === keeper && status === 'waiting');
		checksInS = waiting ? inSeconds(waiting, Date.now()) : 0;
		return checksInS > 60;
	}, 120_000);
	if (checksInS <= 300) host.makeDue(keeper);
}

/** When an execution wakes up, in s after a date. */
function inSeconds({ waitTill }: ListedExecution, date: number): number {
	return (Date.parse(waitTill ?? '') - date) / 1_000;
}

function runIdOf(text: string): string {
	const runs = host.sandbox.runs.all.filter(({ bindings }) => bindings.text === text);
	expect(runs).toHaveLength(1);
	return runs[0]!.runId;
}

function looksAt(text: string): number {
	const runId = host.sandbox.runs.all.find(({ bindings }) => bindings.text === text)?.runId;
	return host.sandbox.requests.filter(({ url }) => url.endsWith(runId!)).length;
}

async function endOf(workflowId: string): Promise<StoredExecution> {
	return await host.n8n.endOf(ids[workflowId]!, 300_000);
}

test('whatever waits wakes up by itself some time', () => {
	const [watcher, keeper, node] = waiting.map((one) => inSeconds(one, beganOn));
	const between = (value: number | undefined, least: number) => {
		expect(value).toBeGreaterThan(least);
		expect(value).toBeLessThan(least + 30);
	};
	between(watcher, 65);
	between(keeper, 1_800);
	between(node, 3_600 + 30 * 86_400);
});

test('n8n killed inside a look: the result is there all the same', async () => {
	const execution = await endOf('killedInPoll');
	expect(execution.status).toBe('success');
	expect(jsonOf(execution, 'Good')).toMatchObject([
		{ status: 'succeeded', output: 'killedInPoll' },
	]);
	runIdOf('killedInPoll');
});

test('the sub-workflow that looks at the runs stopped by hand: the result is there all the same', async () => {
	const execution = await endOf('watcherStopped');
	expect(execution.status).toBe('success');
	expect(jsonOf(execution, 'Good')).toMatchObject([{ output: 'watcherStopped' }]);
});

test('the sub-workflow that is waited for stopped by hand: the execution ends and names the run', async () => {
	const known = (runId: string) => ({
		error: `Waiting for run ${runId} of agent 3 was interrupted`,
		details: { agent_id: 3, run_id: runId, status: 'pending' },
	});
	const execution = await endOf('keeperStopped');
	expect(jsonOf(execution, 'Good')).toEqual([known(runIdOf('keeperStopped'))]);
	const separated = await endOf('keeperStoppedToo');
	expect(jsonOf(separated, 'Good')).toEqual([]);
	expect(jsonOf(separated, 'Bad')).toMatchObject([
		{ row: row('keeperStoppedToo'), ...known(runIdOf('keeperStoppedToo')) },
	]);
});

test('a parked execution that is stopped: its run is not looked at, and nothing stays scheduled', async () => {
	await until(async () => (await host.n8n.executions('stopped')).length === 1, 120_000);
	expect(await host.n8n.executions('stopped')).toMatchObject([{ status: 'canceled' }]);
	expect(looksAt('stopped')).toBe(0);
	const stopped = await host.n8n.execution(ids.stopped!);
	expect(jsonOf(stopped, 'Run')).toMatchObject([{ run_id: runIdOf('stopped') }]);
});

test('a run that vanished ends the wait and is named', async () => {
	const { status, data } = await endOf('vanished');
	expect(status).toBe('error');
	expect(data.resultData.error?.message).toMatch(/The service has no run [0-9a-f-]{36} of agent 3/);
	expect(data.resultData.error?.description).toContain('run_not_found');
});

test('a key that was revoked ends the wait and names the run', async () => {
	const { status, data } = await endOf('revoked');
	expect(status).toBe('error');
	expect(data.resultData.error?.message).toBe(
		`The service does not accept the API key (run ${runIdOf('revoked')})`,
	);
});

test('a credential that was deleted ends the wait and names the run', async () => {
	const { status, data } = await endOf('deleted');
	expect(status).toBe('error');
	expect(data.resultData.error?.message).toContain(runIdOf('deleted'));
	const separated = await endOf('deletedToo');
	expect(jsonOf(separated, 'Bad')).toMatchObject([
		{ error: expect.stringContaining(runIdOf('deletedToo')) as string },
	]);
});
