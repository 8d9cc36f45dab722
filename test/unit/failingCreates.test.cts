import { OwnWorld, execute, type Said } from '../support/simulation/ownWorld.cts';
import { json } from '../support/simulation/world/answers.cts';
import type { Hand } from '../support/simulation/world/hand.cts';

// Each create that fails may have started a run, so few are sent while the service is away.
const SECOND = 1_000;

/** How many of 300 items are in doubt if creates fail from the first second on, for ten minutes. */
async function inDoubt(
	answer: { statusCode: number; headers?: Record<string, string> },
	said: Said = {},
) {
	const respond: Hand['respond'] = ({ kind, arrivedAt }) =>
		kind === 'create' && arrivedAt > SECOND && arrivedAt < 600 * SECOND ? answer : undefined;
	const world = new OwnWorld({
		count: 300,
		onError: 'continueRegularOutput',
		options: { maxConcurrency: 20 },
		service: { tripMs: [5, 20] },
		runOf: () => ({ durationMs: 5 * SECOND }),
		hand: { respond },
		...said,
	});
	const { jsons } = await world.execute();
	return jsons.filter(({ error }) => /may have been started/.test(error as string)).length;
}

test.each<[string, { statusCode: number; headers?: Record<string, string> }]>([
	['a 503', { statusCode: 503 }],
	// A gateway's own text, which it sends however long it is away.
	['a 503 that asks for a second', { statusCode: 503, headers: { 'retry-after': '1' } }],
])('while the service answers with %s, few items are left in doubt', async (_, answer) => {
	expect(await inDoubt(answer)).toBeLessThan(40);
});

test.each([false, true])(
	'where a service accepts requests and answers none, few items are left in doubt (waits: %s)',
	async (waits) => {
		const hangs = { share: 1, isDone: false, status: 0, fromMs: 2 * SECOND, untilMs: 400 * SECOND };
		const faults = (['create', 'poll'] as const).map((on) => ({
			kind: 'timeout' as const,
			on,
			...hangs,
		}));
		const batch: Said = {
			count: 600,
			waits,
			onError: 'continueRegularOutput',
			options: { maxConcurrency: 1_000 },
		};
		const world = new OwnWorld({
			...batch,
			service: { tripMs: [200, 200], faults },
			beside: Array(4).fill(batch),
		});
		await world.execute();
		const all = [0, 1, 2, 3, 4].flatMap((index) => world.seen(index).jsons);
		const doubts = all.filter(({ error }) => /may have been started/.test(error as string));
		expect(doubts.length).toBeLessThan(80);
	},
);

test('one that fails between others that are carried holds up none', async () => {
	const respond: Hand['respond'] = ({ kind, number }) =>
		kind === 'create' && number % 10 === 5 ? { statusCode: 500 } : undefined;
	const said = { hand: { respond }, count: 50, onError: 'continueRegularOutput' } as const;
	const runOf = () => ({ durationMs: 5 * SECOND });
	const { ms, jsons } = await execute({ ...said, runOf, options: { maxConcurrency: 50 } });
	expect(jsons.filter(({ error }) => error !== undefined)).toHaveLength(5);
	expect(ms).toBeLessThan(20 * SECOND);
});

// Without waiting, a create has five minutes; a queue of ten a minute takes longer.
test.each<[string, Said, Parameters<NonNullable<Hand['respond']>>[0]['kind']]>([
	['a create', {}, 'create'],
	['a check', { options: { checkFirst: true } }, 'dryRun'],
	['a poll', { operation: 'get' }, 'poll'],
])(
	'%s that has waited long for its turn is sent again like any other',
	async (_, said, failing) => {
		let hasFailed = false;
		const respond: Hand['respond'] = ({ kind, arrivedAt }) => {
			if (hasFailed || kind !== failing || arrivedAt < 330 * SECOND) return undefined;
			hasFailed = true;
			const code = { code: 'ECONNREFUSED', syscall: 'connect' };
			return new Error('Away', { cause: Object.assign(new Error('connect'), code) });
		};
		const limiter = { kind: 'fixed', limit: 10, windowMs: 60_000, retryAfter: 'seconds' } as const;
		const { error, jsons } = await execute({
			waits: false,
			count: 60,
			service: { limiter },
			hand: { respond },
			...said,
		});
		expect(error).toBeUndefined();
		expect(jsons).toHaveLength(60);
		expect(hasFailed).toBe(true);
	},
);

test('while polls show that the service is away, creates of other executions wait', async () => {
	const respond: Hand['respond'] = ({ arrivedAt }) =>
		arrivedAt > 30 * SECOND && arrivedAt < 300 * SECOND ? { statusCode: 503 } : undefined;
	const runOf = () => ({ durationMs: 60 * SECOND });
	const beside = Array.from({ length: 5 }, (_, number) => ({
		startsAtMs: (60 + 45 * number) * SECOND,
		onError: 'continueRegularOutput' as const,
	}));
	const world = new OwnWorld({ count: 10, runOf, hand: { respond }, beside });
	await world.execute();
	const ends = beside.map((_, index) => world.seen(index + 1).jsons[0]!);
	const inDoubt = ends.filter(({ error }) => /may have been started/.test(error as string));
	// One that tries, for each two minutes.
	expect(inDoubt.length).toBeLessThanOrEqual(2);
	expect(ends.filter(({ status }) => status === 'succeeded').length).toBeGreaterThanOrEqual(3);
});

test('two runs whose polls fail for reasons of their own delay creates once, and fail none', async () => {
	const respond: Hand['respond'] = ({ kind, arrivedAt, runId }) =>
		kind === 'poll' &&
		arrivedAt < 3_000 * SECOND &&
		world.runs.slice(0, 2).some(({ id }) => id === runId)
			? { statusCode: 502 }
			: undefined;
	const runOf = () => ({ durationMs: 5 * SECOND });
	const beside = Array.from({ length: 8 }, (_, number) => ({
		startsAtMs: (60 + 300 * number) * SECOND,
		waits: number % 2 === 0,
	}));
	const options = { pollInterval: 20 };
	const world: OwnWorld = new OwnWorld({ count: 2, runOf, options, hand: { respond }, beside });
	await world.execute();
	const seen = beside.map((_, index) => world.seen(index + 1));
	expect(seen.map(({ error }) => error)).toEqual(Array(8).fill(undefined));
	expect(seen[0]!.ms).toBeLessThan(200 * SECOND);
	expect(Math.max(...seen.slice(1).map(({ ms }) => ms))).toBeLessThan(20 * SECOND);
});

test('one poll alone that fails delays no create of another execution', async () => {
	const respond: Hand['respond'] = ({ kind, arrivedAt }) =>
		kind === 'poll' && arrivedAt < 100 * SECOND ? { statusCode: 502 } : undefined;
	const runOf = () => ({ durationMs: 5 * SECOND });
	const beside = [{ startsAtMs: 50 * SECOND, waits: false }];
	const world = new OwnWorld({ runOf, hand: { respond }, beside });
	await world.execute();
	expect(world.seen(1).ms).toBeLessThan(SECOND);
});

describe('while no connection can be made', () => {
	const respond: Hand['respond'] = ({ arrivedAt }) => {
		if (arrivedAt < 2 * SECOND || arrivedAt > 62 * SECOND) return undefined;
		const code = { code: 'ECONNREFUSED', syscall: 'connect' };
		return new Error('Away', { cause: Object.assign(new Error('connect'), code) });
	};
	const runOf = () => ({ durationMs: 5 * SECOND });

	test('creates wait if the service has answered before', async () => {
		const options = { maxConcurrency: 10 };
		const { jsons } = await execute({ count: 40, runOf, options, hand: { respond } });
		expect(jsons.map(({ status }) => status)).toEqual(
			Array.from({ length: 40 }, () => 'succeeded'),
		);
	});

	test('but not for long, and nothing else waits so', async () => {
		const away: Hand['respond'] = (seen) =>
			seen.arrivedAt > 62 * SECOND
				? respond({ ...seen, arrivedAt: 3 * SECOND }, () => json(200, {}))
				: undefined;
		const beside = (['create', 'get', 'list'] as const).map((operation) => ({
			operation,
			startsAtMs: 70 * SECOND,
			waits: false,
		}));
		const world = new OwnWorld({ runOf, hand: { respond: away }, beside });
		await world.execute();
		const seen = beside.map((_, index) => world.seen(index + 1));
		for (const { error } of seen) {
			expect(error?.message).toMatch(/^No connection to the service could be made/);
		}
		const [create, get, list] = seen.map(({ ms }) => ms);
		expect(create).toBeLessThan(240 * SECOND);
		expect(Math.max(get!, list!)).toBeLessThan(20 * SECOND);
	});

	test('a create fails soon if it has not', async () => {
		const { ms, error } = await execute({ startsAtMs: 3 * SECOND, runOf, hand: { respond } });
		expect(error?.message).toBe('No connection to the service could be made');
		expect(ms).toBeLessThan(20 * SECOND);
	});
});
