import { execute, OwnWorld, type Said } from '../support/simulation/ownWorld.cts';
import type { Hand } from '../support/simulation/world/hand.cts';

// What keeps a batch from being wasted: the trial of ten, and one create at a time while the service fails.
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const fails = () => ({ durationMs: SECOND, end: 'failed' as const, shown: { error: 'wrong' } });

describe('a mistake because of which all runs fail at once wastes ten of them', () => {
	test.each<[string, Said]>([
		['by default', {}],
		['where runs are seldom polled', { options: { pollInterval: 70 } }],
		['where the wait is stored from the start', { options: { whereToWait: 'stored' } }],
	])('%s', async (_, said) => {
		const { world, error } = await execute({ count: 60, runOf: fails, ...said });
		expect(error?.message).toContain("The agent's run failed");
		expect(world.runs).toHaveLength(10);
	});

	test.each<[string, Said]>([
		[
			'where polls fail at first',
			{
				service: {
					faults: [
						{
							kind: 'serverError',
							on: 'poll',
							share: 1,
							untilMs: 9_000,
							isDone: false,
							status: 503,
						},
					],
				},
			},
		],
		[
			'where the service asks for a pause before the first poll',
			{
				hand: {
					respond: ({ kind }, own) => {
						const answer = own();
						return kind === 'create' ? { ...answer, headers: { 'retry-after': '10' } } : answer;
					},
				},
			},
		],
		['where answers take long', { service: { tripMs: [2_000, 2_000] } }],
	])('%s', async (_, said) => {
		const runOf = () => ({ ...fails(), durationMs: 3_900 });
		const { world } = await execute({ count: 60, runOf, ...said });
		expect(world.runs).toHaveLength(10);
	});

	test('but others wait for half a minute at most while no poll is answered', async () => {
		const away = { kind: 'serverError' as const, on: 'poll' as const, share: 1, isDone: false };
		// With a 502 or more, creates would wait until a poll is carried.
		const faults = [{ ...away, untilMs: 90 * SECOND, status: 500 }];
		const { world } = await execute({
			count: 60,
			runOf: () => ({ durationMs: 2 * MINUTE }),
			service: { faults },
		});
		const begunAt = world.runs.map(({ createdAt }) => createdAt);
		expect(begunAt.filter((at) => at < 30 * SECOND)).toHaveLength(10);
		expect(Math.max(...begunAt)).toBeLessThan(40 * SECOND);
	});

	test('where the runs of the agent took long before', async () => {
		const world = new OwnWorld({
			runOf: () => ({ durationMs: 2 * MINUTE }),
			beside: [{ startsAtMs: 30 * MINUTE, count: 60, runOf: fails }],
		});
		await world.execute();
		expect(world.runsOf(1)).toHaveLength(10);
	});
});

describe('while one create gets no answer, the others begin', () => {
	const batch: Said = {
		count: 40,
		onError: 'continueRegularOutput',
		service: {
			faults: [{ kind: 'timeout', on: 'create', share: 1, untilMs: 1, isDone: false, status: 0 }],
			tripMs: [5, 5],
		},
	};

	test.each([true, false])('with saved progress: %s', async (savesProgress) => {
		for (const durationMs of [2 * SECOND, 20 * MINUTE]) {
			const { world } = await execute({
				...batch,
				savesProgress,
				runOf: () => ({ durationMs }),
			});
			const unanswered = world.requests.filter(({ fault }) => fault === 'timeout');
			expect(unanswered).toHaveLength(1);
			expect(world.runs).toHaveLength(39);
			const begunAt = world.runs.map(({ createdAt }) => createdAt);
			expect(Math.max(...begunAt)).toBeLessThan(unanswered[0]!.answeredAt - MINUTE);
		}
	});
});

describe('while the service fails, creates go one at a time', () => {
	const maintenance = (fromMs: number, untilMs: number, headers: Record<string, string>) => {
		const respond: Hand['respond'] = ({ arrivedAt }) =>
			arrivedAt > fromMs && arrivedAt < untilMs
				? { statusCode: 503, headers, body: '<html>Maintenance</html>' }
				: undefined;
		return { respond };
	};
	const batch: Said = {
		count: 300,
		onError: 'continueRegularOutput',
		service: { tripMs: [100, 300] },
	};
	/** How many items say so. */
	const saying = (text: string, jsons: object[]) =>
		jsons.filter((json) => JSON.stringify(json).includes(text)).length;
	const inDoubt = (jsons: object[]) => saying('may have been started', jsons);

	test('after the pause that the service asks for', async () => {
		const hand = maintenance(3_000, 123_000, { 'retry-after': '120' });
		const { world, jsons } = await execute({ ...batch, hand });
		const creates = world.requests.filter(({ kind }) => kind === 'create');
		const first = creates.find(({ status }) => status === 503)!;
		const before = creates.filter(({ sentAt }) => sentAt <= first.answeredAt);
		expect(creates[before.length]!.sentAt).toBeGreaterThanOrEqual(first.answeredAt + 120_000);
		expect(inDoubt(jsons)).toBeLessThan(40);
		expect(world.runs).toHaveLength(300 - inDoubt(jsons));
	});

	test('after pauses that grow', async () => {
		const { world, jsons } = await execute({ ...batch, hand: maintenance(3_000, 123_000, {}) });
		expect(inDoubt(jsons)).toBeLessThan(60);
		expect(world.runs).toHaveLength(300 - inDoubt(jsons));
	});

	test('until nothing was carried for as long as a create may wait; the others have started nothing', async () => {
		const { jsons } = await execute({ ...batch, hand: maintenance(3_000, Infinity, {}) });
		const late = saying('accepted no further requests for longer than the node may wait', jsons);
		expect(late + inDoubt(jsons) + 10).toBe(300);
		expect(late).toBeGreaterThan(50);
	});

	test('and not behind one that gets no answer', async () => {
		const one = { count: 1, onError: 'continueRegularOutput' as const };
		const world = new OwnWorld({
			...one,
			service: {
				tripMs: [5, 5],
				faults: [
					{ kind: 'timeout', on: 'create', share: 1, untilMs: 1, isDone: false, status: 0 },
					{
						...{ kind: 'serverError', on: 'create', share: 1, fromMs: SECOND, untilMs: 2 * SECOND },
						...{ isDone: false, status: 500 },
					},
				],
			},
			beside: [
				{ ...one, startsAtMs: SECOND },
				{ count: 5, startsAtMs: 3 * SECOND },
			],
		});
		await world.execute();
		const [unanswered, failed, ...others] = world.requests.filter(({ kind }) => kind === 'create');
		expect([unanswered?.fault, failed?.status]).toEqual(['timeout', 500]);
		expect(others).toHaveLength(5);
		expect(others.at(-1)!.answeredAt).toBeLessThan(unanswered!.answeredAt);
	});
});
