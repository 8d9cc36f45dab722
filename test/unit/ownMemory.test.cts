import { execute, type Said } from '../support/simulation/ownWorld.cts';

// Where n8n keeps nothing for the node, or would share what it keeps among calls, the node works all the same.
const failing = { durationMs: 0, end: 'failed' as const, shown: { error: 'item 0' } };

test('two calls of a tool in the process of its agent start a run each, and each gets its own result', async () => {
	// Calls of an agent of version 2 in one batch: they share run index and context.
	const { calls, world } = await execute({
		host: 'tool',
		turns: 2,
		runOf: () => ({ durationMs: 400_000, shown: {} }),
	});
	expect(world.runs).toHaveLength(2);
	expect(calls).toEqual(
		[0, 1].map((turn) => {
			const { id } = world.runs.find(({ tag }) => tag === `e0t${turn}i0`)!;
			const output = `Result of ${id}`;
			return expect.objectContaining({ run_id: id, status: 'succeeded', output }) as object;
		}),
	);
});

test('two calls whose runs fail fail each by their own', async () => {
	const { attempt, world } = await execute({ host: 'tool', turns: 2, runOf: () => failing });
	expect(world.runs).toHaveLength(2);
	for (const turn of [0, 1]) {
		const { id } = world.runs.find(({ tag }) => tag === `e0t${turn}i0`)!;
		expect(JSON.stringify(attempt.endings.get(turn)?.outputs)).toContain(id);
	}
});

test('a tool that the engine runs has a memory that n8n keeps for its next attempt', async () => {
	const said: Said = { runOf: () => ({ durationMs: 7_000 }), options: { timeout: 5 }, maxTries: 2 };
	const hand = { node: { type: 'agentInvocationTool' } };
	const { world, jsons } = await execute({ ...said, hand });
	expect(jsons).toMatchObject([{ output: '0' }]);
	expect(world.runs).toHaveLength(1);
});

describe('without execution data', () => {
	const bare = (said: Said = {}) => execute({ host: 'bare', ...said });

	test.each<[string, Said, object]>([
		['List', { operation: 'list' }, { id: 1, name: 'Reporter' }],
		['Create a run', {}, { status: 'succeeded', output: '0' }],
		['Create a run, its agent by name', { agentMode: 'name' }, { agent_id: 1, output: '0' }],
		['a dry run', { operation: 'dryRun' }, { prompt: 'of e0t0i0', parameters: {} }],
		['Get a run', { operation: 'get' }, { status: 'succeeded', output: '0' }],
	])('%s works', async (_, said, output) => {
		expect((await bare(said)).jsons).toMatchObject([output]);
	});

	test('an item that fails is output with what is wrong, or ends the node', async () => {
		const runOf = () => failing;
		expect((await bare({ runOf })).error?.message).toContain('item 0');
		const { jsons } = await bare({ runOf, onError: 'continueErrorOutput' });
		expect(jsons).toMatchObject([{ details: { agent_id: 1 } }]);
	});

	test('the list of agents is read once for all items', async () => {
		const { world, items } = await bare({ agentMode: 'name', count: 5 });
		expect(items).toHaveLength(5);
		expect(world.requests.filter(({ kind }) => kind === 'list')).toHaveLength(1);
	});
});
