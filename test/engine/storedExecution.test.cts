import type { INode, IRunExecutionData } from 'n8n-workflow';

import {
	execute,
	resumeTooEarly,
	retry,
	stoppedAtItsStart,
	type Execution,
	type Outcome,
} from './engine.cts';
import { createRun, jsonOf, useSandbox } from './sandboxed.cts';

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

/** All runs have finished meanwhile. */
async function retryAtTheirEnd(execution: Execution, data: IRunExecutionData): Promise<Outcome> {
	for (const { script, createdAt } of sandbox.current.runs.all) {
		script.durationMs = Date.now() - createdAt;
	}
	return await retry(execution, data);
}

function expectAllResults({ run, output, errors }: Outcome): void {
	expect(run.status).toBe('success');
	expect(jsonOf(output)).toMatchObject([{ output: 'row 0' }, { output: 'row 2' }]);
	expect(jsonOf(errors)).toMatchObject([{ details: { status: 'failed' } }]);
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

test('one that was stopped before n8n stored anything begins anew', async () => {
	const execution = makeExecution('continueErrorOutput', 0);
	expectAllResults(await retry(execution, stoppedAtItsStart(execution)));
});
