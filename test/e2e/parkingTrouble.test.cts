import type { INode } from 'n8n-workflow';

import type { StoredExecution } from '../../hosts/n8n.cts';
import { jsonOf, TestHost } from '../support/host.cts';
import { agentNode, createForRow, rowsWorkflow } from '../support/workflows.cts';

// What becomes of a parked wait when something else is taken away: its credential, its run, its key, its own
// execution. All wait at the same time, since each takes minutes.
jest.setTimeout(480_000);

const [REVOKED, DELETED] = ['revokedKey000001', 'deletedKey000001'] as const;

/** A run that has finished when the first poll is due. */
const row = (text: string) => ({ agent: 3, values: { seconds: 40, text } });

function parkedWorkflow(id: string, key?: string, more: Partial<INode> = {}) {
	const node = agentNode('Run', { ...createForRow, options: { pollInterval: 65 } }, more);
	if (key) node.credentials = { agentInvocationApi: { id: key, name: key } };
	return rowsWorkflow(id, node);
}

const workflows = [
	parkedWorkflow('stopped'),
	parkedWorkflow('vanished'),
	parkedWorkflow('revoked', REVOKED),
	parkedWorkflow('deleted', DELETED),
	parkedWorkflow('deletedToo', DELETED, { onError: 'continueErrorOutput' }),
];

let host: TestHost;
const ids: Record<string, string> = {};

beforeAll(async () => {
	host = await TestHost.start('n8n-2', workflows, { keys: [REVOKED, DELETED] });
	const { n8n, sandbox } = host;
	for (const { id } of workflows) await begin(id);

	await n8n.stopExecution(ids.stopped!);
	sandbox.runs.forget(runIdOf('vanished'));
	sandbox.settings.apiKeys = sandbox.settings.apiKeys.filter((key) => key !== REVOKED);
	await n8n.rest('DELETE', `/credentials/${DELETED}`);
	for (const { id } of workflows.slice(1)) await endOf(id);
}, 900_000);

afterAll(async () => await host?.stop());

async function begin(workflowId: string): Promise<void> {
	const id = await host.begin(workflowId, [row(workflowId)]);
	ids[workflowId] = id;
	await host.untilParked(id);
}

function runIdOf(text: string): string {
	const runs = host.sandbox.runs.all.filter(({ bindings }) => bindings.text === text);
	expect(runs).toHaveLength(1);
	return runs[0]!.runId;
}

function pollsOf(text: string): number {
	const runId = host.sandbox.runs.all.find(({ bindings }) => bindings.text === text)?.runId;
	return host.sandbox.requests.filter(({ url }) => url.endsWith(runId!)).length;
}

async function endOf(workflowId: string): Promise<StoredExecution> {
	return await host.n8n.endOf(ids[workflowId]!, 300_000);
}

test('a parked execution that is stopped: its run is not polled any more', async () => {
	expect(await host.n8n.executions('stopped')).toMatchObject([{ status: 'canceled' }]);
	expect(pollsOf('stopped')).toBe(0);
});

test('a run that vanished ends the wait and is named', async () => {
	const { status, data } = await endOf('vanished');
	expect(status).toBe('error');
	expect(data.resultData.error?.message).toMatch(
		/The run was not found \(run [0-9a-f-]{36} of agent 3\)/,
	);
	expect(data.resultData.error?.description).toContain('run_not_found');
});

test('a key that was revoked ends the wait and names the run', async () => {
	const { status, data } = await endOf('revoked');
	expect(status).toBe('error');
	expect(data.resultData.error?.message).toBe(
		`The service does not accept the API key (run ${runIdOf('revoked')} of agent 3)`,
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

test('an error after parking, then Retry: the same run', async () => {
	host.sandbox.settings.apiKeys.push(REVOKED);
	const retried = await host.n8n.endOf(await host.n8n.retry(ids.revoked!), 300_000);
	expect(jsonOf(retried, 'Good')).toMatchObject([{ output: 'revoked' }]);
	runIdOf('revoked');
});
