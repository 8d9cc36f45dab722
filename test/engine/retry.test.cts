import { backoffRange } from '../../nodes/AgentInvocation/service/retryPolicy.ts';
import { createRun, creates, jsonOf, run, useSandbox } from '../support/sandboxed.cts';

const sandbox = useSandbox();
beforeEach(() => void jest.replaceProperty(backoffRange, 'first', 20));
afterEach(() => jest.restoreAllMocks());

const retrying = { retryOnFail: true, maxTries: 3, waitBetweenTries: 10 };
const revoked = {
	kind: 'answer' as const,
	method: 'GET' as const,
	status: 401,
	body: { error: { code: 'invalid_api_key', message: '', request_id: 'r' } },
};

test('a retry after a failed poll waits for the run that was already started', async () => {
	sandbox.current.faults.add(revoked);
	const { output } = await run(sandbox.current, createRun(3, { seconds: 0.5 }), { node: retrying });
	expect(jsonOf(output)).toMatchObject([{ status: 'succeeded' }]);
	expect(creates(sandbox.current)).toHaveLength(1);
});

test('a retry starts no run again for the items that had theirs, finished or not', async () => {
	sandbox.current.faults.add({ ...revoked, times: 1 });
	const seconds = [0.1, 1, 2, 0.2, 0.3];
	const { output } = await run(
		sandbox.current,
		createRun(3, '={{ JSON.stringify({ seconds: $json.s, text: $json.s }) }}', {
			options: { maxConcurrency: 2 },
		}),
		{ items: seconds.map((s) => ({ s })), node: retrying },
	);
	expect(jsonOf(output).map((json) => json.output)).toEqual(seconds.map(String));
	expect(creates(sandbox.current)).toHaveLength(seconds.length);
});

test('a retry after the time limit goes on waiting for the same run', async () => {
	const parameters = createRun(3, { seconds: 2 }, { options: { timeout: 1 } });
	const { output } = await run(sandbox.current, parameters, { node: retrying });
	expect(jsonOf(output)).toMatchObject([{ status: 'succeeded' }]);
	expect(creates(sandbox.current)).toHaveLength(1);
});

test('a run that failed is started again', async () => {
	await run(sandbox.current, createRun(3, { seconds: 0.1, status: 'failed' }), { node: retrying });
	expect(creates(sandbox.current)).toHaveLength(3);
});

test('a create whose connection was killed is not sent again by a retry either', async () => {
	sandbox.current.faults.add({ method: 'POST', kind: 'reset', carriedOut: true });
	const { error } = await run(sandbox.current, createRun(3), { node: retrying });
	expect(creates(sandbox.current)).toHaveLength(1);
	expect(error!.message).toContain('An earlier attempt may have started a run of agent 3');
});

test('a create that surely started nothing is sent again by a retry', async () => {
	sandbox.current.faults.add({
		method: 'POST',
		kind: 'answer',
		status: 400,
		body: { error: { code: 'agent_configuration_invalid', message: '', request_id: 'r' } },
	});
	const { output } = await run(sandbox.current, createRun(3, { seconds: 0.1 }), { node: retrying });
	expect(output).toHaveLength(1);
	expect(sandbox.current.runs.all).toHaveLength(1);
});

test('without waiting, a retry gives the run that was already started', async () => {
	const { output } = await run(
		sandbox.current,
		createRun('={{ $json.agent }}', {}, { waitForCompletion: false }),
		{
			items: [{ agent: 1 }, { agent: 4_711 }],
			node: { ...retrying, onError: 'continueRegularOutput' },
		},
	);
	expect(jsonOf(output)).toMatchObject([{ agent_id: 1 }, { error: expect.any(String) as string }]);
	expect(sandbox.current.runs.all).toHaveLength(1);
});

test('a continued first item makes n8n try again, which starts no other run twice', async () => {
	await run(sandbox.current, createRun('={{ $json.agent }}', '{}'), {
		items: [{ agent: 4_711 }, { agent: 7 }, { agent: 8 }],
		node: { ...retrying, onError: 'continueRegularOutput' },
	});
	expect(sandbox.current.runs.all).toHaveLength(2);
});

test('a run that the service does not know yet is not taken for one that is gone', async () => {
	sandbox.with({ notFoundMs: 1_500 });
	sandbox.current.faults.add(revoked);
	const { output } = await run(sandbox.current, createRun(3, { seconds: 0.1 }), { node: retrying });
	expect(jsonOf(output)).toMatchObject([{ status: 'succeeded' }]);
	expect(creates(sandbox.current)).toHaveLength(1);
});

test('an answer that does not name the run is not about it', async () => {
	sandbox.current.faults.add(revoked);
	sandbox.current.faults.add({ ...revoked, status: 200, body: { status: 'failed' } });
	const node = { ...retrying, maxTries: 2 };
	const { output } = await run(sandbox.current, createRun(3, { seconds: 0.1 }), { node });
	const { runId } = sandbox.current.runs.all[0]!;
	expect(jsonOf(output)).toMatchObject([{ status: 'succeeded', run_id: runId }]);
});

test('the memory is empty once the node has succeeded', async () => {
	const { run: execution } = await run(sandbox.current, createRun(3, { seconds: 0.1 }), {
		items: [{}, {}, {}],
	});
	expect(execution.data.executionData?.contextData).toEqual({ 'node:Agent Invocation': {} });
});
