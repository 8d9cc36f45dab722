import { engineObstacle, pauseObstacle } from '../../nodes/AgentInvocation/parking/obstacles.ts';
import { contextOf, type Told } from '../support/simulation/fakeContext.cts';

const HOUR = 3_600_000;

test('a host that can be asked for a pause has no obstacle', async () => {
	expect(await engineObstacle(contextOf({}), true)).toBeUndefined();
	expect(await pauseObstacle(contextOf({}), false, HOUR)).toBeUndefined();
});

describe('the engine cannot be asked', () => {
	test.each<[string, Told, RegExp]>([
		['by a tool', { node: { type: 'agentInvocationTool' } }, /tool of an AI Agent/],
		[
			"in an agent's entry",
			{ entry: { node: { name: 'AI Agent' } as never } },
			/tool of an AI Agent/,
		],
		['in the old order', { settings: { executionOrder: 'v0' } }, /execution order v0/],
		[
			'without an order',
			{ settings: { executionOrder: undefined as never } },
			/execution order v0/,
		],
		['by a first node', { entry: { source: null } }, /no node comes before/],
		['by a node with no source', { entry: { source: { main: [null] } } }, /no node comes before/],
		['by one with another source', { entry: { source: { ai_tool: [] } } }, /no node comes before/],
		['in what is not stored', { executionId: undefined }, /does not store/],
	])('%s', async (_, told, why) => {
		expect(await engineObstacle(contextOf(told), true)).toMatch(why);
	});

	test('where the host passes no responses', async () => {
		expect(await engineObstacle(contextOf({}), false)).toMatch(/too old/);
	});

	test.each([
		['0.9.0', false],
		['1.120.0', true],
		['2.41.0', true],
		['3.0.0', false],
	])('of n8n %s: %s', async (version, isTried) => {
		jest.resetModules();
		jest.doMock('n8n-workflow/package.json', () => ({ version }));
		const anew = await import('../../nodes/AgentInvocation/parking/obstacles.ts');
		const obstacle = await anew.engineObstacle(contextOf({}), true);
		jest.dontMock('n8n-workflow/package.json');
		expect(obstacle ?? 'none').toMatch(isTried ? /^none$/ : /not tried/);
	});
});

describe('somebody waits', () => {
	const trigger = (type: string, parameters?: Record<string, unknown>): Told => ({
		before: [
			{ type: 'set' },
			{ type: `n8n-nodes-base.${type}`, ...(parameters && { parameters: parameters as never }) },
		],
	});
	const responder = { below: [{ type: 'set' }, { type: 'n8n-nodes-base.respondToWebhook' }] };
	const obstacle = async (told: Told) => await pauseObstacle(contextOf(told), false, HOUR);

	test.each<[string, Told]>([
		['a webhook answered by the last node', trigger('webhook', { responseMode: 'lastNode' })],
		['one that streams', trigger('webhook', { responseMode: 'streaming' })],
		['a chat', trigger('chatTrigger')],
		['a chat in its options', trigger('chatTrigger', { options: { responseMode: 'lastNode' } })],
		[
			'a webhook answered by a node below',
			{ ...trigger('webhook', { responseMode: 'responseNode' }), ...responder },
		],
	])('behind %s', async (_, told) => {
		expect(await obstacle(told)).toMatch(/answered with its result/);
	});

	test.each<[string, Told]>([
		['a webhook that has been answered', trigger('webhook', { responseMode: 'onReceived' })],
		['a webhook without a mode', trigger('webhook', {})],
		[
			'a chat answered at once',
			trigger('chatTrigger', { options: { responseMode: 'onReceived' } }),
		],
		[
			'a node that was to answer, and is not below',
			{ ...trigger('webhook', { responseMode: 'responseNode' }), below: [{ type: 'set' }] },
		],
		['an answering node below a schedule', { ...trigger('scheduleTrigger', {}), ...responder }],
	])('not behind %s', async (_, told) => {
		expect(await obstacle(told)).toBeUndefined();
	});

	test.each(['manual', 'trigger', 'webhook', 'retry', 'error'] as const)(
		'not in the mode %s',
		async (mode) => expect(await obstacle({ mode })).toBeUndefined(),
	);

	test.each(['internal', 'cli', 'evaluation', 'chat'] as const)('in the mode %s', async (mode) => {
		expect(await obstacle({ mode })).toMatch(/whoever started this workflow waits/);
	});
});

describe('a called workflow', () => {
	const items = (count: number) => ({
		data: { main: [Array.from({ length: count }, () => ({}))] },
	});
	const first = (count: number) => ({
		resultData: { runData: { A: [{ executionIndex: 0, ...items(count) }] } },
	});
	const begun = { resultData: { runData: {} } };
	const obstacle = async (stored: object | Error, hasPaused = false) =>
		await pauseObstacle(contextOf({ mode: 'integrated', stored }), hasPaused, HOUR);

	test.each<[string, object | Error]>([
		['with one item', first(1)],
		['with none', begun],
		[
			'with one that is still to be given',
			{ ...begun, executionData: { nodeExecutionStack: [items(1)] } },
		],
		['whose execution is not told', new Error('not found')],
		[
			'with one item, of which a later node makes two',
			{
				resultData: {
					runData: { B: [{ executionIndex: 1, ...items(2) }], ...first(1).resultData.runData },
				},
			},
		],
		['by one that waits', { ...first(1), parentExecution: { shouldResume: true } }],
	])('%s may have been called for each', async (_, stored) => {
		expect(await obstacle(stored)).toMatch(/once for each item/);
	});

	test.each<[string, object]>([
		['with two items', first(2)],
		[
			'with two that are still to be given',
			{ ...begun, executionData: { nodeExecutionStack: [items(2)] } },
		],
		['that nobody waits for', { ...first(1), parentExecution: { shouldResume: false } }],
	])('%s was surely not', async (_, stored) => {
		expect(await obstacle(stored)).toBeUndefined();
	});

	test('that has paused already is not waited for', async () => {
		expect(await obstacle(first(1), true)).toBeUndefined();
	});

	test('is asked for only where there is one', async () => {
		const told = { stored: first(1), mode: 'trigger' } as const;
		expect(await pauseObstacle(contextOf(told), false, HOUR)).toBeUndefined();
	});
});

test("a pause needs 130 s until the workflow's own timeout", async () => {
	expect(await pauseObstacle(contextOf({}), false, 129_999)).toMatch(/own timeout is near/);
	expect(await pauseObstacle(contextOf({}), false, 130_000)).toBeUndefined();
});
