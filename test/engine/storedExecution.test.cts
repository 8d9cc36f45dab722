import type { INode, IRunExecutionData } from 'n8n-workflow';

import {
	execute,
	resume,
	resumeTooEarly,
	retry,
	stoppedAtItsStart,
	type Execution,
	type Outcome,
} from '../support/engine.cts';
import { createRun, jsonOf, useSandbox } from '../support/sandboxed.cts';

// What n8n's Retry makes of an execution that n8n has stored while its runs were waited for.

const sandbox = useSandbox();

/** Starts a run for each of three rows, of which one is to fail. */
function makeExecution(onError: INode['onError'], seconds: number, options = {}): Execution {
	return {
		credential: { baseUrl: sandbox.current.baseUrl, apiKey: 'sandbox-key' },
		parameters: createRun(3, '={{ JSON.stringify($json.values) }}', { options }),
		items: ['succeeded', 'failed', 'succeeded'].map((status, row) => ({
			values: { seconds, status, text: `row ${row}` },
		})),
		node: { onError },
	};
}

/** Starts the runs and waits stored. */
async function park(onError: INode['onError']) {
	const saved: IRunExecutionData[] = [];
	const execution = makeExecution(onError, 600, { whereToWait: 'stored' });
	execution.onProgress = (data) => saved.push(data);
	const { run } = await execute(execution);
	expect(run.status).toBe('waiting');
	return { execution, data: run.data, saved };
}

test.each(['auto', 'stored'])(
	'with a connection from a deleted node, nobody is known to wait, so the wait stays in memory (%s)',
	async (whereToWait) => {
		const options = { whereToWait, pollInterval: 65, timeout: 1 };
		const execution = { ...makeExecution('continueRegularOutput', 600, options), hasGhost: true };
		const { output } = await execute(execution);
		const runs = sandbox.current.runs.all.map(({ runId }) => runId);
		expect(runs).toHaveLength(3);
		for (const [row, { json }] of output.entries()) {
			expect(json.error).toMatch(/^The agent's run failed|has not finished within 1 s/);
			expect(json.details).toMatchObject({ run_id: runs[row] });
		}
	},
);

/** All runs have finished meanwhile. */
async function retryAtTheirEnd(execution: Execution, data: IRunExecutionData): Promise<Outcome> {
	endRuns();
	return await retry(execution, data);
}

function endRuns(): void {
	for (const { script, createdAt } of sandbox.current.runs.all) {
		script.durationMs = Date.now() - createdAt;
	}
}

function expectAllResults({ run, output, errors }: Outcome): void {
	expect(run.status).toBe('success');
	expect(jsonOf(output)).toMatchObject([{ output: 'row 0' }, { output: 'row 2' }]);
	expect(jsonOf(errors)).toMatchObject([
		{ error: expect.stringContaining('failed: row 1') as string },
	]);
	expect(sandbox.current.runs.all).toHaveLength(3);
}

test('one that n8n ended while it waited has all results', async () => {
	const { execution, data } = await park('continueErrorOutput');
	expectAllResults(await retryAtTheirEnd(execution, data));
});

// Before n8n's own start is over: of the data it keeps the nodes to be executed, and no node's output.
describe('one that n8n resumed too early has all results', () => {
	test('where failed items have an output of their own', async () => {
		const { execution, data } = await park('continueErrorOutput');
		const { run } = await resumeTooEarly(execution, data);
		expect(run.data.resultData.error?.message).toContain('OTel');
		expectAllResults(await retryAtTheirEnd(execution, run.data));
	});

	test('and where they have not', async () => {
		const { execution, data } = await park('continueRegularOutput');
		const { run } = await resumeTooEarly(execution, data);
		const { output } = await retryAtTheirEnd(execution, run.data);
		expect(jsonOf(output)).toMatchObject([
			{ output: 'row 0' },
			{ details: { status: 'failed' } },
			{ output: 'row 2' },
		]);
	});
});

test('one that n8n was ended in while it stored it, and had saved progress of, has all results', async () => {
	const { execution, saved } = await park('continueErrorOutput');
	const whileStoring = saved.at(-1)!;
	expect(whileStoring.waitTill).toBeDefined();
	expectAllResults(await retryAtTheirEnd(execution, whileStoring));
});

test('one that was stopped before n8n stored anything begins again', async () => {
	const execution = makeExecution('continueErrorOutput', 0);
	expectAllResults(await retry(execution, stoppedAtItsStart(execution)));
});

describe('the run data has one entry for the node, with all its items and no trace of a rest', () => {
	const expectOneEntry = (outcome: Outcome) => {
		expectAllResults(outcome);
		expect(outcome.run.data.resultData.runData['Agent Invocation']).toHaveLength(1);
		expect(JSON.stringify(outcome.run.data.resultData)).not.toContain('agentInvocationSuspension');
	};

	test('after a checkpoint', async () => {
		const execution = makeExecution('continueErrorOutput', 2, { pollInterval: 1 });
		let saves = 0;
		execution.onProgress = () => saves++;
		expectOneEntry(await execute(execution));
		// After the node before, after the checkpoint, and after the node.
		expect(saves).toBe(3);
	});

	test('after a checkpoint and rests', async () => {
		const { execution, data } = await park('continueErrorOutput');
		const again = await resume(execution, data);
		expect(again.run.status).toBe('waiting');
		endRuns();
		expectOneEntry(await resume(execution, again.run.data));
	});

	// As it is stored, an execution that was stopped while it waited is the same as one that n8n was ended in
	// while it polled.
	test('where the Retry of one that has waited rests, again and again', async () => {
		const { execution, data } = await park('continueErrorOutput');
		const first = await retry(execution, data);
		expect(first.run.status).toBe('waiting');
		const second = await resume(execution, first.run.data, '2');
		expect(second.run.status).toBe('waiting');
		endRuns();
		expectOneEntry(await resume(execution, second.run.data, '2'));
	});
});
