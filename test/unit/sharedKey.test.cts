import { RateLimiter } from '../../nodes/AgentInvocation/service/rateLimiter.ts';
import { isWithinTarget, simulateCell, type Cell } from '../support/simulation/cells.cts';
import { execute, OwnWorld, type Said } from '../support/simulation/ownWorld.cts';
import { json } from '../support/simulation/world/answers.cts';
import type { Hand } from '../support/simulation/world/hand.cts';
import type { SeenRequest } from '../support/simulation/world/history.cts';
import type { ServiceSpec } from '../support/simulation/world/world.cts';

// Several executions of the node as it ships, with one key, on virtual time.

const cell: Cell = {
	limiter: 'sliding window',
	rate: 20,
	saysRetryAfter: true,
	roundTripMs: 50,
	items: 100,
	executions: 1,
};

/** A service that carries so many requests in any second. */
const carrying = (limit: number): Partial<ServiceSpec> => ({
	tripMs: [50, 50],
	limiter: { kind: 'sliding', limit, windowMs: 1_000, retryAfter: 'seconds' },
});

/** An execution of so many items, which waits for all of them at a time. */
const of = (count: number, said: Said = {}): Said => ({
	count,
	options: { timeout: 0, maxConcurrency: 1_000 },
	...said,
});

test.each<Partial<Cell>>([
	{ rate: 5 },
	{ rate: 5, limiter: 'token bucket, 0.1 s', saysRetryAfter: false },
	{ limiter: 'fixed window, begun 0.3 s before' },
	{ limiter: 'token bucket, 1 s', roundTripMs: 200 },
	{ rate: 100, items: 1_000 },
	{ rate: 100, items: 100, executions: 20, limiter: 'token bucket, 0.1 s' },
])('%j: at most 1.3 times the least time, and at most 5 %% or 25 refused', async (difference) => {
	const result = await simulateCell({ ...cell, ...difference });
	expect(isWithinTarget(result)).toBe(true);
});

test.each([1, 2, 3, 4, 5, 6])(
	'a first burst of which some are refused does not hold the pace down (%d)',
	async (seed) => {
		const limiter = 'token bucket, 0.1 s';
		const burst = { limiter, rate: 100, saysRetryAfter: false, roundTripMs: 5, items: 500, seed };
		expect((await simulateCell({ ...cell, ...burst })).ratio).toBeLessThan(2);
	},
);

test('twenty executions of ten items: all succeed, and at most 5 % are refused', async () => {
	const result = await simulateCell({ ...cell, items: 10, executions: 20 });
	expect(result.refusedShare).toBeLessThanOrEqual(0.05);
});

describe('where the service has no limit', () => {
	test.each([
		[300, 1_000, 5_000],
		[1_000, 2_000, 12_000],
	])('%d items of %d ms end within %d ms', async (count, durationMs, mostMs) => {
		const service = { tripMs: [20, 20] as [number, number] };
		const { ms } = await execute(of(count, { runOf: () => ({ durationMs }), service }));
		expect(ms).toBeLessThan(mostMs);
	});

	test('100 items take at most 1.5 times as long as one', async () => {
		const service = { tripMs: [50, 50] as [number, number] };
		const one = await execute(of(1, { service }));
		const many = await execute(of(100, { service }));
		expect(many.ms).toBeLessThan(1.5 * one.ms);
	});
});

test('a request takes its place in the queue once, however long the queue', async () => {
	const admit = jest.spyOn(RateLimiter.prototype, 'admit');
	const { world } = await execute(of(300, { service: carrying(5) }));
	expect(admit).toHaveBeenCalledTimes(world.requests.length);
	admit.mockRestore();
});

test('one item beside an execution of 500 has its run within a second', async () => {
	const beside = [of(1, { startsAtMs: 10_000 })];
	const { world } = await execute(of(500, { service: carrying(20), beside }));
	expect(world.runsOf(1)[0]!.createdAt - 10_000).toBeLessThan(1_000);
	expect(world.runs).toHaveLength(501);
});

test('a service that carries ten runs at a time gets all of a hundred, one after the other', async () => {
	const service: Partial<ServiceSpec> = { tripMs: [50, 50], quota: { runs: 10 } };
	const { jsons, ms, world } = await execute(of(100, { service }));
	expect(jsons.filter(({ status }) => status === 'succeeded')).toHaveLength(100);
	expect(world.runs).toHaveLength(100);
	// The least is 20 s. Such a limit is not one of requests, so the rate that is found is too low.
	expect(ms).toBeLessThan(90_000);
});

describe('where the rate limit refuses one kind of requests for ever, and another execution is carried', () => {
	/** The other one starts its run first, and polls it for days. */
	const besideOne = (said: Said, refused: SeenRequest['kind']) =>
		execute({
			startsAtMs: 1_000,
			...said,
			hand: {
				respond: ({ kind, sentAt }) =>
					kind === refused && sentAt >= 1_000 ? { statusCode: 429 } : undefined,
			},
			beside: [
				{
					options: { timeout: 0, pollInterval: 60 },
					runOf: () => ({ durationMs: 3 * 86_400_000 }),
				},
			],
		});

	test('a create is given up after a day, and so the node ends', async () => {
		const { error, ms, world } = await besideOne({}, 'create');
		expect(error?.message).toMatch('rate limit was exceeded for longer');
		expect(ms).toBeGreaterThanOrEqual(86_400_000);
		// What it waits for its turn does not count.
		expect(ms).toBeLessThan(86_400_000 + 3_600_000);
		// One a minute and a few at first.
		expect(world.requestsOf(0).length).toBeLessThan(1_600);
	});

	test.each<[SeenRequest['kind'], Said]>([
		['list', { operation: 'list' }],
		['list', { agentMode: 'name' }],
	])('a %s is given up after five minutes (%j)', async (kind, said) => {
		const { error, ms } = await besideOne(said, kind);
		expect(error?.message).toMatch('rate limit was exceeded for longer');
		expect(ms).toBeLessThan(400_000);
	});

	test('what it waits for its turn between two refusals does not count', async () => {
		let refusals = 0;
		const { jsons, world } = await execute({
			operation: 'list',
			startsAtMs: 2_000,
			service: { limiter: { kind: 'sliding', limit: 10, windowMs: 60_000, retryAfter: 'seconds' } },
			hand: {
				respond: ({ kind }) =>
					kind === 'list' && ++refusals <= 2 ? { statusCode: 429 } : undefined,
			},
			beside: Array.from({ length: 80 }, () => ({ count: 20, operation: 'get', waits: false })),
		});
		const [first, second] = world.requests.filter(({ kind }) => kind === 'list');
		expect(second!.sentAt - first!.sentAt).toBeGreaterThan(300_000);
		expect(second!.status).toBe(429);
		expect(jsons).toHaveLength(1);
	});

	test('so is a check, after the time limit', async () => {
		const said: Said = { options: { checkFirst: true, timeout: 600 } };
		const { error, ms } = await besideOne(said, 'dryRun');
		expect(error?.message).toMatch('could not be checked');
		// Between two refusals, polls of the other execution have their turns.
		expect(ms).toBeLessThan(1_500_000);
	});
});

test('an execution that is cancelled sends nothing more, and the other goes on', async () => {
	const { world, error, attempt } = await execute(
		of(500, { service: carrying(20), cancelAtMs: 5_000, beside: [of(50)] }),
	);
	expect(error?.message).toMatch(/cancel/i);
	expect(attempt.endedAt).toBeLessThan(5_100);
	expect(world.requestsOf(0).filter(({ sentAt }) => sentAt > 5_100)).toEqual([]);
	const other = world.seen(1);
	expect(other.items).toHaveLength(50);
	// Some 100 requests at 20 a second, half of them while it shared them.
	expect(other.ms).toBeLessThan(12_000);
});

test('a key that is revoked ends all thirty executions that share it, each with the reason', async () => {
	const revoked = { code: 'invalid_api_key', message: 'revoked', request_id: 'r' };
	const { world } = await execute(
		of(20, {
			service: carrying(20),
			hand: {
				respond: ({ sentAt }) => (sentAt > 5_000 ? json(401, { error: revoked }) : undefined),
			},
			beside: new Array<Said>(29).fill(of(20)),
		}),
	);
	for (let index = 0; index < 30; index++) {
		const { error, attempt } = world.seen(index);
		expect(error?.message).toMatch(/key/i);
		// Each needs one answer, in turn, at 20 a second.
		expect(attempt.endedAt).toBeLessThan(5_000 + 3_500);
	}
});

test('when the package is updated, executions of the old one go on beside those of the new one', async () => {
	const beside = [of(40, { startsAtMs: 1_000 })];
	const world = new OwnWorld(of(40, { service: carrying(20), beside }));
	world.later(500, () => world.updatePackage());
	const { items } = await world.execute();
	expect(items).toHaveLength(40);
	expect(world.seen(1).items).toHaveLength(40);
	expect(world.runs).toHaveLength(80);
});

describe('beside an execution whose creates always fail', () => {
	const keep: Said = {
		onError: 'continueRegularOutput',
		options: { timeout: 0, maxConcurrency: 1_000 },
		service: { tripMs: [200, 200] },
	};
	const failing = (status: number, headers: Record<string, string> = {}): Hand => ({
		respond: ({ kind, execution }) =>
			['create', 'dryRun'].includes(kind) && execution.index === 1
				? { statusCode: status, headers }
				: undefined,
	});

	test.each([
		[500, 120],
		[503, 20],
	])('with %d, another one that polls goes on to start runs', async (status, count) => {
		const world = new OwnWorld({
			...keep,
			count: 200,
			options: { ...keep.options, pollInterval: 1 },
			runOf: () => ({ durationMs: 60_000 }),
			hand: failing(status),
			beside: [{ ...keep, count, waits: false, startsAtMs: 10 }],
		});
		await world.execute();
		const at = world.runsOf(0).map(({ createdAt }) => createdAt);
		const gaps = at.map((moment, index) => moment - (at[index - 1] ?? moment));
		expect(at).toHaveLength(200);
		expect(Math.max(...gaps)).toBeLessThan(10_000);
	});

	test.each([
		[503, {}],
		[503, { 'retry-after': '200' }],
		[500, { 'retry-after': '200' }],
	])('but dry runs that fail hold up no runs (%d, %j)', async (status, headers) => {
		const world = new OwnWorld({
			...keep,
			count: 40,
			waits: false,
			startsAtMs: 1_000,
			hand: failing(status, headers),
			beside: [{ ...keep, count: 3, operation: 'dryRun', startsAtMs: 300 }],
		});
		const { ms } = await world.execute();
		expect(world.runsOf(0)).toHaveLength(40);
		expect(ms).toBeLessThan(10_000);
	});
});
