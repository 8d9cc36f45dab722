import type { IExecuteData, INode } from 'n8n-workflow';

import {
	readAction,
	removeTraces,
	requestSuspension,
	suspend,
	sourceOf,
} from '../../nodes/AgentInvocation/engine/suspend.ts';
import { contextOf, type Told } from '../support/simulation/world/context.cts';

const UNTIL = Date.UTC(2026, 0, 1);
const source = [{ previousNode: 'If', previousNodeOutput: 1 }];

/** The entry in which the engine runs the node as its own action, with the input that it was asked for. */
function entryOf(json: unknown, node: Partial<INode> = { rewireOutputLogTo: 'main' }) {
	const items = [{ json: json as never }];
	const entry = {
		node: { name: 'Run', type: 'agentInvocation', retryOnFail: true, ...node } as INode,
		source: { main: [{ previousNode: 'Run' }] },
		data: { main: [items], other: [] },
		metadata: {},
	} as unknown as IExecuteData;
	const resumesOn: Date[] = [];
	const putToWait = (until: Date) => void resumesOn.push(until);
	return { entry, items, putToWait, resumesOn } satisfies Told & { resumesOn: Date[] };
}

const inputOf = (action: Parameters<typeof requestSuspension>[1]) =>
	requestSuspension(contextOf({}), action).actions[0]?.input;

test('the engine is asked to run this node once more, and what it is to do comes back to it', () => {
	const action = { until: UNTIL, runs: 3, source };
	const request = requestSuspension(contextOf({ node: { name: 'Mine' } }), action);
	expect(request.actions).toMatchObject([
		{ actionType: 'ExecutionNodeAction', nodeName: 'Mine', type: 'main', metadata: {} },
	]);
	expect(request.metadata).toEqual({});
	expect(readAction(contextOf(entryOf(request.actions[0]?.input)))).toEqual(action);
});

test('the error of an execution that n8n retries is not left for the node to go on with', () => {
	const held = { resultData: { runData: {}, error: new Error('The execution was cancelled') } };
	requestSuspension(contextOf({ held }), { until: UNTIL, runs: 3, source });
	expect(held.resultData).toEqual({ runData: {} });
});

describe('a pass of the node is no action', () => {
	const input = inputOf({ until: UNTIL, runs: 1, source });

	test.each([
		['where the engine has not asked for it', entryOf(input, {})],
		['with an item of its own', entryOf({ until: UNTIL })],
		['with a mark of another making', entryOf({ agentInvocationSuspension: 'x' })],
		['with one that lacks the runs', entryOf({ agentInvocationSuspension: { until: UNTIL } })],
		['without items', { ...entryOf({}), items: [] }],
	])('%s', (_, told) => {
		expect(readAction(contextOf(told))).toBeUndefined();
	});

	test('whose date is none is a checkpoint', () => {
		const action = readAction(
			contextOf(entryOf({ agentInvocationSuspension: { runs: 1, until: 'x' } })),
		);
		expect(action).toEqual({ runs: 1 });
	});
});

describe('the pause', () => {
	test('puts the execution to wait, and shows for how many runs and until when', async () => {
		const told = entryOf({});
		const output = await suspend(contextOf(told), { until: UNTIL, runs: 3, source });
		expect(told.resumesOn).toEqual([new Date(UNTIL)]);
		const json = { waiting_for_runs: 3, next_poll_at: '2026-01-01T00:00:00.000Z' };
		expect(output).toEqual([[{ json }]]);
	});

	test('as a checkpoint waits for nothing and shows nothing', async () => {
		const told = entryOf({});
		expect(await suspend(contextOf(told), { runs: 3, source })).toEqual([[]]);
		expect(told.resumesOn).toEqual([]);
	});

	test('leaves no input, so that n8n passes over it on resume', async () => {
		const { entry, ...told } = entryOf({});
		await suspend(contextOf({ ...told, entry }), { until: UNTIL, runs: 1, source });
		expect(entry.data).toEqual({ main: [null], other: [] });
	});

	test('puts the entry back before n8n does, and one of no node, over both of which n8n passes', async () => {
		const { entry, ...told } = entryOf({});
		const next = {};
		const stack: unknown[] = [next];
		const held = { executionData: { nodeExecutionStack: stack } };
		await suspend(contextOf({ ...told, entry, held }), { until: UNTIL, runs: 1, source });
		expect(stack[0]).toBe(entry);
		expect(stack.slice(1)).toEqual([
			{
				...entry,
				node: {
					...entry.node,
					name: "Run, which waits: choose 'Retry with original workflow'",
					disabled: true,
				},
				metadata: { nodeWasResumed: true },
			},
			next,
		]);
		// The one that n8n puts there itself is the node's.
		expect(entry).toMatchObject({ node: { name: 'Run' }, metadata: {} });
	});

	test('puts back nothing where the host holds no stack', async () => {
		const output = suspend(contextOf({ ...entryOf({}), held: {} }), {
			until: UNTIL,
			runs: 1,
			source,
		});
		await expect(output).resolves.toHaveLength(1);
	});

	test('as a checkpoint leaves nothing to go on with but the node itself', async () => {
		const stack = [{}];
		const held = { executionData: { nodeExecutionStack: stack } };
		await suspend(contextOf({ ...entryOf({}), held }), { runs: 1, source });
		expect(stack).toHaveLength(1);
	});

	test('takes the mark from the node that all entries share, and switches off a copy of it', async () => {
		const { entry, ...told } = entryOf({});
		const { node } = entry;
		await suspend(contextOf({ ...told, entry }), { until: UNTIL, runs: 1, source });
		expect(node).toEqual({ name: 'Run', type: 'agentInvocation', retryOnFail: true });
		expect(entry.node).not.toBe(node);
		expect(entry.node).toMatchObject({
			name: 'Run',
			alwaysOutputData: false,
			executeOnce: false,
			retryOnFail: false,
		});
	});
});

describe('where the input comes from', () => {
	test('is kept as a copy', () => {
		const entry = { source: { main: source } };
		const kept = sourceOf(contextOf({ entry }));
		expect(kept).toEqual(source);
		expect(kept).not.toBe(source);
		expect((kept as unknown[])[0]).not.toBe(source[0]);
	});

	test.each([undefined, null])('is nothing where the host says %s', (none) => {
		expect(sourceOf(contextOf({ entry: { source: none as never } }))).toBeNull();
	});

	test('is put back in the array that the engine holds', async () => {
		const { entry, ...told } = entryOf({});
		const held = entry.source!.main!;
		await suspend(contextOf({ ...told, entry }), { runs: 1, source });
		expect(held).toEqual(source);
		expect(entry.source!.main).toBe(held);
	});

	test('stays as it is where none was kept', () => {
		const { entry } = entryOf({});
		removeTraces(contextOf({ entry }), null);
		expect(entry.source).toEqual({ main: [{ previousNode: 'Run' }] });
		const none = { ...entry, source: null };
		removeTraces(contextOf({ entry: none }), source);
		expect(none.source).toBeNull();
	});
});

test('after a rest its traces are gone, and nothing else is', () => {
	const { entry } = entryOf({});
	entry.metadata = { nodeWasResumed: true, subNodeExecutionData: {} as never, subRun: [] };
	removeTraces(contextOf({ entry }), source);
	expect(entry.metadata).toEqual({ subRun: [] });
	expect(entry.source).toEqual({ main: source });
	delete entry.metadata;
	expect(() => removeTraces(contextOf({ entry }), source)).not.toThrow();
});

test.each([
	['of the action', 0, ['a rest', 'another']],
	['of the actions after those of earlier turns', 1, ['a rest']],
	['none', 2, []],
])('after a rest the run data has no entry of it: %s', (_, runIndex, gone) => {
	const others = ['of another node'];
	const run = ['an earlier turn', 'a rest', 'another'].slice(0, runIndex);
	const held = { resultData: { runData: { Run: [...run, ...gone], Other: others } } };
	removeTraces(contextOf({ held, runIndex }), null);
	expect(held.resultData.runData).toEqual({ Run: run, Other: others });
});

test('after a rest nothing is removed where the node has no run data', () => {
	const held = { resultData: { runData: {} } };
	removeTraces(contextOf({ held }), null);
	expect(held.resultData.runData).toEqual({});
});
