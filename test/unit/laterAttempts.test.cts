import { OwnWorld } from '../support/simulation/ownWorld.cts';
import { json } from '../support/simulation/world/answers.cts';
import type { Hand } from '../support/simulation/world/hand.cts';
import { itemNumberOf } from '../support/simulation/world/history.cts';

// What a later attempt makes of items, if something else than the node has changed since.
const SECOND = 1_000;

const refusing = (status: number, code: string) =>
	json(status, { error: { code, message: 'No.', request_id: 'r' } });

describe('a run that the service does not know in one attempt, as with the key of another organization', () => {
	/** The run of the only item has reached its time limit, and goes on. */
	async function reachLimit(hand: Hand): Promise<OwnWorld> {
		const runOf = () => ({ durationMs: 60 * SECOND });
		const world = new OwnWorld({ hand, options: { timeout: 5 }, runOf });
		expect((await world.execute()).error?.message).toContain('has not finished');
		world.world.executions[0]!.options = {};
		return world;
	}

	test('is waited for in the next, where no other one was started', async () => {
		const hand: Hand = {};
		const world = await reachLimit(hand);
		hand.respond = ({ kind }) =>
			refusing(404, kind === 'poll' ? 'run_not_found' : 'agent_not_found');
		expect((await world.retry()).error?.context?.details).toMatchObject({
			code: 'agent_not_found',
		});
		delete hand.respond;
		expect((await world.retry()).jsons).toMatchObject([{ status: 'succeeded' }]);
		expect(world.started).toEqual([0]);
	});

	test('is waited for again, where the one that was started is not known any more', async () => {
		const hand: Hand = {};
		const world = await reachLimit(hand);
		const [own] = world.runs;
		let [unknown] = world.runs;
		hand.respond = ({ kind, runId }) =>
			kind === 'poll' && runId === unknown!.id ? refusing(404, 'run_not_found') : undefined;
		world.world.executions[0]!.options = { timeout: 5 };
		expect((await world.retry()).error).toBeDefined();
		expect(world.started).toEqual([0, 0]);
		unknown = world.runs[1];
		world.world.executions[0]!.options = {};
		expect((await world.retry()).jsons).toMatchObject([{ run_id: own!.id }]);
		expect(world.started).toEqual([0, 0]);
	});

	test('is kept where another one may have been started', async () => {
		const hand: Hand = {};
		const world = await reachLimit(hand);
		hand.respond = ({ kind }) =>
			kind === 'poll' ? refusing(404, 'run_not_found') : { statusCode: 503 };
		const { error } = await world.retry();
		expect(error?.message).toMatch(/\(a run may have been started\)$/);
		delete hand.respond;
		expect((await world.retry()).jsons).toMatchObject([{ run_id: world.runs[0]!.id }]);
	});
});

describe('with Retry On Fail, in an execution that was stored and then killed', () => {
	test('items that a second attempt may have begun again are not begun once more', async () => {
		let refused = 0;
		let isOver = false;
		const hand: Hand = {
			respond: ({ kind, tag }) => {
				if (isOver || kind !== 'create' || itemNumberOf(tag!) > 1) return undefined;
				if (refused < 2) {
					refused++;
					return refusing(400, 'busy');
				}
				if (itemNumberOf(tag!) === 1) return { statusCode: 429, headers: { 'retry-after': '60' } };
				world.killAfter(20 * SECOND);
				return undefined;
			},
		};
		const world = new OwnWorld({
			count: 3,
			hand,
			onError: 'continueRegularOutput',
			maxTries: 3,
			runOf: () => ({ durationMs: 400 * SECOND }),
		});
		expect((await world.execute()).attempt.status).toBe('crashed');
		isOver = true;
		await world.retry({ afterMs: SECOND });
		expect(world.started.filter((item) => item === 0)).toHaveLength(1);
	});

	test.each(['stopWorkflow', 'continueRegularOutput'] as const)(
		'nor is a run replaced again that a second attempt has replaced (%s)',
		async (onError) => {
			let creates = 0;
			const hand: Hand = {
				respond: ({ kind }) => {
					if (kind === 'create' && ++creates === 2) world.killAfter(10);
					return undefined;
				},
			};
			const world = new OwnWorld({
				hand,
				onError,
				maxTries: 3,
				service: { tripMs: [200, 200] },
				runOf: () => ({ durationMs: 400 * SECOND, end: 'failed', shown: { error: 'x' } }),
			});
			const { attempt, parks } = await world.execute();
			expect([attempt.status, parks.length > 0]).toEqual(['crashed', true]);
			await world.retry({ afterMs: SECOND });
			expect(world.started).toEqual([0, 0]);
		},
	);
});

test('items that were not there when n8n stored the execution are not in doubt', async () => {
	let isOnce = true;
	const world = new OwnWorld({
		count: 3,
		hand: { input: (items) => (isOnce ? items.slice(0, 1) : items) },
		savesProgress: true,
		kills: [{ atMs: 2 * SECOND, awayMs: SECOND }],
		runOf: () => ({ durationMs: 60 * SECOND }),
	});
	expect((await world.execute()).attempt.status).toBe('crashed');
	isOnce = false;
	const { jsons } = await world.retry({ workflow: 'saved' });
	expect(jsons.map(({ output }) => output)).toEqual(['0', '1', '2']);
});

test('a result that is not in the format of now is said to be so, and not asked for', async () => {
	const hand: Hand = {};
	const world = new OwnWorld({
		count: 2,
		hand,
		onError: 'stopWorkflow',
		runOf: (item) =>
			item === 0
				? { durationMs: SECOND, shown: { output: 'text' } }
				: { durationMs: 2 * SECOND, end: 'failed', shown: { error: 'x' } },
	});
	await world.execute();
	hand.respond = ({ kind }) => (kind === 'poll' ? refusing(404, 'run_not_found') : undefined);
	world.world.executions[0]!.options = { outputFormat: 'json' };
	const { error } = await world.retry({ workflow: 'saved' });
	expect(error?.message).toContain("The agent's output is not JSON");
	expect(world.started.filter((item) => item === 0)).toHaveLength(1);
});

test("a 'Get a run' that is to wait now waits for a run that it has given before", async () => {
	let isBroken = true;
	const hand: Hand = {
		respond: ({ kind, runId }) =>
			kind === 'poll' && isBroken && runId === world.runs[1]!.id
				? refusing(404, 'run_not_found')
				: undefined,
	};
	const runOf = () => ({ durationMs: 60 * SECOND });
	const world: OwnWorld = new OwnWorld({ count: 2, operation: 'get', waits: false, hand, runOf });
	expect((await world.execute()).error).toBeDefined();
	isBroken = false;
	world.world.executions[0]!.waits = true;
	const { jsons } = await world.retry({ workflow: 'saved' });
	expect(jsons.map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
});

describe('a check without an answer', () => {
	test('fails no item that has its result', async () => {
		const hand: Hand = {};
		const world = new OwnWorld({
			count: 3,
			hand,
			options: { checkFirst: true },
			runOf: (item) => ({
				durationMs: (item === 2 ? 10 : 2) * SECOND,
				...(item === 2 && { end: 'failed' as const, shown: { error: 'x' } }),
			}),
		});
		expect((await world.execute()).error?.message).toContain('failed');
		const [execution] = world.world.executions;
		// The first item has other values now.
		execution!.items[0]!.isVolatile = true;
		execution!.onError = 'continueRegularOutput';
		hand.respond = ({ kind }) => (kind === 'dryRun' ? { statusCode: 502 } : undefined);
		const { jsons } = await world.retry({ workflow: 'saved', changesNode: true });
		expect(jsons[1]).toMatchObject({ output: '1' });
		expect(jsons[0]?.error).toMatch(/^Item 0 could not be checked/);
	});

	test('since a run came of it, names that run in the details of its own item alone', async () => {
		const made = 'aaaaaaaa-2222-4333-8444-555555555555';
		const hand: Hand = {
			respond: ({ kind }) =>
				kind === 'dryRun' ? json(202, { run_id: made, status: 'pending' }) : undefined,
		};
		const world = new OwnWorld({
			count: 2,
			hand,
			onError: 'continueRegularOutput',
			options: { checkFirst: true },
		});
		const { jsons } = await world.execute();
		expect(jsons.map(({ details }) => details)).toMatchObject([{ run_id: made }, {}]);
		expect(jsons[1]?.details ?? {}).not.toHaveProperty('run_id');
	});
});

test.each(['json', 'text'] as const)(
	'after a crash, a result from before it is output in the format of now (%s)',
	async (outputFormat) => {
		const said = { isJson: true, shown: { output: '{"is":"done"}' } };
		const world = new OwnWorld({
			count: 10,
			// Some runs are over before the tenth create is answered, and n8n stores their results.
			service: { tripMs: [50, 6_000] },
			savesProgress: true,
			options: { outputFormat: outputFormat === 'json' ? 'text' : 'json' },
			runOf: (item) => ({ ...said, durationMs: (item % 2 === 0 ? 0.1 : 60) * SECOND }),
			kills: [{ atMs: 20 * SECOND, awayMs: SECOND }],
		});
		const { attempt } = await world.execute();
		expect(attempt.status).toBe('crashed');
		expect(attempt.saves.at(-1)!.memory).toContain('"is":"done"');
		const edit = { options: { outputFormat } };
		const { jsons } = await world.retry({ workflow: 'saved', edit });
		const output = outputFormat === 'json' ? { is: 'done' } : '{"is":"done"}';
		expect(jsons).toEqual(Array(10).fill(expect.objectContaining({ output })));
	},
);

test('that a run may have been started is said, also where an option has become wrong', async () => {
	const hand: Hand = {};
	const runOf = () => ({ durationMs: 60 * SECOND });
	const world = new OwnWorld({ hand, options: { timeout: 5 }, runOf });
	expect((await world.execute()).error?.message).toContain('has not finished');
	hand.respond = ({ kind }) => (kind === 'create' ? { statusCode: 503 } : undefined);
	const edit = { values: 1 };
	const doubtful = await world.retry({ workflow: 'saved', edit });
	expect(doubtful.error?.message).toMatch(/\(a run may have been started\)$/);
	world.world.executions[0]!.options = { maxConcurrency: 'many' };
	const { error } = await world.retry({ workflow: 'saved', edit });
	expect(error?.message).toContain('An earlier attempt may have started a run');
	expect(world.started).toEqual([0]);
});

test('a run that a Retry has seen going on, and that then fails, fails its item: no other one is started', async () => {
	const runOf = () => ({ durationMs: 60 * SECOND, end: 'failed' as const });
	const world = new OwnWorld({ options: { timeout: 5 }, runOf });
	expect((await world.execute()).error?.message).toContain('has not finished');
	world.world.executions[0]!.options = {};
	expect((await world.retry()).error?.message).toContain("The agent's run failed");
	expect(world.started).toEqual([0]);
});

test('an item whose run was output at its time limit, and then failed, may have been begun again before a crash', async () => {
	let creates = 0;
	const hand: Hand = {
		respond: ({ kind, tag }) => {
			const isOfItem = kind === 'create' && itemNumberOf(tag!) === 1;
			if (isOfItem && ++creates === 2) world.killAfter(5 * SECOND);
			return undefined;
		},
	};
	const runs = [
		{ durationMs: 5 * SECOND, end: 'failed' as const },
		{ durationMs: 700 * SECOND, end: 'failed' as const },
		{ durationMs: 550 * SECOND },
	];
	const world: OwnWorld = new OwnWorld({
		count: 3,
		hand,
		maxTries: 2,
		onError: 'continueRegularOutput',
		options: { maxConcurrency: 1, timeout: 600, onTimeout: 'output' },
		runOf: (item) => runs[item]!,
	});
	expect((await world.execute()).attempt.status).toBe('crashed');
	const { jsons } = await world.retry();
	expect(world.started).toEqual([0, 1, 2, 0, 1]);
	expect(jsons[1]?.error).toContain('may have started a run');
});
