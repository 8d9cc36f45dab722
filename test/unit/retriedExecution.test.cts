import { enteredIn } from '../../nodes/AgentInvocation/engine/host.ts';
import { fingerprintOf } from '../../nodes/AgentInvocation/operations/run/startRun.ts';
import type { ParameterBinding } from '../../nodes/AgentInvocation/service/types.ts';
import { OwnWorld, type Said } from '../support/simulation/ownWorld.cts';
import { apiKeyOf, json } from '../support/simulation/world/answers.cts';
import type { Hand } from '../support/simulation/world/hand.cts';
import { itemNumberOf } from '../support/simulation/world/history.cts';
import type { EditSpec, RetrySpec } from '../support/simulation/world/world.cts';

// What n8n's Retry of an execution makes of the runs of before.
const SECOND = 1_000;

/** The user has changed the node, and retries with the saved workflow. */
const CHANGED: Partial<RetrySpec> = { workflow: 'saved', changesNode: true };

const all = (count: number) => Array.from({ length: count }, (_, item) => item);

test('the same values count as the same in whatever order they are given', () => {
	const [one, other] = ['a', 'b'].map((name) => ({ name, value: '1' }));
	const of = (...bindings: ParameterBinding[]) => fingerprintOf('service', 1, bindings);
	expect(of(one!, other!)).toBe(of(other!, one!));
	expect(of(one!)).not.toBe(of(other!));
	expect(of({ name: 'a', value: 'b' })).not.toBe(of({ name: 'b', value: 'a' }));
});

test("an agent's label in the list says nothing about what the user has entered", () => {
	const entered = (value: number, cachedResultName: string) => {
		const agentId = { __rl: true, mode: 'list', value, cachedResultName };
		return enteredIn({ getNode: () => ({ parameters: { agentId } }) } as never);
	};
	expect(entered(1, 'Report\u2060 — Writes one')).toBe(entered(1, 'Report\u2060 — Writes two'));
	expect(entered(1, 'Report')).not.toBe(entered(2, 'Report'));
	// But for a parameter of that name.
	const given = (cachedResultName: string) =>
		enteredIn({ getNode: () => ({ parameters: { value: { cachedResultName } } }) } as never);
	expect(given('one')).not.toBe(given('other'));
});

test('the order in which n8n has stored parameters says nothing about what the user has entered', () => {
	const entered = (parameters: object) => enteredIn({ getNode: () => ({ parameters }) } as never);
	const [fields, turned] = [
		{ a: '1', b: { c: '2', d: '3' } },
		{ b: { d: '3', c: '2' }, a: '1' },
	];
	expect(entered(fields)).toBe(entered(turned));
	expect(entered(fields)).not.toBe(entered({ ...fields, b: { c: '3', d: '2' } }));
	expect(entered({ value: { toString: '1' } })).not.toBe(entered({ value: { toString: '2' } }));
});

test("the editor's own copy of the fields says nothing about what the user has entered", () => {
	const entered = (value: object, schema: object[]) => {
		const parameters = { mappingMode: 'defineBelow', value, schema };
		return enteredIn({ getNode: () => ({ parameters: { parameters } }) } as never);
	};
	expect(entered({ a: 1 }, [])).toBe(entered({ a: 1 }, [{ id: 'a' }]));
	expect(entered({ a: 1 }, [])).not.toBe(entered({ a: 2 }, []));
});

/** The runs that were started, without those that 'Get a run' was given. */
const created = ({ runs }: OwnWorld) => runs.filter(({ request }) => request);

const itemOf = ({ tag }: { tag: string }) => itemNumberOf(tag);

/** From now on, an expression such as `$now` gives another value of these items each time. */
function changeValues(
	{ world }: OwnWorld,
	isChanged: (item: number) => boolean = () => true,
): void {
	const [{ items } = { items: [] }] = world.executions;
	for (const [index, item] of items.entries()) item.isVolatile = isChanged(index);
}

describe('of an execution that failed', () => {
	/** The first item has its result, the second one's run has failed, and the third one's goes on. */
	async function fail(hand: Hand = {}) {
		const world = new OwnWorld({
			count: 3,
			hand,
			runOf: (item) => ({
				durationMs: [10, 20, 60][item]! * SECOND,
				...(item === 1 && { end: 'failed' as const, shown: { error: 'item 1' } }),
			}),
		});
		expect((await world.execute()).error?.message).toContain('failed: item 1');
		Object.assign(world.runOf(1), { end: 'succeeded', shown: { output: '1' } });
		return world;
	}

	test('values that have changed by themselves start no finished or running run again', async () => {
		const world = await fail();
		changeValues(world);
		const before = world.requests.length;
		const { jsons } = await world.retry();
		expect(jsons.map(({ output }) => output)).toEqual(['0', '1', '2']);
		expect(world.started).toEqual([0, 1, 2, 1]);
		// The first item's result was known.
		const polled = world.requests.slice(before).map(({ runId }) => runId);
		expect(polled).not.toContain(world.runs[0]!.id);
	});

	test('a value that cannot be read any more fails no item that has its run', async () => {
		const hand: Hand = {};
		const world = await fail(hand);
		const unreadable = {
			get parametersJson(): string {
				throw new Error('No data');
			},
		};
		hand.parameters = (item) => (item === 1 ? {} : unreadable);
		expect((await world.retry()).items).toHaveLength(3);
	});

	describe('and once more, with nothing started', () => {
		const ELSEWHERE = 'https://elsewhere.example.com/api/v1';

		/** Another Retry, whose creates get an answer that starts nothing. */
		async function failAgain(world: OwnWorld, hand: Hand, status: 400 | 401) {
			const error = { code: 'refused', message: 'No.', request_id: 'r' };
			hand.respond = ({ kind }) => (kind === 'create' ? json(status, { error }) : undefined);
			expect((await world.retry(status === 400 ? CHANGED : {})).error).toBeDefined();
			delete hand.respond;
			expect(world.started).toEqual([0, 1, 2]);
		}

		test('with the values of before again, it forgets no run', async () => {
			const hand: Hand = {};
			const world = await fail(hand);
			changeValues(world);
			await failAgain(world, hand, 400);
			changeValues(world, () => false);
			expect((await world.retry(CHANGED)).items).toHaveLength(3);
			expect(world.started).toEqual([0, 1, 2, 1]);
		});

		test('with the credential of before again, it forgets no run', async () => {
			const hand: Hand = {};
			const world = await fail(hand);
			hand.credential = () => Promise.resolve({ baseUrl: ELSEWHERE, apiKey: 'another-secret-key' });
			await failAgain(world, hand, 401);
			delete hand.credential;
			expect((await world.retry()).items).toHaveLength(3);
			expect(world.started).toEqual([0, 1, 2, 1]);
		});

		test('with the changed values still, it takes no run of before for its own', async () => {
			const hand: Hand = {};
			const world = await fail(hand);
			changeValues(world);
			await failAgain(world, hand, 400);
			expect((await world.retry()).items).toHaveLength(3);
			expect([...world.started].sort()).toEqual([0, 0, 1, 1, 2, 2]);
		});
	});

	test('a longer time limit goes on with the same runs', async () => {
		const hand: Hand = { node: { parameters: { options: {} } } };
		const world = await fail(hand);
		changeValues(world);
		const options = { timeout: 7_200 };
		hand.node = { parameters: { options } };
		hand.parameters = () => ({ options });
		await world.retry({ workflow: 'saved' });
		expect(world.started).toEqual([0, 1, 2, 1]);
	});

	test('a node that the user has changed starts those again that would start something else', async () => {
		const world = await fail();
		changeValues(world, (item) => item === 2);
		const { jsons } = await world.retry(CHANGED);
		expect(jsons.map(({ output }) => output)).toEqual(['0', '1', '2']);
		expect([...world.started].sort()).toEqual([0, 1, 1, 2, 2]);
	});

	describe('what the item has started is not forgotten', () => {
		/** Of another node, in a Retry that starts nothing new and fails. */
		const edited = (edit: EditSpec): Partial<RetrySpec> => ({ workflow: 'saved', edit });

		test.each<[string, EditSpec]>([
			['a dry run', { operation: 'dryRun', hasWrongKey: true }],
			['a dry run that succeeds for some', { operation: 'dryRun' }],
			["a 'Get a run'", { operation: 'get', hasWrongKey: true }],
			["a 'Get a run' that does not wait", { operation: 'get', waits: false, hasWrongKey: true }],
			['other values', { values: 1, hasWrongKey: true }],
		])('after %s', async (_, edit) => {
			const hand: Hand = {};
			const world = await fail(hand);
			if (!edit.hasWrongKey) {
				// The second item alone, so that n8n retries the others with what they have got.
				hand.respond = ({ kind, tag }, own) =>
					kind === 'dryRun' && tag?.endsWith('i1') ? json(400, {}) : own();
			}
			expect((await world.retry(edited(edit))).error).toBeDefined();
			expect((await world.retry()).error).toBeDefined();
			delete hand.respond;
			expect((await world.retry({ workflow: 'saved' })).jsons).toMatchObject([
				{ output: '0' },
				{ output: '1' },
				{ output: '2' },
			]);
			expect(created(world).map(itemOf)).toEqual([0, 1, 2, 1]);
		});

		test('nor what it has started with each of two values', async () => {
			const world = await fail();
			Object.assign(world.runOf(1), { end: 'failed' });
			expect((await world.retry(edited({ values: 1 }))).error).toBeDefined();
			expect([...world.started].sort()).toEqual([0, 0, 1, 1, 2, 2]);
			expect((await world.retry({ workflow: 'saved' })).error).toBeDefined();
			Object.assign(world.runOf(1), { end: 'succeeded' });
			const { jsons } = await world.retry(edited({ values: 1 }));
			const ofFirst = created(world).filter((run) => itemOf(run) === 0);
			expect(ofFirst.map(({ id }) => id)).toEqual([world.runs[0]!.id, jsons[0]!.run_id]);
			expect(world.started.filter((item) => item !== 1).sort()).toEqual([0, 0, 2, 2]);
		});
	});

	test('what was started counts for each way in which the same was entered', async () => {
		const world = await fail();
		Object.assign(world.runOf(1), { end: 'failed' });
		expect((await world.retry(CHANGED)).error).toBeDefined();
		expect(world.started).toEqual([0, 1, 2, 1]);
		// Put back, it has an expression that gives something else by now.
		changeValues(world, (item) => item !== 1);
		expect((await world.retry(CHANGED)).error).toBeDefined();
		expect(world.started).toEqual([0, 1, 2, 1, 1]);
	});

	test('of a result of other values, only its run is kept', async () => {
		const long = 'x'.repeat(10_000);
		const world = new OwnWorld({
			count: 2,
			runOf: (item) => ({
				durationMs: (1 + item) * SECOND,
				end: item === 1 ? 'failed' : 'succeeded',
				shown: { output: item === 0 ? long : null },
			}),
		});
		const { attempt } = await world.execute();
		expect(attempt.saves.at(-1)!.memory).toContain(long);
		const edit = { values: 1, hasWrongKey: true };
		const changed = await world.retry({ workflow: 'saved', edit });
		const { memory } = changed.attempt.saves.at(-1)!;
		expect(memory).not.toContain(long);
		expect(memory).toContain(world.runs[0]!.id);
		// Put back, it is asked for.
		await world.retry({ workflow: 'saved' });
		expect(world.seen(0).error?.message).not.toContain('may have started');
	});

	test('all items are output in the format of now', async () => {
		const said = { durationMs: 10, isJson: true, shown: { output: '{"is":"done"}' } };
		const isWrong = (item: number) => item === 1;
		const world = new OwnWorld({
			count: 2,
			runOf: (item) => ({ ...said, ...(isWrong(item) && { end: 'failed', shown: {} }) }),
			options: { outputFormat: 'json', maxConcurrency: 1 },
		});
		expect((await world.execute()).error?.message).toContain('failed');
		Object.assign(world.runOf(1), said, { end: 'succeeded' });
		const options = { outputFormat: 'text' as const };
		const { jsons } = await world.retry({ workflow: 'saved', edit: { options } });
		expect(jsons.map(({ output }) => output)).toEqual(['{"is":"done"}', '{"is":"done"}']);
		expect(world.started).toEqual([0, 1, 1]);
	});

	test('a failed run that was output is begun again if it is to be an error now', async () => {
		const world = new OwnWorld({
			count: 2,
			runOf: (item) => ({ durationMs: (1 + item) * SECOND, end: 'failed', shown: {} }),
			options: { onUnsuccessfulRun: 'output', maxConcurrency: 1 },
			hand: {
				respond: ({ kind, tag }) =>
					kind === 'create' && tag === 'e0t0i1' ? json(400, {}) : undefined,
			},
		});
		expect((await world.execute()).error).toBeDefined();
		const [item] = world.world.executions[0]!.items;
		item!.run = { ...item!.run, end: 'succeeded', shown: { output: 'at last' } };
		world.world.executions[0]!.options = {};
		world.world.executions[0]!.onError = 'continueRegularOutput';
		const { jsons } = await world.retry({ workflow: 'saved' });
		expect(jsons).toMatchObject([{ output: 'at last' }, { error: expect.anything() as string }]);
		expect(world.started).toEqual([0, 0]);
	});

	test('one that reached its time limit too', async () => {
		const options = { timeout: 30 };
		const world = new OwnWorld({ runOf: () => ({ durationMs: 60 * SECOND }), options });
		expect((await world.execute()).error?.message).toContain('has not finished');
		world.world.executions[0]!.options = {};
		changeValues(world);
		expect((await world.retry(CHANGED)).items).toHaveLength(1);
		expect(world.started).toEqual([0, 0]);
	});

	test('and so does the Retry of that one', async () => {
		const world = await fail();
		world.later(1, () => world.stop());
		expect((await world.retry({ ...CHANGED })).attempt.status).toBe('canceled');
		changeValues(world);
		await world.retry();
		expect(world.started.slice(-3).sort()).toEqual([0, 1, 2]);
	});

	test('a credential with the same address, entered otherwise, starts none again', async () => {
		const hand: Hand = {};
		const world = await fail(hand);
		const { host } = new URL(world.requests[0]!.url);
		const apiKey = apiKeyOf(0);
		hand.credential = () =>
			Promise.resolve({ baseUrl: `HTTPS://${host.toUpperCase()}:443/api/v1/`, apiKey });
		await world.retry();
		expect(world.started).toEqual([0, 1, 2, 1]);
	});

	test('a credential with another address starts them again there', async () => {
		const hand: Hand = {};
		const world = await fail(hand);
		const apiKey = apiKeyOf(0);
		hand.credential = () =>
			Promise.resolve({ baseUrl: 'https://elsewhere.example.com/api/v1', apiKey });
		await world.retry();
		expect([...world.started].sort()).toEqual([0, 0, 1, 1, 2, 2]);
	});
});

describe('of an execution that was ended', () => {
	const MESSAGE =
		'An earlier attempt may have started a run for this item, so this attempt starts none';

	/** Runs of 400 s, in an execution that is stored at once, for 65 s. */
	function worldOf(count: number, said: Said = {}): OwnWorld {
		const options = { pollInterval: 65, ...said.options };
		return new OwnWorld({ count, runOf: () => ({ durationMs: 400 * SECOND }), ...said, options });
	}

	/** Twenty items, of which ten have begun when n8n makes a checkpoint and then is killed. */
	async function kill(more: Said = {}): Promise<OwnWorld> {
		const kills = [{ atMs: 2_000, awayMs: 1_000 }];
		const world = worldOf(20, { savesProgress: true, kills, ...more });
		const { attempt } = await world.execute();
		expect(attempt.status).toBe('crashed');
		expect(world.started.sort()).toEqual(all(10));
		return world;
	}

	/** Six items, two at a time; a user stops it so long after the date for which it was stored, in s. */
	async function stop(after: number, more: Said = {}): Promise<OwnWorld> {
		const cancelAtMs = (65 + after) * SECOND;
		const world = worldOf(6, { options: { maxConcurrency: 2 }, cancelAtMs, ...more });
		const { attempt, parks } = await world.execute();
		expect(attempt.status).toBe('canceled');
		expect(Math.round(parks[0]!.until / SECOND)).toBe(65);
		return world;
	}

	test('runs that are known are waited for before items in doubt are refused', async () => {
		const world = await kill();
		const { error, ms } = await world.retry();
		expect(ms).toBeGreaterThan(390 * SECOND);
		expect(error?.message).toBe(MESSAGE);
		expect(error?.description).toContain("'Retry with currently saved workflow'");
		expect(error?.context?.runs).toHaveLength(10);
		expect(world.started.sort()).toEqual(all(10));
		// That is what n8n's Retry then gives.
		world.world.executions[0]!.onError = 'continueRegularOutput';
		const { jsons } = await world.retry({ workflow: 'saved' });
		expect(jsons.filter(({ status }) => status === 'succeeded')).toHaveLength(10);
		expect(jsons.filter((one) => 'error' in one)).toHaveLength(10);
		expect(world.started.sort()).toEqual(all(10));
	});

	test('a run that fails meanwhile ends the node', async () => {
		const world = await kill({
			runOf: (item) =>
				item === 3
					? { durationMs: 100 * SECOND, end: 'failed', shown: {} }
					: { durationMs: 400 * SECOND },
		});
		const { error, ms } = await world.retry();
		expect(error?.message).toContain('failed');
		expect(ms).toBeLessThan(200 * SECOND);
	});

	test("n8n's Retry with the saved workflow is refused while it is stored", async () => {
		const world = await stop(-30);
		const { attempt } = await world.retry({ workflow: 'saved' });
		expect(attempt.retryOf).toBeUndefined();
	});

	test('where n8n does not tell when it was stopped, something may have begun', async () => {
		const world = worldOf(6, {
			options: { maxConcurrency: 2 },
			cancelAtMs: 35 * SECOND,
			retries: [{ afterMs: SECOND, workflow: 'original' }],
			hand: { isSilent: true },
		});
		const { error, attempt } = await world.execute();
		expect(attempt.retryOf?.status).toBe('canceled');
		expect(error?.message).toBe(MESSAGE);
		expect([...world.started].sort()).toEqual(all(2));
	});

	test('those that wait already count among those that begin before a checkpoint', async () => {
		const world = await stop(-30, { savesProgress: true });
		world.world.executions[0]!.options = { maxConcurrency: 2, whereToWait: 'memory' };
		const { attempt } = await world.retry();
		const first = attempt.saves.find(({ why }) => why === 'progress')!;
		expect(first.at - attempt.beganAt).toBeLessThan(SECOND);
	});

	test.each([
		['nor where it was stopped before its date', -11, true],
		['something may have where it was stopped close to it', -9, false],
		['something may have where it was stopped after it', 5, false],
	])('%s', async (_, after, isSure) => {
		const world = await stop(after, { resumesLateMs: 20 * SECOND });
		const { items, error } = await world.retry({ afterMs: 1_000 * SECOND });
		if (isSure) expect(items).toHaveLength(6);
		else expect(error?.message).toBe(MESSAGE);
		// Nobody knows of which agent it would be.
		expect(error?.context?.details).toBeUndefined();
		expect([...world.started].sort()).toEqual(all(isSure ? 6 : 2));
	});

	test('what is in doubt stays so, whatever comes after', async () => {
		const world = await stop(-9);
		const first = await world.retry({ afterMs: 1_000 * SECOND });
		changeValues(world);
		const second = await world.retry(CHANGED);
		for (const { error } of [first, second]) expect(error?.message).toBe(MESSAGE);
		// The first two would start something else now; nothing new begins beside a refusal.
		expect(world.started.filter((item) => item > 1)).toEqual([]);
	});

	test.each([0, 3])(
		'what Retry On Fail may have begun again is in doubt, also if %d attempts are allowed by now',
		async (maxTries) => {
			let creates = 0;
			const hand: Hand = {
				respond: ({ kind, tag }) => {
					if (kind !== 'create' || itemNumberOf(tag!) !== 0) return undefined;
					creates++;
					if (creates === 2) world.killAfter(10);
					const error = { code: 'invalid_parameter_value', message: 'No', request_id: 'r' };
					return creates === 1 ? json(400, { error }) : undefined;
				},
			};
			const world = new OwnWorld({
				count: 2,
				hand,
				savesProgress: true,
				onError: 'continueRegularOutput',
				maxTries: 3,
				service: { tripMs: [200, 200] },
				runOf: () => ({ durationMs: 20 * SECOND }),
			});
			expect((await world.execute()).attempt.status).toBe('crashed');
			const { jsons } = await world.retry({ ...CHANGED, edit: { maxTries } });
			expect(jsons[0]?.error).toBe(MESSAGE);
			expect(world.started.sort()).toEqual([0, 1]);
		},
	);

	test('a shorter poll interval and time limit count at once', async () => {
		const world = new OwnWorld({
			savesProgress: true,
			options: { pollInterval: 3_600, timeout: 7_200, whereToWait: 'memory' },
			runOf: () => ({ durationMs: 30 * SECOND }),
			kills: [{ atMs: 10 * SECOND, awayMs: SECOND }],
		});
		expect((await world.execute()).attempt.status).toBe('crashed');
		const edit: EditSpec = {
			options: { pollInterval: 5, timeout: 60, whereToWait: 'memory' },
		};
		const { ms, jsons } = await world.retry({ workflow: 'saved', edit });
		expect(jsons[0]).toMatchObject({ status: 'succeeded' });
		expect(ms).toBeLessThan(30 * SECOND);
	});

	test('a node that the user has changed meanwhile starts those again that it knows', async () => {
		const world = await kill();
		world.world.executions[0]!.onError = 'continueRegularOutput';
		changeValues(world);
		const { jsons } = await world.retry(CHANGED);
		expect(jsons.filter(({ status }) => status === 'succeeded')).toHaveLength(10);
		expect(world.started.sort((a, b) => a - b)).toEqual(all(10).flatMap((item) => [item, item]));
	});
});

describe('of an execution that was ended, in a node that the user has changed', () => {
	const MESSAGE = /^An earlier attempt may have started a run for this item/;

	/** Thirty items whose runs go on, of which an execution that failed knows; and n8n is killed in its Retry. */
	async function killInRetry(edit: EditSpec): Promise<OwnWorld> {
		const world = new OwnWorld({
			count: 30,
			runOf: (item) => ({ durationMs: (item === 29 ? 10 : 400) * SECOND }),
			savesProgress: true,
			onError: 'stopWorkflow',
		});
		Object.assign(world.runOf(29), { end: 'failed' });
		expect((await world.execute()).error).toBeDefined();
		expect(world.started).toHaveLength(30);
		world.killAfter(8 * SECOND);
		const { attempt } = await world.retry({ workflow: 'saved', edit });
		expect(attempt.status).toBe('crashed');
		return world;
	}

	test.each<[string, EditSpec]>([
		['by its values', { values: 1 }],
		["by its credential's address", { hasMoved: true }],
	])('items that it lets begin again %s are in doubt, and named with nothing', async (_, edit) => {
		const world = await killInRetry(edit);
		const before = world.started.length;
		expect(before).toBeGreaterThan(40);
		const { error } = await world.retry();
		expect(error?.message).toMatch(MESSAGE);
		expect(world.started).toHaveLength(before);
	});

	test('what an item in doubt had started with other values is gone on with, once they are put back', async () => {
		const world = await killInRetry({ values: 1 });
		const before = world.started.length;
		const { error, jsons } = await world.retry({ workflow: 'saved' });
		expect([error, jsons]).toMatchObject([
			{ message: expect.stringMatching(MESSAGE) as string },
			[],
		]);
		expect(error?.context?.runs).toHaveLength(29);
		expect(world.started).toHaveLength(before);
	});

	test.each<[string, EditSpec]>([
		["a 'Get a run'", { operation: 'get', hasWrongKey: true }],
		['a dry run', { operation: 'dryRun', hasWrongKey: true }],
	])('they stay so after %s that has failed', async (_, edit) => {
		const world = await killInRetry({ values: 1 });
		const before = world.started.length;
		expect((await world.retry({ workflow: 'saved', edit })).error).toBeDefined();
		const { error } = await world.retry({ workflow: 'saved', edit: { values: 1 } });
		expect(error?.message).toMatch(MESSAGE);
		expect(created(world)).toHaveLength(before);
	});

	test('items that are not there for one Retry stay so', async () => {
		const kills = [{ atMs: 8 * SECOND, awayMs: SECOND }];
		const isOnce = { now: false };
		const world = new OwnWorld({
			count: 20,
			runOf: (item) => ({
				durationMs: (item === 0 ? 60 : 400) * SECOND,
				...(item === 0 && { end: 'failed' as const }),
			}),
			savesProgress: true,
			kills,
			hand: { input: (items) => (isOnce.now ? items.slice(0, 1) : items) },
		});
		expect((await world.execute()).attempt.status).toBe('crashed');
		expect(world.started).toHaveLength(20);
		isOnce.now = true;
		expect((await world.retry({ workflow: 'saved' })).error?.message).toContain('failed');
		isOnce.now = false;
		await world.retry({ workflow: 'saved' });
		expect(world.started.filter((item) => item > 9)).toHaveLength(10);
	});

	test("a 'Get a run' gets its runs, whatever is in doubt", async () => {
		const world = await killInRetry({ values: 1 });
		const edit = { operation: 'get' as const, waits: false };
		expect((await world.retry({ workflow: 'saved', edit })).items).toHaveLength(30);
	});

	test('runs that are not waited for any more are output as they are', async () => {
		const kills = [{ atMs: 2 * SECOND, awayMs: SECOND }];
		const runOf = () => ({ durationMs: 400 * SECOND });
		const world = new OwnWorld({ count: 3, runOf, kills, savesProgress: true });
		expect((await world.execute()).attempt.status).toBe('crashed');
		const before = world.requests.length;
		const { jsons } = await world.retry({ workflow: 'saved', edit: { waits: false } });
		const runs = [...world.runs].sort((a, b) => itemOf(a) - itemOf(b));
		expect(jsons).toEqual(runs.map(({ id }) => ({ agent_id: 1, run_id: id, status: 'pending' })));
		expect(world.requests).toHaveLength(before);
	});

	test('runs that were not waited for are waited for', async () => {
		const world = new OwnWorld({
			count: 2,
			waits: false,
			options: { maxConcurrency: 1 },
			savesProgress: true,
			onError: 'continueRegularOutput',
			service: { tripMs: [SECOND, SECOND] },
		});
		world.killAfter(1.5 * SECOND);
		expect((await world.execute()).attempt.status).toBe('crashed');
		const { jsons } = await world.retry({ workflow: 'saved', edit: { waits: true } });
		expect(jsons[0]).toMatchObject({ status: 'succeeded', output: '0' });
		expect(world.started).toEqual([0, 1]);
	});

	test('what was a dry run has started nothing', async () => {
		const world = new OwnWorld({
			count: 4,
			operation: 'dryRun',
			savesProgress: true,
			service: { tripMs: [2 * SECOND, 2 * SECOND] },
		});
		world.later(3 * SECOND, () => world.stop());
		expect((await world.execute()).attempt.status).toBe('canceled');
		world.world.executions[0]!.operation = 'create';
		const { jsons } = await world.retry({ workflow: 'saved', changesNode: true });
		expect(jsons.map(({ output }) => output)).toEqual(['0', '1', '2', '3']);
	});

	test('nor does one that was set back by less than the wait', async () => {
		const world = new OwnWorld({
			count: 4,
			options: { maxConcurrency: 1, timeout: 0, pollInterval: 600 },
			service: { tripMs: [2_000, 2_000] },
			runOf: () => ({ durationMs: 480 * SECOND }),
		});
		world.killAfter(605_500);
		world.later(605_800, () => world.setClock(-20 * SECOND));
		expect((await world.execute()).attempt.status).toBe('crashed');
		expect((await world.retry()).error?.message).toMatch(MESSAGE);
		expect(world.started).toEqual([0, 1]);
	});

	test('a clock that was set back proves nothing', async () => {
		const world = new OwnWorld({
			count: 20,
			runOf: () => ({ durationMs: 400 * SECOND }),
			options: { pollInterval: 65, maxConcurrency: 2 },
			service: { tripMs: [10, 10] },
			kills: [{ atMs: 1, afterRequest: 4, awayMs: SECOND }],
		});
		const { attempt } = await world.execute();
		expect(attempt.status).toBe('crashed');
		const before = world.started.length;
		expect(before).toBeGreaterThan(0);
		world.setClock(-3_600 * SECOND);
		expect((await world.retry()).error?.message).toMatch(MESSAGE);
		expect(world.started).toHaveLength(before);
	});
});

describe('of a run that cannot be asked for', () => {
	test.each(['..', '../7', ' a b ', 'a'.repeat(500)])(
		'since its ID is %j, starts no other and asks nothing',
		async (runId) => {
			const respond = () => json(202, { run_id: runId, status: 'pending' });
			const world = new OwnWorld({ hand: { respond } });
			const attempts = [await world.execute(), await world.retry(), await world.retry()];
			for (const { error } of attempts) {
				expect(error?.message).toBe(
					`The run was started, but its ID cannot be used in an address (run ${runId} of agent 1)`,
				);
				expect(error?.description).toContain('looked up at the service');
			}
			expect(world.requests).toHaveLength(1);
		},
	);
});

describe('of an item whose options can no longer be read', () => {
	const runOf = () => ({ durationMs: 1_000 * SECOND });
	const wrong = { timeout: 'soon' };
	const message =
		/^'Time Limit \(Seconds\)' must be .*, not 'soon' \(run [0-9a-f-]+0{12} of agent 1\)$/;

	test('names its run, and keeps it for the next', async () => {
		const world = new OwnWorld({ runOf, options: { timeout: 5 } });
		await world.execute();
		world.world.executions[0]!.options = wrong;
		expect((await world.retry()).error?.message).toMatch(message);
		world.world.executions[0]!.options = {};
		expect((await world.retry()).items).toHaveLength(1);
		expect(world.started).toEqual([0]);
	});

	test('also after a crash', async () => {
		const kills = [{ atMs: 2 * SECOND, awayMs: SECOND }];
		const world = new OwnWorld({ runOf, kills, savesProgress: true });
		await world.execute();
		world.world.executions[0]!.options = wrong;
		expect((await world.retry()).error?.message).toMatch(message);
	});

	test('while one that is done keeps its result', async () => {
		const world = new OwnWorld({
			count: 2,
			runOf: (item) => ({ durationMs: (item === 0 ? 5 : 2_000) * SECOND }),
			onError: 'continueRegularOutput',
		});
		world.later(1_200 * SECOND, () => world.stop());
		await world.execute();
		world.world.executions[0]!.options = wrong;
		const { jsons } = await world.retry();
		expect(jsons).toMatchObject([
			{ output: '0' },
			{ error: expect.stringContaining("not 'soon' (run ") as string },
		]);
	});

	test('but a wait that was stored goes on as it was begun', async () => {
		const world = new OwnWorld({ runOf, options: { pollInterval: 65 } });
		world.later(30 * SECOND, () => (world.world.executions[0]!.options = wrong));
		const { items, parks } = await world.execute();
		expect(parks[0]?.at).toBeLessThan(30 * SECOND);
		expect(items).toHaveLength(1);
	});
});

describe('in a node with other values, of a create that starts nothing', () => {
	const error = { code: 'refused', message: 'No.', request_id: 'r' };

	test('what is said does not name the runs of the old values', async () => {
		const hand: Hand = {};
		const runOf = () => ({ durationMs: 60 * SECOND });
		const world = new OwnWorld({ count: 2, options: { timeout: 5 }, hand, runOf });
		expect((await world.execute()).error).toBeDefined();
		hand.respond = ({ kind }) => (kind === 'create' ? json(400, { error }) : undefined);
		const { error: thrown } = await world.retry({ workflow: 'saved', edit: { values: 1 } });
		const said = `${thrown?.message} ${thrown?.description} ${JSON.stringify(thrown?.context)}`;
		for (const { id } of world.runs) expect(said).not.toContain(id);
		expect(said).not.toContain("'Retry' in Executions keeps");
	});
});

test("a field of the name 'mappingMode' is one that the user has entered", async () => {
	const hand: Hand = {};
	const enter = (region: string) => {
		const value = { mappingMode: 'fast', region, tag: 'e0t0i0' };
		const parameters = { mappingMode: 'defineBelow', value, schema: [] };
		hand.node = { parameters: { parameters } };
		hand.parameters = () => ({ specifyParameters: 'fields', parameters });
	};
	enter('north');
	const runOf = () => ({ durationMs: 60 * SECOND });
	const world = new OwnWorld({ hand, options: { timeout: 5 }, runOf });
	await world.execute();
	enter('south');
	await world.retry({ workflow: 'saved' });
	expect(world.started).toEqual([0, 0]);
});

test("a stored wait goes on where n8n has lost what an option's expression reads", async () => {
	let isLost = false;
	const world: OwnWorld = new OwnWorld({
		runOf: () => ({ durationMs: 1_000 * SECOND }),
		service: { tripMs: [5 * SECOND, 5 * SECOND] },
		hand: {
			parameters: () => ({
				get options() {
					if (isLost) throw new Error("Referenced node doesn't exist");
					return { whereToWait: 'stored', timeout: 0 };
				},
			}),
			respond: ({ kind, sentAt }) => {
				if (kind === 'poll' && sentAt > 60 * SECOND && !isLost) {
					isLost = true;
					world.killAfter(1);
				}
				return undefined;
			},
		},
	});
	expect((await world.execute()).attempt.status).toBe('crashed');
	expect((await world.retry()).jsons).toMatchObject([{ status: 'succeeded', output: '0' }]);
	expect(world.started).toEqual([0]);
});

test('what is not waited for is output by a further attempt as the service has said it', async () => {
	const hand: Hand = {
		respond: ({ kind, tag = '' }) => {
			if (kind !== 'create') return undefined;
			if (itemNumberOf(tag) === 0) return json(400, { error: { code: 'no', message: 'No.' } });
			return json(202, { run_id: 'run-1', status: 'queued', link: 'x' });
		},
	};
	const said = { count: 2, waits: false, maxTries: 2, onError: 'continueRegularOutput' } as const;
	const { jsons } = await new OwnWorld({ ...said, hand }).execute();
	expect(jsons[1]).toEqual({ run_id: 'run-1', status: 'queued', link: 'x', agent_id: 1 });
});

test("a 'Get a run' gives up on one that was never seen as soon as in the first attempt", async () => {
	const fault = { kind: 'redirect', on: 'poll', share: 1, isDone: false, status: 307 } as const;
	const world = new OwnWorld({ operation: 'get', service: { faults: [fault] } });
	const attempts = [await world.execute(), await world.retry()];
	expect(attempts.map(({ ms }) => ms < 60 * SECOND)).toEqual([true, true]);
});
