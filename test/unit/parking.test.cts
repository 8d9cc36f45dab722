import fc from 'fast-check';

import { execute, OwnWorld, type Said } from '../support/simulation/ownWorld.cts';
import { json } from '../support/simulation/world/answers.cts';
import type { Hand } from '../support/simulation/world/hand.cts';
import type { FaultSpec } from '../support/simulation/world/world.cts';

// The node as it ships, in n8n's engine on virtual time, where n8n stores the execution in between.
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

const lasting = (durationMs: number, said: Said = {}): Said => ({
	runOf: () => ({ durationMs }),
	...said,
});
const inSeconds = (times: number[]) => times.map((ms) => Math.round(ms / SECOND));

type Parks = Awaited<ReturnType<typeof execute>>['parks'];

const delaysOf = (parks: Parks) => parks.map(({ at, until }) => until - at);

describe('a wait that is stored', () => {
	test.each([
		[400, 0],
		[600, 0],
		[3_600, 0],
		[24 * 3_600, 0],
		[330, 450],
		[400, 500],
		[500, 650],
	])(
		'sees the end of a run of %d s at most 20 %% late, with a time limit of %d s',
		async (s, limit) => {
			const options = { timeout: limit };
			const { jsons, ms, world, parks } = await execute(lasting(s * SECOND, { options }));
			expect(jsons).toMatchObject([{ status: 'succeeded', output: '0' }]);
			expect(world.runs).toHaveLength(1);
			if (limit === 0) expect(parks.length).toBeGreaterThan(0);
			expect(ms - s * SECOND).toBeGreaterThanOrEqual(0);
			expect(ms - s * SECOND).toBeLessThanOrEqual(s * SECOND * 0.2 + 1);
		},
	);

	test.each(['serverError', 'reset', 'html200', 'stray429'] as const)(
		'goes on through an hour of faults (%s), and is stored all the while',
		async (kind) => {
			const when = { fromMs: 400 * SECOND, untilMs: HOUR };
			const fault: FaultSpec = { kind, on: 'poll', share: 1, isDone: true, status: 503, ...when };
			const said: Said = { options: { timeout: 0 }, service: { faults: [fault] } };
			const { jsons, parks } = await execute(lasting(2 * HOUR, said));
			expect(jsons).toMatchObject([{ output: '0' }]);
			expect(Math.min(...delaysOf(parks))).toBeGreaterThanOrEqual(65 * SECOND);
			expect(parks.length).toBeGreaterThan(10);
		},
	);

	test('a Retry-After longer than the delay is waited out, whatever the answer', async () => {
		for (const statusCode of [429, 503]) {
			let asked = 0;
			const hand: Hand = {
				respond({ kind, sentAt }) {
					if (kind === 'create' || asked > 0 || sentAt < 400 * SECOND) return undefined;
					asked = sentAt;
					return { statusCode, headers: { 'retry-after': '900' } };
				},
			};
			const { world } = await execute(lasting(HOUR, { options: { timeout: 0 }, hand }));
			const next = world.requests.find(({ sentAt }) => sentAt > asked)!;
			expect(next.sentAt - asked).toBeGreaterThanOrEqual(900 * SECOND);
		}
	});

	test('a run whose answer asks clients to back off is not polled meanwhile', async () => {
		const hand: Hand = {
			respond: ({ number }, own) =>
				number === 1 ? { ...own(), headers: { 'retry-after': '50' } } : undefined,
		};
		const { world } = await execute(lasting(100 * SECOND, { hand }));
		const [first = 0, second = 0] = world.polledAt;
		expect(second - first).toBeGreaterThanOrEqual(50 * SECOND);
	});

	test('polls at delays that grow from 65 s to ten minutes, some six times an hour later on', async () => {
		const { parks, world } = await execute(lasting(12 * HOUR, { options: { timeout: 0 } }));
		const delays = delaysOf(parks);
		expect(delays[0]).toBeGreaterThanOrEqual(65 * SECOND);
		expect(delays[0]).toBeLessThan(75 * SECOND);
		expect(delays.at(-1)).toBeCloseTo(600 * SECOND, 0);
		expect(world.polledAt.length).toBeLessThan(115);
	});

	test('a poll after a rest may take ten seconds, and no more', async () => {
		const { parks, world } = await execute(lasting(HOUR, { options: { timeout: 0 } }));
		expect(parks.length).toBeGreaterThan(0);
		const last = world.requests.slice(-parks.length).map(({ timeoutMs }) => timeoutMs);
		expect(last).toEqual(parks.map(() => 10_000));
	});

	test('ends at the time limit, with a last poll at it and none after it', async () => {
		await fc.assert(
			fc.asyncProperty(
				fc.integer({ min: 1, max: 20_000 }),
				fc.integer({ min: 66, max: 20_000 }),
				fc.constantFrom(0, 30, 65, 90, 1_000),
				fc.constantFrom('auto', 'stored', 'memory'),
				async (duration, timeout, pollInterval, whereToWait) => {
					const { jsons, world } = await execute(
						lasting(duration * SECOND, {
							options: { timeout, pollInterval, whereToWait },
							onError: 'continueRegularOutput',
						}),
					);
					const last = world.polledAt.at(-1)!;
					// n8n stores no less than 65 s, and what is due 5 s sooner rests along.
					expect(last).toBeLessThanOrEqual(timeout * SECOND + 5 * SECOND);
					if (duration <= timeout) expect(jsons).toMatchObject([{ output: '0' }]);
					else expect(jsons[0]?.error).toContain('has not finished within');
					if (duration > timeout) expect(last).toBeGreaterThanOrEqual(timeout * SECOND);
				},
			),
			{ numRuns: 30 },
		);
	});

	test('an execution that is resumed after the time limit still has its last poll', async () => {
		const { jsons } = await execute(lasting(600 * SECOND, { resumesLateMs: 48 * HOUR }));
		expect(jsons).toMatchObject([{ output: '0' }]);
	});

	test('resumed when n8n has just started, it stays in memory for a minute', async () => {
		const { world, parks } = await execute(
			lasting(300 * SECOND, {
				options: { pollInterval: 65 },
				// It is back 20 s after the date, both times.
				kills: [60, 205].map((s) => ({ atMs: s * SECOND, awayMs: 25 * SECOND })),
			}),
		);
		const gaps = world.polledAt.map((at, index, all) => at - (all[index - 1] ?? 0));
		// 65 s, the delay of the resume and 30 s for n8n's recovery; after a minute in memory all is polled
		// that is due soon.
		expect(inSeconds(gaps).slice(0, 4)).toEqual([115, 30, 115, 30]);
		expect(parks).toHaveLength(3);
	});

	test('resumed late, when n8n has long been up, it is polled and stored again at once', async () => {
		const options = { pollInterval: 65 };
		const said = lasting(300 * SECOND, { options, resumesLateMs: 20 * SECOND });
		const { parks, world } = await execute(said);
		expect(inSeconds(world.polledAt)).toEqual([85, 170, 255, 340]);
		expect(parks).toHaveLength(4);
	});
});

test("n8n's engine v2 is asked for nothing, neither for a checkpoint nor to store a wait", async () => {
	const hand: Hand = { settings: { engineType: 'v2' } };
	const { jsons, parks, hints, attempt } = await execute(
		lasting(HOUR / 2, { savesProgress: true, hand }),
	);
	expect(jsons).toMatchObject([{ status: 'succeeded' }]);
	expect(parks).toEqual([]);
	expect(attempt.calls).toHaveLength(1);
	expect(hints).toEqual([expect.stringContaining('engine v2')]);
});

describe('a tool that outputs a run which has not finished', () => {
	const hand: Hand = { node: { type: 'agentInvocationTool' } };
	const advice = expect.stringMatching(/Do not start another one/) as string;

	test.each<[string, Said]>([
		['at its time limit', { options: { timeout: 50, onTimeout: 'output' } }],
		['without waiting', { waits: false }],
	])('gives advice: %s', async (_, said) => {
		const { jsons, world } = await execute(lasting(HOUR, { ...said, hand }));
		expect(jsons).toMatchObject([{ run_id: expect.any(String) as string, advice }]);
		expect(world.runs).toHaveLength(1);
		const [plain] = (await execute(lasting(HOUR, said))).jsons;
		expect(plain).toHaveProperty('run_id');
		expect(plain).not.toHaveProperty('advice');
	});

	test('and none once it has finished', async () => {
		const { jsons } = await execute(lasting(SECOND, { hand }));
		expect(jsons).toMatchObject([{ status: 'succeeded' }]);
		expect(jsons[0]).not.toHaveProperty('advice');
	});
});

describe('many items', () => {
	test('those that are not begun keep no others from being stored, and begin when their turn comes', async () => {
		const options = { maxConcurrency: 5 };
		const { jsons, parks, world } = await execute(lasting(HOUR / 3, { count: 25, options }));
		const all = [...Array(25).keys()];
		expect(jsons.map(({ output }) => output)).toEqual(all.map(String));
		expect([...world.started].sort((a, b) => a - b)).toEqual(all);
		const begunBy = parks.map(
			({ at }) => world.runs.filter(({ createdAt }) => createdAt <= at).length,
		);
		expect(begunBy[0]).toBe(5);
		expect(begunBy).toContain(10);
	});

	test('waits of different ages rest together', async () => {
		const { parks } = await execute({
			count: 30,
			options: { maxConcurrency: 30 },
			runOf: (item) => ({ durationMs: (1_000 + 40 * item) * SECOND }),
			service: { tripMs: [2_000, 2_000] },
		});
		const delays = delaysOf(parks);
		for (const delay of delays) expect(delay).toBeGreaterThanOrEqual(65 * SECOND);
		// Had each its own time, they would hardly ever rest.
		const rested = delays.reduce((sum, delay) => sum + delay, 0);
		expect(rested).toBeGreaterThan(0.5 * 1_000 * SECOND);
	});
});

describe('what n8n stores for the node', () => {
	test('is at most 500 bytes an item besides the outputs, and nothing more for each poll', async () => {
		const { attempt } = await execute({
			count: 50,
			options: { maxConcurrency: 50, timeout: 0 },
			runOf: (item) => ({ durationMs: item < 10 ? 100 * SECOND : HOUR }),
		});
		const parked = attempt.saves.filter(({ why }) => why === 'park');
		const sizes = parked.map(({ memory }) => memory.length);
		expect(sizes.length).toBeGreaterThan(5);
		expect(Math.max(...sizes)).toBeLessThan(500 * 50);
		expect(sizes.at(-1)! / sizes[0]!).toBeLessThan(1.05);
	});

	test('is nothing once it has succeeded', async () => {
		const { parks, attempt } = await execute(lasting(HOUR / 2, { count: 3 }));
		expect(parks.length).toBeGreaterThan(0);
		expect(attempt.saves.at(-1)?.memory).toBe('{}');
	});
});

describe('what goes on while the execution is stored', () => {
	/** Parks a run for 65 s, and changes something after 30. */
	async function change(act: (world: OwnWorld, hand: Hand) => void, said: Said) {
		const hand: Hand = {};
		const world = new OwnWorld({ ...said, options: { pollInterval: 65, ...said.options }, hand });
		world.later(30 * SECOND, () => act(world, hand));
		return { world, ...(await world.execute()) };
	}

	test.each([
		['is back', 600 * SECOND, undefined],
		['is not back by the time limit', HOUR, 'did not say'],
	])('a credential that cannot be read, and %s', async (_, forMs, says) => {
		const { jsons, error } = await execute(
			lasting(1_000 * SECOND, {
				options: { pollInterval: 65, timeout: 2_000 },
				credentialAway: { fromMs: 30 * SECOND, forMs },
			}),
		);
		if (says === undefined) expect(jsons).toMatchObject([{ output: '0' }]);
		else expect(error?.message).toContain(says);
	});

	test('a credential that is gone, or has another address, ends the wait and names the run', async () => {
		const message = 'Credential with ID "1" does not exist for type "agentInvocationApi".';
		const gone = () => Promise.reject(new Error(message));
		const elsewhere = () =>
			Promise.resolve({ baseUrl: 'https://elsewhere.example.com/api/v1', apiKey: 'k' });
		for (const credential of [gone, elsewhere]) {
			const given = await change((_, hand) => (hand.credential = credential), lasting(HOUR));
			expect(given.error?.message).toContain(given.world.runs[0]!.id);
			expect(given.world.requests).toHaveLength(1);
		}
	});

	test.each([
		['back', -HOUR],
		['ahead', 24 * HOUR],
	])('a clock that is set %s: never more than one delay late', async (_, byMs) => {
		const said = lasting(90 * SECOND, { options: { timeout: 0 } });
		const { jsons, ms } = await change((world) => world.setClock(byMs), said);
		expect(jsons).toMatchObject([{ output: '0' }]);
		expect(ms).toBeLessThanOrEqual((65 + 130) * SECOND);
	});

	test("n8n's Retry of a crashed execution waits for the runs, and starts none that may have begun", async () => {
		const world = new OwnWorld(
			lasting(1_000 * SECOND, {
				count: 3,
				options: { pollInterval: 65, maxConcurrency: 2 },
				onError: 'continueRegularOutput',
				service: { tripMs: [SECOND, SECOND] },
				// While the third one begins, which n8n has not stored.
				kills: [{ afterRequest: 35, atMs: 700, awayMs: HOUR }],
			}),
		);
		await world.execute();
		expect(world.started).toEqual([0, 1, 2]);
		const { jsons, ms } = await world.retry();
		expect(world.started).toEqual([0, 1, 2]);
		expect(jsons.map(({ output, error }) => output ?? error)).toEqual([
			'0',
			'1',
			expect.stringContaining('may have started a run'),
		]);
		// n8n's recovery is over when somebody retries.
		expect(ms).toBeLessThan(2 * SECOND);
	});
});

describe('Retry On Fail', () => {
	const failing = (error: string) => ({ end: 'failed' as const, shown: { error } });
	const retryOnFail = { maxTries: 3 };

	test('of an output that n8n takes for a failed attempt starts no run twice', async () => {
		const { jsons, world, attempt } = await execute({
			count: 3,
			options: { onUnsuccessfulRun: 'output' },
			runOf: (item) => (item === 0 ? failing('item 0') : {}),
			...retryOnFail,
		});
		expect(attempt.calls).toHaveLength(3);
		expect(jsons).toMatchObject([{ status: 'failed', error: 'item 0' }, {}, {}]);
		expect([...world.started].sort()).toEqual([0, 1, 2]);
	});

	test('parks also where n8n passes no response to the second attempt', async () => {
		const { parks, hints, world } = await execute({
			runOf: () => ({ durationMs: 400 * SECOND, ...failing('it') }),
			options: { pollInterval: 65 },
			onError: 'continueRegularOutput',
			...retryOnFail,
		});
		const second = world.runs[1]!.createdAt;
		expect(parks.filter(({ at }) => at >= second).length).toBeGreaterThan(5);
		expect(hints).toEqual([]);
	});

	test.each([0, 65])(
		'makes as many attempts as it allows and no more (interval: %d)',
		async (pollInterval) => {
			const world = new OwnWorld({
				count: 2,
				options: { pollInterval },
				runOf: (item) => ({
					durationMs: (100 + item) * SECOND,
					...(item === 0 && failing('item 0')),
				}),
				...retryOnFail,
			});
			expect((await world.execute()).error?.message).toContain('failed: item 0');
			// The failed run is started again by each attempt, the other one once.
			expect(world.started).toEqual([0, 1, 0, 0]);
			expect((await world.retry()).error?.message).toContain('failed: item 0');
			expect(world.runs).toHaveLength(7);
		},
	);

	test("within a workflow's timeout, every attempt ends before it and names the run", async () => {
		const options = { pollInterval: 65 };
		const said = lasting(HOUR, { options, workflowTimeoutS: 300, ...retryOnFail });
		const { error, ms, world } = await execute(said);
		expect(error?.message).toMatch(
			/has not finished before the workflow's own timeout \(run [0-9a-f-]+ of agent 1\)$/,
		);
		expect(ms).toBeLessThan(290 * SECOND);
		expect(world.runs).toHaveLength(1);
	});

	test('a value that changes by itself starts no second run within an execution', async () => {
		const said = lasting(10 * SECOND, { options: { timeout: 5 }, ...retryOnFail });
		const world = new OwnWorld(said);
		world.world.executions[0]!.items[0]!.isVolatile = true;
		expect((await world.execute()).items).toHaveLength(1);
		expect(world.runs).toHaveLength(1);
	});
});

describe("n8n's Retry", () => {
	const rejected = json(400, { error: { code: 'odd', message: 'rejected', request_id: 'r' } });

	test('a run that was not waited for, and whose item had its output, is waited for now', async () => {
		const hand: Hand = { respond: ({ number }) => (number === 1 ? rejected : undefined) };
		const options = { maxConcurrency: 1 };
		const world = new OwnWorld(lasting(10 * SECOND, { count: 2, options, waits: false, hand }));
		expect((await world.execute()).error?.message).toContain('rejected');
		world.world.executions[0]!.waits = true;
		expect((await world.retry()).jsons).toMatchObject([{ output: '0' }, { output: '1' }]);
		expect(world.started).toEqual([0, 1]);
	});
});
