import { execute, OwnWorld, type Said } from '../support/simulation/ownWorld.cts';
import type { Hand } from '../support/simulation/world/hand.cts';
import type { FaultSpec } from '../support/simulation/world/world.cts';

// What a node says that ends because an item has failed, or because its execution was cancelled.
const SECOND = 1_000;

/** These items name no agent; without waiting, the others are done as soon as they have begun. */
function wrong(items: number[], said: Said = {}): Said {
	const parameters = (item: number) => (items.includes(item) ? { agentId: 'one' } : {});
	return {
		waits: false,
		options: { maxConcurrency: 1 },
		...said,
		hand: { parameters, ...said.hand },
	};
}

const WRONG = "'Agent' is not an agent ID: one";

describe('an item that fails ends the node, and the message', () => {
	const GO_ON =
		"To go on with the other items, set 'On Error' to 'Continue' in this node's settings.";
	const alone = async () => (await execute(wrong([0]))).error;

	test('of an only item says no more than what is wrong', async () => {
		const error = await alone();
		expect(error?.message).toBe(WRONG);
		expect(error?.description).not.toContain('other items');
		expect(error?.context).toMatchObject({ itemIndex: 0 });
		expect(error?.context?.runs).toBeUndefined();
	});

	test('of one of several says how to go on with the others', async () => {
		const { error } = await execute(wrong([0], { count: 2 }));
		expect(error?.description).toBe(`${(await alone())?.description} ${GO_ON}`);
	});

	test('of one of several that all have failed does not', async () => {
		const options = { maxConcurrency: 2 };
		const { error } = await execute(wrong([0, 1], { count: 2, options }));
		expect(error?.description).toBe((await alone())?.description);
	});

	test('names the runs of the others, and not its own', async () => {
		const { world, error } = await execute({
			count: 3,
			runOf: (item) => (item === 1 ? { end: 'failed', shown: {} } : { durationMs: 60 * SECOND }),
		});
		expect(error?.description).toContain(
			`${GO_ON} 'Retry' in Executions keeps the runs of the other items.`,
		);
		expect(error?.context).toMatchObject({ itemIndex: 1 });
		const runIds = [0, 2].map((item) => ({ itemIndex: item, runId: world.runs[item]?.id }));
		expect(error?.context?.runs).toMatchObject(runIds);
		expect(error?.context?.runs).toHaveLength(2);
	});

	test('names the items of which nobody knows whether they have started a run', async () => {
		const hand: Hand = {
			respond: ({ tag }) => (tag?.endsWith('1') ? undefined : { statusCode: 500 }),
		};
		const service = { tripMs: [100, 200] as [number, number] };
		const { error } = await execute({ count: 3, waits: false, hand, service });
		expect(error?.description).toContain(
			"To get the results of the other items, set 'On Error' to 'Continue' in this node's settings, save the workflow, and choose 'Retry with currently saved workflow' in Executions. 'Retry' in Executions keeps the runs of the other items. Runs may have been started for these items too: 2.",
		);
	});
});

test('what n8n throws for an item is its failure, and the others go on', async () => {
	const thrown = Object.assign(new Error('No such expression'), { description: 'Look at it.' });
	const unreadable = {
		get agentId(): string {
			throw thrown;
		},
	};
	const parameters = (item: number) => (item === 0 ? unreadable : {});
	const said: Said = { count: 2, hand: { parameters } };
	const { jsons } = await execute({ ...said, onError: 'continueRegularOutput' });
	const message = `The expression in 'Agent' failed: ${thrown.message}`;
	expect(jsons).toMatchObject([{ error: message }, { output: '1' }]);
	const { error } = await execute({ ...said, count: 1 });
	expect(error).toMatchObject({ message, description: thrown.description });
});

describe('what is wrong for all items is the failure of each', () => {
	test.each<[string, Said, RegExp]>([
		['a Max Concurrency', { options: { maxConcurrency: -1 } }, /Max Concurrency/],
		[
			'the credential',
			{ credentialAway: { fromMs: 0, forMs: SECOND } },
			/^This node's credential cannot be used$/,
		],
	])('%s', async (_, said, says) => {
		const onError = 'continueRegularOutput';
		const { jsons, world } = await execute({ count: 2, onError, ...said });
		const error = expect.stringMatching(says) as string;
		expect(jsons).toMatchObject([{ error }, { error }]);
		expect(world.requests).toEqual([]);
	});

	test('but not of one that has begun before the node was parked', async () => {
		const world = new OwnWorld({
			count: 4,
			runOf: (item) => ({ durationMs: (1 + item * 400) * SECOND }),
			options: { pollInterval: 65, maxConcurrency: 2 },
			onError: 'continueRegularOutput',
		});
		world.later(100 * SECOND, () => (world.world.executions[0]!.options.maxConcurrency = -1));
		const { jsons } = await world.execute();
		const error = expect.stringMatching(/^'Max Concurrency[^(]*$/) as string;
		expect(jsons).toMatchObject([{ output: '0' }, { output: '1' }, { output: '2' }, { error }]);
	});
});

describe('an execution that is cancelled', () => {
	const CANCELLED = 'The execution was canceled';
	/** The first run ends soon, the second one late. */
	const cancelled = (said: Said = {}) =>
		execute({
			count: 2,
			runOf: (item) => ({ durationMs: (2 + item * 60) * SECOND }),
			cancelAtMs: 10 * SECOND,
			...said,
		});
	const continued: Said = { onError: 'continueRegularOutput' };

	test('says so, and no more where nothing was begun', async () => {
		// It is cancelled while the agent is looked up.
		const service = { tripMs: [SECOND, SECOND] as [number, number] };
		const { error, world } = await cancelled({ agentMode: 'name', service, cancelAtMs: 100 });
		expect(world.requests).toMatchObject([{ kind: 'list' }]);
		expect(error?.message).toBe(CANCELLED);
		expect(error?.description ?? '').toBe('');
	});

	test('names the runs, and what has failed meanwhile', async () => {
		// The third item's create is under way, and nobody knows what comes of it.
		const faults: FaultSpec[] = [
			{ kind: 'drips', on: 'create', fromMs: SECOND, share: 1, isDone: false, status: 0 },
		];
		const options = { maxConcurrency: 2 };
		const { error, world } = await cancelled({ count: 3, options, service: { faults } });
		expect(error?.message).toBe(CANCELLED);
		expect(error?.description).toMatch(
			/^Its runs continue at the service\. Items had already failed: 'The execution was canceled during a request to the service \(a run/,
		);
		const runs = [0, 1].map((itemIndex) => ({ itemIndex, runId: world.runs[itemIndex]?.id }));
		expect(error?.context?.runs).toMatchObject(runs);
	});

	test('fails each item that has not ended where the node continues, and names its run', async () => {
		const { jsons, world } = await cancelled(continued);
		const [, { id } = { id: '' }] = world.runs;
		expect(jsons).toMatchObject([
			{ output: '0' },
			{
				error: `${CANCELLED} (run ${id} of agent 1)`,
				details: { agent_id: 1, run_id: id },
			},
		]);
		expect(jsons[1]).not.toHaveProperty('advice');
	});

	test('leaves an item that has failed before as it is', async () => {
		const parameters = (item: number) => (item === 0 ? { agentId: 'one' } : {});
		const { jsons } = await cancelled({ ...continued, hand: { parameters } });
		expect(jsons).toMatchObject([
			{ error: WRONG },
			{ error: expect.stringContaining(CANCELLED) as string },
		]);
	});

	test('tells a model what becomes of the runs', async () => {
		const hand = { node: { type: 'agentInvocationTool' } };
		const { jsons } = await cancelled({ hand });
		expect(jsons).toMatchObject([
			{},
			{ advice: 'Runs that were started continue at the service.' },
		]);
	});
});
