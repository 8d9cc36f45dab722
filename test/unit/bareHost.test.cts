import { getEventListeners } from 'node:events';

import type { EngineRequest, IDataObject, IExecuteData, NodeExecutionHint } from 'n8n-workflow';

import { AgentInvocation } from '../../nodes/AgentInvocation/AgentInvocation.node.ts';
import { contextOf, type Told } from '../support/simulation/world/context.cts';
import { settle } from '../support/virtualTime.cts';

// The node as a host calls it that is not as n8n is today: without an engine, and with what a world has not.
beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const RUN_ID = '11111111-2222-4333-8444-555555555555';
const OUTPUT = { run_id: RUN_ID, status: 'succeeded', output: 'Done.' };
const response = { actionResponses: [], metadata: {} } as never;

/** Executes it; gives what it output or threw, and how many requests it has sent. */
async function run({ parameters, ...told }: Told = {}, given?: never) {
	let sent = 0;
	const hints: NodeExecutionHint[] = [];
	const context = contextOf({
		credential: () => Promise.resolve({ baseUrl: 'https://bare.example.com', apiKey: 'key' }),
		parameters: {
			resource: 'run',
			operation: 'create',
			agentId: 1,
			specifyParameters: 'json',
			parametersJson: '{}',
			...parameters,
		},
		request() {
			const body = JSON.stringify(sent++ > 0 ? OUTPUT : { run_id: RUN_ID });
			return Promise.resolve({ statusCode: 200, headers: {}, body });
		},
		hint: (hint) => hints.push(hint),
		...told,
	});
	const executing = new AgentInvocation().execute.call(context, given);
	const output = await settle(executing).catch((thrown: Error) => thrown);
	return { output, hints, sent, json: Array.isArray(output) ? output[0]![0]?.json : undefined };
}

describe('what another version of the package has noted', () => {
	test.each([
		[{ format: 2, byRunIndex: { 0: { items: [{ run_id: 'a' }, { runId: 'b' }] } } }, /a, b/],
		[
			{ format: 1, byRunIndex: 'c' },
			/cannot be read\. Execute the workflow again to start runs\.$/,
		],
		['text', /cannot be read/],
		[0, /cannot be read/],
	])('%j starts nothing, and its runs are named', async (agentInvocation, says) => {
		const kept = () => ({ agentInvocation }) as IDataObject;
		const { output, sent } = await run({ kept: kept() });
		const message = expect.stringMatching(/^Another version of this package/) as string;
		expect(output).toMatchObject({
			message,
			description: expect.stringMatching(says) as string,
		});
		expect(sent).toBe(0);
		const items = [{ json: {} }, { json: {} }];
		const node = { onError: 'continueRegularOutput' } as const;
		const continued = await run({ kept: kept(), items, node });
		expect(continued.output).toMatchObject([
			[{ json: { error: message } }, { json: { error: message } }],
		]);
	});
});

test('a hint goes to the output panel, and nothing is left at the signal of the execution', async () => {
	const { signal: cancel } = new AbortController();
	const settings = { executionTimeout: 600 };
	const parameters = { options: { pollInterval: 100 } };
	const entry = { source: null };
	const { json, hints } = await run({ parameters, cancel, settings, entry });
	expect(json).toMatchObject(OUTPUT);
	expect(hints).toEqual([
		{ message: expect.stringContaining('too old') as string, location: 'outputPane' },
	]);
	expect(getEventListeners(cancel, 'abort')).toEqual([]);
});

test('a run that was only to be got cannot have been started, whatever n8n has stored', async () => {
	let status = 'running';
	const request = () => {
		const body = JSON.stringify({ ...OUTPUT, status });
		return Promise.resolve({ statusCode: 200, headers: {}, body });
	};
	const options = { pollInterval: 65 };
	const parameters = { operation: 'get', runId: RUN_ID, waitForCompletion: true, options };
	const told = { kept: {}, parameters, request };
	expect((await run(told, response)).output).toHaveProperty('actions');
	jest.advanceTimersByTime(1_000_000);
	status = 'succeeded';
	// The second item stands for one that had not begun by then.
	const items = [{ json: {} }, { json: {} }];
	const { output } = await run({ ...told, items, executionId: '2' }, response);
	expect(output).toMatchObject([[{ json: OUTPUT }, { json: OUTPUT }]]);
});

describe('the action of a suspension', () => {
	const entry = () =>
		({ node: { name: 'Run', rewireOutputLogTo: 'main' }, source: null }) as never as IExecuteData;
	const marked = (agentInvocationSuspension: unknown): Told => ({
		entry: entry(),
		items: [{ json: { agentInvocationSuspension } as IDataObject }],
	});

	test.each<[string, Told]>([
		['that the engine has not asked for', { ...marked({ runs: 1 }), entry: {} }],
		['without a mark', { ...marked(undefined), items: [{ json: { resumesOn: 1 } }] }],
		['with a mark of another making', marked('x')],
		['with one that lacks the runs', marked({ resumesOn: 1 })],
	])('%s is none: the node works', async (_, told) => {
		expect((await run(told)).json).toMatchObject(OUTPUT);
	});

	test('without items is none', async () => {
		expect((await run({ entry: entry(), items: [] })).output).toEqual([[]]);
	});

	test('whose date is none waits for nothing', async () => {
		const putToWait = jest.fn();
		const { output, sent } = await run({ ...marked({ runs: 1, resumesOn: 'x' }), putToWait });
		expect([output, sent, putToWait.mock.calls]).toEqual([[[]], 0, []]);
	});

	test('leaves entries over which n8n passes, and the node of all entries as it was', async () => {
		const node = { name: 'Run', rewireOutputLogTo: 'main', retryOnFail: true };
		const own = { node, metadata: {} } as never as IExecuteData;
		const [stack, next]: [unknown[], object] = [[], {}];
		stack.push(next);
		const held = { executionData: { nodeExecutionStack: stack } };
		await run({ ...marked({ runs: 1, resumesOn: 1 }), entry: own, held });
		expect(node).toEqual({ name: 'Run', retryOnFail: true });
		const off = { alwaysOutputData: false, executeOnce: false, retryOnFail: false };
		expect(own).toMatchObject({ node: { name: 'Run', ...off }, data: { main: [null] } });
		expect(stack).toEqual([own, expect.anything(), next]);
		expect(stack[1]).toMatchObject({
			node: { name: "Run, which waits: choose 'Retry with original workflow'", disabled: true },
			metadata: { nodeWasResumed: true },
		});
		expect(own.metadata).toEqual({});
	});

	test('is carried out where the host shows little of what it holds', async () => {
		const kept = {};
		const source = { main: [{ previousNode: 'Source' }] };
		const settings = { saveExecutionProgress: false };
		const parameters = { options: { pollInterval: 65 } };
		const told = { kept, entry: { source } as never, settings, parameters };
		const { actions } = (await run(told, response)).output as unknown as EngineRequest;
		expect(actions).toMatchObject([{ actionType: 'ExecutionNodeAction', nodeName: 'Run' }]);
		const items = [{ json: actions[0]!.input }];
		const putToWait = jest.fn();
		const parked = await run({ entry: entry(), items, putToWait, held: {} });
		expect(parked.json).toMatchObject({ waiting_for_runs: 1 });
		expect(putToWait).toHaveBeenCalledTimes(1);
		jest.advanceTimersByTime(65_000);
		const request = () =>
			Promise.resolve({ statusCode: 200, headers: {}, body: JSON.stringify(OUTPUT) });
		expect((await run({ ...told, request }, response)).json).toMatchObject(OUTPUT);
	});
});
