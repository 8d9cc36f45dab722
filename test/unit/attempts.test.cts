import type { IDataObject } from 'n8n-workflow';

import { execute, OwnWorld, type Said } from '../support/simulation/ownWorld.cts';
import { json } from '../support/simulation/world/answers.cts';
import type { Hand } from '../support/simulation/world/hand.cts';
import type { RunSpec } from '../support/simulation/world/world.cts';

// What the node keeps from one attempt, turn or execution to the next.
const SECOND = 1_000;
const failing = { durationMs: SECOND, end: 'failed' as const, shown: {} };

test.each([
	[undefined, 3],
	[1, 2],
	[4, 4],
	[9, 5],
])(
	'with Retry On Fail and Max Tries %p, a run that fails is started %d times',
	async (maxTries, times) => {
		const node = { retryOnFail: true, maxTries: maxTries! };
		// Parked, after which n8n itself counts again.
		const options = { pollInterval: 65 };
		const { world, parks } = await execute({
			runOf: () => failing,
			options,
			maxTries: 5,
			hand: { node },
		});
		expect(parks).toHaveLength(times);
		expect(world.runs).toHaveLength(times);
	},
);

test('each turn of a loop has a memory of its own, and the last one that succeeds leaves nothing', async () => {
	const options = { pollInterval: 65 };
	const { world, calls, attempt } = await execute({ turns: 3, options });
	expect(calls).toMatchObject(world.runs.map(({ id }) => ({ run_id: id })));
	expect(world.runs.map(({ tag }) => tag)).toEqual(['e0t0i0', 'e0t1i0', 'e0t2i0']);
	expect(attempt.saves.at(-1)?.memory).toBe('{}');
});

test('a turn that fails is retried with its own runs', async () => {
	const world = new OwnWorld({ turns: 2, count: 2, runOf: (item) => (item === 1 ? failing : {}) });
	await world.execute();
	Object.assign(world.runOf(1), { end: 'succeeded' });
	const { calls } = await world.retry();
	expect(calls).toHaveLength(2);
	expect([...world.started].sort()).toEqual([0, 0, 1, 1, 1]);
});

test('the run data has one entry for each turn, with its source, however often n8n has stored it', async () => {
	const sourcesOf = async (said: Said) => {
		const { attempt } = await execute({ turns: 2, count: 12, ...said });
		return attempt.runData!.map(({ source }) => source);
	};
	const source = { previousNode: 'Loop', previousNodeOutput: 1, previousNodeRun: 1 };
	const undisturbed = await sourcesOf({});
	expect(undisturbed).toMatchObject([[{ ...source, previousNodeRun: 0 }], [source]]);
	const stored: Said = { options: { pollInterval: 65 }, savesProgress: true };
	expect(await sourcesOf(stored)).toEqual(undisturbed);
});

describe('nothing is kept', () => {
	const memoryOf = async (said: Said) =>
		(await execute({ maxTries: 2, ...said })).attempt.saves.at(-1)?.memory;
	const continued: Said = { onError: 'continueRegularOutput' };

	test('of items that have no runs, though they have failed', async () => {
		const hand = { respond: () => ({ statusCode: 500 }) };
		expect(await memoryOf({ operation: 'list', hand, ...continued })).toBe('{}');
		expect(await memoryOf({ hand, ...continued })).toContain('failed');
	});

	test('of a turn that has not succeeded, once another one has begun', async () => {
		const respond: Hand['respond'] = ({ tag }) =>
			tag === 'e0t0i0' ? { statusCode: 500 } : undefined;
		expect(await memoryOf({ turns: 2, hand: { respond }, ...continued })).toBe('{}');
	});

	test('once nothing is to be retried', async () => {
		expect(await memoryOf({})).toBe('{}');
		expect(await memoryOf({ runOf: () => failing, ...continued })).toContain('failed');
		expect(await memoryOf({ runOf: () => failing, ...continued, maxTries: 0 })).toBe('{}');
	});
});

describe('a checkpoint', () => {
	/** How often n8n stores the execution while it goes on, of runs that take no minute. */
	const checkpoints = async (
		saveExecutionProgress: boolean | string | undefined,
		said: Said = {},
	) => {
		const hand = { settings: { saveExecutionProgress } };
		const { attempt, jsons } = await execute({ count: 3, hand, ...said });
		expect(jsons).toHaveLength(3);
		return attempt.calls.length - 1;
	};

	test.each<[string, boolean | string | undefined, Said, boolean]>([
		['is made where n8n saves progress', true, {}, true],
		['is not where it does not', false, {}, false],
		['may be made by default', 'DEFAULT', {}, true],
		['may be made where nothing is set', undefined, {}, true],
		['is not when somebody watches', 'DEFAULT', { starter: 'manual' }, false],
		['is when somebody watches and it is set', true, { starter: 'manual' }, true],
		['is not where no run is started', true, { operation: 'get' }, false],
		['is not where nothing is left to do', true, { waits: false }, false],
		['is not on a host that cannot', true, { host: 'oldHost' }, false],
		['is, though somebody waits for the result', true, { starter: 'evaluation' }, true],
	])('%s', async (_, saves, said, isMade) => {
		// The engine runs the action, and then the node again.
		expect(await checkpoints(saves, said)).toBe(isMade ? 2 : 0);
	});
});

test('a Retry goes on with what is known before it begins the rest', async () => {
	const runOf = (item: number) => ({ durationMs: 10 * SECOND, ...(item === 0 && failing) });
	const world = new OwnWorld({ count: 3, runOf });
	await world.execute();
	world.world.executions[0]!.options = { maxConcurrency: 1 };
	const before = world.requests.length;
	await world.retry({ afterMs: 10 * SECOND });
	const kinds = world.requests.slice(before).map(({ kind }) => kind);
	// Their runs have ended by then, so that they are polled at once.
	expect(kinds.slice(0, 3)).toEqual(['poll', 'poll', 'create']);
	expect(world.requests[before]!.sentAt).toBeLessThan(world.seen(0).attempt.beganAt + 100);
});

describe('a Retry of an item whose time limit was reached', () => {
	/** Its run takes ten seconds, and the node waits for five. */
	async function fail(run: Partial<RunSpec> = {}) {
		const runOf = () => ({ durationMs: 10 * SECOND, ...run });
		const world = new OwnWorld({ runOf, options: { timeout: 5 } });
		expect((await world.execute()).error?.message).toContain('has not finished');
		world.world.executions[0]!.options = {};
		return world;
	}

	test('gives the run as it was started, if it is not to wait', async () => {
		const world = await fail();
		world.world.executions[0]!.waits = false;
		const [run] = world.runs;
		expect((await world.retry()).jsons).toEqual([
			{ agent_id: 1, run_id: run!.id, status: 'pending' },
		]);
	});

	test('starts another run, if that one has failed meanwhile', async () => {
		const world = await fail({ end: 'failed', shown: {} });
		const [item] = world.world.executions[0]!.items;
		item!.run = { ...item!.run, end: 'succeeded' };
		expect((await world.retry({ afterMs: 10 * SECOND })).items).toHaveLength(1);
		expect(world.started).toEqual([0, 0]);
	});
});

test('without waiting, a Retry of a changed node that would start the same outputs the runs that it keeps', async () => {
	const hand: Hand = {
		respond: ({ kind, number }) =>
			kind === 'create' && number === 2 ? { statusCode: 401 } : undefined,
	};
	const world = new OwnWorld({ count: 3, waits: false, options: { maxConcurrency: 1 }, hand });
	expect((await world.execute()).error).toBeDefined();
	const { jsons } = await world.retry({ workflow: 'saved', changesNode: true });
	expect(jsons).toMatchObject(world.runs.map(({ id }) => ({ run_id: id, status: 'pending' })));
	expect(world.started).toEqual([0, 1, 2]);
});

test('a Retry of items that have all begun makes no checkpoint', async () => {
	const kills = [{ atMs: 2 * SECOND, awayMs: SECOND }];
	const runOf = () => ({ durationMs: 10 * SECOND });
	const world = new OwnWorld({ count: 3, runOf, kills, savesProgress: true });
	await world.execute();
	const { attempt, items } = await world.retry();
	expect([items.length, attempt.calls.length]).toEqual([3, 1]);
});

describe('of a node that the user has changed, a Retry', () => {
	const tag = 'e0t0i0';
	const given = (agentId: unknown, bindings: object): IDataObject => ({
		agentId: agentId as IDataObject,
		parametersJson: JSON.stringify({ tag, ...bindings }),
	});
	const named = (value: string) => ({ __rl: true, mode: 'name', value });

	test.each<[string, IDataObject, number]>([
		['goes on with the run for the same', given(1, { city: 'Paris' }), 1],
		['starts one for another agent', given(2, { city: 'Paris' }), 2],
		['starts one for an agent whose name is the ID', given(named('1'), { city: 'Paris' }), 2],
		['starts one for another name', given(1, { town: 'Paris' }), 2],
		['starts one for another value', given(1, { city: 'Rome' }), 2],
		['starts one for less', given(1, {}), 2],
	])('%s', async (_, parameters, count) => {
		const hand: Hand = { parameters: () => given(1, { city: 'Paris' }) };
		const world = new OwnWorld({
			runOf: () => ({ durationMs: 10 * SECOND }),
			service: { agents: ['Reporter', '1'] },
			options: { timeout: 5 },
			hand,
		});
		expect((await world.execute()).error?.message).toContain('has not finished');
		hand.parameters = () => parameters;
		world.world.executions[0]!.options = {};
		const { jsons } = await world.retry({ workflow: 'saved', changesNode: true });
		expect(jsons).toMatchObject([{ output: '0' }]);
		expect(world.runs).toHaveLength(count);
	});
});

test('a run that a changed node would start as well counts as its own from then on', async () => {
	const runOf = (item: number) => (item === 1 ? failing : {});
	const world = new OwnWorld({ count: 2, runOf, options: { maxConcurrency: 1 } });
	await world.execute();
	await world.retry({ workflow: 'saved', changesNode: true });
	for (const item of world.world.executions[0]!.items) item.isVolatile = true;
	await world.retry();
	expect(world.started).toEqual([0, 1, 1, 1]);
});

test('what is no run is given by a Retry as it was', async () => {
	const hand: Hand = {
		respond: ({ number }) => (number === 0 ? json(200, { status: 'pending' }) : undefined),
		parameters: (item) => (item === 1 ? { agentId: 'one' } : {}),
	};
	const options = { maxConcurrency: 1 };
	const world = new OwnWorld({ count: 2, operation: 'dryRun', options, hand });
	await world.execute();
	delete hand.parameters;
	expect((await world.retry()).jsons).toMatchObject([{ status: 'pending' }, {}]);
	expect(world.requests).toHaveLength(2);
});
