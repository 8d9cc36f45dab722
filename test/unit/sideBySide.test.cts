import fc from 'fast-check';

import { execute, OwnWorld, type Said } from '../support/simulation/ownWorld.cts';
import { answerOf } from '../support/simulation/world/answers.cts';
import {
	itemNumberOf,
	type Attempt,
	type SeenRequest,
} from '../support/simulation/world/history.cts';

// Which items are under way at the same time, and in which order they begin.
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const all = (count: number) => [...Array(count).keys()];

/** How many runs were under way, as the node knows, when each one was asked for. */
function underWay({ requests, runs }: OwnWorld): number[] {
	return runs.map(({ request }) => {
		const { sentAt, number } = request!;
		const before = runs.filter((run) => run.request!.number < number);
		const isSeen = ({ id }: (typeof runs)[0]) =>
			requests.some(
				({ runId, said, answeredAt }) =>
					runId === id && said === 'finished' && answeredAt <= sentAt,
			);
		return before.filter((run) => !isSeen(run)).length + 1;
	});
}

/** The first time that n8n has stored something of the node while it went on. */
const checkpointOf = ({ saves }: Attempt) =>
	saves.find(({ why, memory }) => why === 'progress' && memory !== '{}')!;

test('items begin in order, each once, and never too many at a time', async () => {
	const plan = fc.record({ ms: fc.nat(20_000), fails: fc.boolean() });
	await fc.assert(
		fc.asyncProperty(
			fc.array(plan, { minLength: 1, maxLength: 15 }),
			fc.integer({ min: 1, max: 6 }),
			async (plans, maxConcurrency) => {
				const { world, jsons } = await execute({
					count: plans.length,
					runOf: (item) => ({
						durationMs: plans[item]!.ms,
						...(plans[item]!.fails && { end: 'failed', shown: {} }),
					}),
					options: { maxConcurrency },
					onError: 'continueRegularOutput',
				});
				const begunAt = all(plans.length).map(
					(item) => world.runs[world.started.indexOf(item)]!.createdAt,
				);
				expect(world.runs).toHaveLength(plans.length);
				expect(begunAt).toEqual([...begunAt].sort((a, b) => a - b));
				expect(jsons.map((output) => 'error' in output)).toEqual(plans.map(({ fails }) => fails));
				expect(Math.max(...underWay(world))).toBeLessThanOrEqual(maxConcurrency);
			},
		),
		{ numRuns: 30 },
	);
});

test('each is polled when it is due, however many wait', async () => {
	const intervalOf = (item: number) => 5 + ((item * 37) % 60);
	const { world } = await execute({
		count: 40,
		runOf: () => ({ durationMs: 3 * MINUTE }),
		hand: {
			parameters: (item) => ({
				options: { maxConcurrency: 60, whereToWait: 'memory', pollInterval: intervalOf(item) },
			}),
		},
	});
	for (const { id, createdAt, tag } of world.runs) {
		const polls = world.requests.filter(({ runId }) => runId === id);
		const interval = intervalOf(itemNumberOf(tag)) * SECOND;
		const late = polls.map(({ sentAt }, poll) => sentAt - createdAt - (poll + 1) * interval);
		expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
		// Each by as long as one more request had to wait for its turn.
		expect(Math.max(...late)).toBeLessThan(SECOND);
		expect(polls).toHaveLength(Math.ceil((3 * MINUTE) / interval));
	}
});

test('a failure that ends the node begins no further item, and waits for the creates under way', async () => {
	for (const seed of all(5)) {
		const { world, error } = await execute({
			seed,
			count: 100,
			options: { maxConcurrency: 3 },
			runOf: () => ({ durationMs: MINUTE }),
			service: { tripMs: [SECOND, 9 * SECOND] },
			hand: {
				respond: (seen) => (seen.tag === 'e0t0i1' ? answerOf('rejected', seen) : undefined),
			},
		});
		expect(error?.context).toMatchObject({ itemIndex: 1 });
		expect([...world.started].sort()).toEqual([0, 2]);
		expect(error?.context?.runs).toHaveLength(2);
	}
});

describe('with the automatic concurrency', () => {
	/** When the runs of thirty items were started, in s. */
	const startedAt = async (endOf: (item: number) => number, said: Said = {}) => {
		const runOf = (item: number) => ({ durationMs: endOf(item) });
		const seen = await execute({ count: 30, runOf, ...said });
		return { ...seen, at: seen.world.runs.map(({ createdAt }) => createdAt / SECOND) };
	};
	const expectBetween = (times: number[], from: number, until: number) => {
		expect(Math.min(...times)).toBeGreaterThanOrEqual(from);
		expect(Math.max(...times)).toBeLessThanOrEqual(until);
	};

	test('ten items show the way; all others begin once one of them is done', async () => {
		const { at } = await startedAt((item) => (item === 4 ? 2_000 : MINUTE));
		expectBetween(at.slice(0, 10), 0, 0.5);
		expectBetween(at.slice(10), 2, 5);
	});

	test('or once all ten have gone on for four seconds, before anything is parked', async () => {
		const { at, parks } = await startedAt(() => 10 * MINUTE, { options: { pollInterval: 65 } });
		expectBetween(at.slice(0, 10), 0, 0.5);
		expectBetween(at.slice(10), 4, 8);
		expect(parks[0]!.at).toBeGreaterThanOrEqual(Math.max(...at) * SECOND);
	});

	test('ten items are parked at once, as nothing is left to begin', async () => {
		const { parks } = await execute({
			count: 10,
			runOf: () => ({ durationMs: 10 * MINUTE }),
			options: { pollInterval: 65 },
		});
		expect(parks[0]!.at).toBeLessThan(SECOND);
	});

	test('where progress is saved, too', async () => {
		const said: Said = { savesProgress: true, options: { pollInterval: 65 } };
		const { at, attempt } = await startedAt(() => 10 * MINUTE, said);
		expectBetween(at.slice(10), 4, 8);
		expect(checkpointOf(attempt).at).toBeLessThan(5 * SECOND);
	});

	test('a failure costs ten runs at most where the node stops at it', async () => {
		const { world, error } = await execute({
			count: 100,
			runOf: (item) =>
				item === 3 ? { durationMs: 4_000, end: 'failed', shown: {} } : { durationMs: MINUTE },
		});
		expect(error?.message).toContain('failed');
		expect(world.runs).toHaveLength(10);
	});

	test('while all fail, ten at a time are tried', async () => {
		const { world } = await execute({
			count: 30,
			runOf: () => ({ durationMs: SECOND, end: 'failed', shown: {} }),
			onError: 'continueRegularOutput',
		});
		expect(world.runs).toHaveLength(30);
		expect(Math.max(...underWay(world))).toBe(10);
	});
});

test('a checkpoint comes once the first items have begun, and before any other does', async () => {
	const { world, attempt } = await execute({
		count: 25,
		options: { maxConcurrency: 5 },
		savesProgress: true,
		service: { tripMs: [SECOND, 2 * SECOND] },
		// Each is done as soon as it has begun.
		waits: false,
	});
	const { at } = checkpointOf(attempt);
	const sent = world.requests.filter(({ kind, sentAt }) => kind === 'create' && sentAt < at);
	expect(sent).toHaveLength(5);
	expect(world.runs.filter(({ createdAt }) => createdAt < at)).toHaveLength(5);
});

describe('a checkpoint does not wait for creates that are put off', () => {
	/** The items whose runs were started twice by n8n's Retry, after n8n was killed at that time. */
	async function startedTwice(killedAt: number, said: Said) {
		const world = new OwnWorld({ savesProgress: true, ...said });
		world.killAfter(killedAt);
		const { attempt } = await world.execute();
		expect(attempt.status).toBe('crashed');
		const first = [...world.started];
		delete world.world.service.quota;
		await world.retry({ afterMs: SECOND });
		const again = world.started.slice(first.length).filter((item) => first.includes(item));
		return { attempt, first, again };
	}

	test('by a limit of requests', async () => {
		const { attempt, first, again } = await startedTwice(240 * SECOND, {
			count: 120,
			service: {
				tripMs: [100, 100],
				limiter: { kind: 'fixed', limit: 8, windowMs: 30_000, retryAfter: 'seconds' },
			},
			runOf: () => ({ durationMs: 5 * SECOND }),
		});
		expect(first.length).toBeGreaterThan(8);
		expect(checkpointOf(attempt).at).toBeLessThan(MINUTE);
		expect(again).toEqual([]);
	});

	test.each([10, 40])('by a limit of runs, of %d items', async (count) => {
		const { attempt, first, again } = await startedTwice(10 * MINUTE, {
			count,
			service: { tripMs: [100, 100], quota: { runs: 9 } },
			runOf: () => ({ durationMs: 15 * MINUTE }),
		});
		expect(first).toHaveLength(9);
		expect(checkpointOf(attempt).at).toBeLessThan(10 * SECOND);
		expect(again).toEqual([]);
	});

	test('and is made again while others begin', async () => {
		const world = new OwnWorld({
			count: 40,
			savesProgress: true,
			options: { whereToWait: 'memory', pollInterval: 60 },
			service: {
				tripMs: [100, 100],
				limiter: { kind: 'fixed', limit: 6, windowMs: 10_000, retryAfter: 'seconds' },
			},
			runOf: () => ({ durationMs: 20 * MINUTE }),
		});
		world.killAfter(15 * MINUTE);
		const { attempt } = await world.execute();
		expect(attempt.status).toBe('crashed');
		const saves = attempt.saves.filter(({ why, memory }) => why === 'progress' && memory !== '{}');
		expect(saves.length).toBeGreaterThan(1);
		expect(saves.length).toBeLessThan(10);
		expect(saves.at(-1)!.memory.match(/"is":"waiting"/g)!.length).toBeGreaterThanOrEqual(10);
	});

	test('nor does one that is put off after it keep others from beginning', async () => {
		const world = new OwnWorld({
			count: 40,
			savesProgress: true,
			options: { whereToWait: 'memory' },
			service: { tripMs: [100, 100] },
			hand: {
				respond: ({ tag, kind, sentAt }) =>
					kind === 'create' && itemNumberOf(tag!) === 9 && sentAt < 60 * MINUTE
						? { statusCode: 429, headers: { 'retry-after': '300' } }
						: undefined,
			},
			runOf: () => ({ durationMs: 2 * MINUTE }),
		});
		world.world.executions[0]!.items[9]!.ownKey = true;
		await world.execute();
		const others = world.runs.filter(({ tag }) => itemNumberOf(tag) !== 9);
		expect(others).toHaveLength(39);
		expect(Math.max(...others.map(({ createdAt }) => createdAt))).toBeLessThan(MINUTE);
	});

	test('also where the first item has failed, and the others begin late', async () => {
		const { first, again } = await startedTwice(20 * MINUTE, {
			count: 30,
			onError: 'continueRegularOutput',
			options: { whereToWait: 'memory' },
			service: { tripMs: [100, 100], quota: { runs: 5 } },
			hand: {
				respond: ({ kind, tag, sentAt }) => {
					if (kind !== 'create') return undefined;
					if (itemNumberOf(tag!) === 0) return { statusCode: 401 };
					const isHeld = sentAt < 9 * SECOND;
					return isHeld ? { statusCode: 429, headers: { 'retry-after': '10' } } : undefined;
				},
			},
			runOf: () => ({ durationMs: 30 * MINUTE }),
		});
		expect(first).toHaveLength(5);
		expect(again).toEqual([]);
	});

	test('also where a connection has failed before', async () => {
		let failures = 1;
		const { first, again } = await startedTwice(10 * MINUTE, {
			count: 10,
			options: { whereToWait: 'memory' },
			service: { tripMs: [100, 100], quota: { runs: 9 } },
			hand: {
				respond: (seen) =>
					seen.kind === 'create' && itemNumberOf(seen.tag!) === 9 && failures-- > 0
						? answerOf('refused', seen)
						: undefined,
			},
			runOf: () => ({ durationMs: 15 * MINUTE }),
		});
		expect(first).toHaveLength(9);
		expect(again).toEqual([]);
	});

	test('nor does a list of agents that was begun for one that is taken back fail others', async () => {
		const isOther = ({ key }: SeenRequest) => key !== 0;
		const world = new OwnWorld({
			count: 40,
			savesProgress: true,
			agentMode: 'name',
			onError: 'continueRegularOutput',
			service: { tripMs: [100, 100] },
			hand: {
				respond: (seen) =>
					seen.kind === 'list' && isOther(seen) && seen.sentAt < 60 * SECOND
						? { statusCode: 429, headers: { 'retry-after': '20' } }
						: undefined,
			},
			runOf: () => ({ durationMs: 2 * MINUTE }),
		});
		for (const [index, item] of world.world.executions[0]!.items.entries()) {
			item.ownKey = index % 4 === 3;
		}
		const { jsons } = await world.execute();
		expect(jsons.map(({ output }) => output)).toEqual(all(40).map(String));
	});

	test('nor before there is a run to save', async () => {
		const world = new OwnWorld({
			count: 30,
			savesProgress: true,
			onError: 'continueRegularOutput',
			options: { whereToWait: 'memory' },
			hand: {
				respond: ({ tag, kind }) =>
					kind === 'create' && itemNumberOf(tag!) < 12 ? { statusCode: 401 } : undefined,
			},
			service: { tripMs: [100, 100] },
			runOf: () => ({ durationMs: 20 * MINUTE }),
		});
		world.killAfter(10 * MINUTE);
		const { attempt } = await world.execute();
		expect(checkpointOf(attempt).memory).toContain('"is":"waiting"');
		const before = world.started.length;
		await world.retry({ afterMs: SECOND });
		expect(world.started).toHaveLength(before);
	});

	test('but does not add repetitions to a create that fails', async () => {
		const { world } = await execute({
			count: 2,
			savesProgress: true,
			onError: 'continueRegularOutput',
			options: { retryCreateOnServerError: true },
			service: { tripMs: [10, 10] },
			hand: {
				respond: ({ tag, kind }) =>
					kind === 'create' && itemNumberOf(tag!) === 1 ? { statusCode: 500 } : undefined,
			},
			runOf: () => ({ durationMs: MINUTE }),
		});
		const creates = world.requests.filter(
			({ kind, tag }) => kind === 'create' && itemNumberOf(tag!) === 1,
		);
		expect(creates).toHaveLength(5);
	});

	test('but for one that is under way, beside which others begin', async () => {
		const unanswered = {
			kind: 'timeout',
			on: 'create',
			share: 1,
			isDone: true,
			status: 0,
		} as const;
		const { world, attempt } = await execute({
			count: 40,
			savesProgress: true,
			onError: 'continueRegularOutput',
			service: { tripMs: [100, 100], faults: [{ ...unanswered, share: 0.1, untilMs: 50 }] },
			runOf: () => ({ durationMs: 5 * MINUTE }),
		});
		const lost = world.requests.filter(({ kind, status }) => kind === 'create' && !status);
		expect(lost).not.toEqual([]);
		const { at } = checkpointOf(attempt);
		expect(at).toBeGreaterThanOrEqual(Math.max(...lost.map(({ answeredAt }) => answeredAt)));
		expect(world.runs.filter(({ createdAt }) => createdAt < at)).toHaveLength(40);
		expect(world.started).toHaveLength(40);
	});
});
