import { OwnWorld, type Said } from '../support/simulation/ownWorld.cts';
import type { FaultSpec } from '../support/simulation/world/world.cts';

// A service that refuses nothing, and takes longer the more requests it has to work on.
const SECOND = 1_000;

const batchOf = (count: number, durationMs: number): Said => ({
	count,
	runOf: () => ({ durationMs }),
	onError: 'continueRegularOutput',
});

const isLate = ({ fault }: { fault?: string }) => fault === 'timeout';

/** Without a bound on requests under way, the first case takes 597 s, and the last one loses 66 runs. */
test.each([
	{ count: 300, workMs: 200, durationMs: 2 * SECOND, executions: 1, most: 0 },
	{ count: 100, workMs: 200, durationMs: 60 * SECOND, executions: 4, most: 10 },
	{ count: 100, workMs: 500, durationMs: 10 * SECOND, executions: 1, most: 60 },
	{ count: 40, workMs: 2_000, durationMs: 10 * SECOND, executions: 1, most: 60 },
	{ count: 1_000, workMs: 200, durationMs: 2 * SECOND, executions: 1, most: 0 },
])(
	'few polls time out where each request takes the service $workMs ms ($executions × $count items)',
	async ({ count, workMs, durationMs, executions, most }) => {
		const batch = batchOf(count, durationMs);
		const beside = Array<Said>(executions - 1).fill(batch);
		const world = new OwnWorld({ ...batch, beside, service: { tripMs: [20, 80], workMs } });
		const { jsons, ms } = await world.execute();
		expect(jsons.filter(({ status }) => status === 'succeeded')).toHaveLength(count);
		expect(world.requests.filter(isLate).length).toBeLessThanOrEqual(most);
		const leastMs = 2 * count * executions * workMs;
		expect(ms).toBeLessThan(1.8 * leastMs);
	},
);

test('a service that takes four seconds for each request, of which polls time out, does not have its creates one by one', async () => {
	const service = { tripMs: [20, 80] as [number, number], workMs: 4_000 };
	const world = new OwnWorld({ ...batchOf(40, 30 * SECOND), service });
	const { jsons, ms } = await world.execute();
	expect(jsons.filter(({ status }) => status === 'succeeded')).toHaveLength(40);
	expect(ms).toBeLessThan(1_300 * SECOND);
});

test('long round trips are no sign of many requests', async () => {
	const batch = batchOf(300, 60 * SECOND);
	const world = new OwnWorld({ ...batch, service: { tripMs: [5 * SECOND, 9 * SECOND] } });
	const { ms } = await world.execute();
	expect(world.requests.filter(isLate)).toEqual([]);
	// In rounds of 50 items, of up to 9 s each.
	expect(ms).toBeLessThan(200 * SECOND);
});

/** Polls of the first runs never get an answer. */
const hanging = (ofFirst: number): FaultSpec[] => [
	{ kind: 'timeout', on: 'poll', share: 1, isDone: false, status: 0, ofFirst },
];

test.each<[trips: [number, number], items: number, hanging: number]>([
	[[20, 80], 130, 100],
	[[5_500, 7_000], 120, 40],
])(
	'polls that hang keep none back that are carried (round trips of %j ms)',
	async (tripMs, count, first) => {
		const batch = { ...batchOf(count, 60 * SECOND), options: { timeout: 300 } };
		const world = new OwnWorld({ ...batch, service: { tripMs, faults: hanging(first) } });
		const { jsons } = await world.execute();
		expect(jsons.filter(({ status }) => status === 'succeeded')).toHaveLength(count - first);
		const lateMs = world.runs.slice(first).map(({ id, endsAt }) => {
			const seen = world.requests.find(({ runId, said }) => runId === id && said === 'finished');
			return seen!.answeredAt - endsAt;
		});
		expect(Math.max(...lateMs)).toBeLessThan(25 * SECOND);
	},
);

test('nor those of another execution', async () => {
	const world = new OwnWorld({
		...batchOf(60, 40 * SECOND),
		options: { timeout: 600 },
		service: { tripMs: [5_500, 7_000], faults: hanging(60) },
		beside: [{ ...batchOf(30, 40 * SECOND), startsAtMs: 250 * SECOND }],
	});
	await world.execute();
	const last = world.runsOf(1).at(-1)!;
	// While nothing is carried, creates wait for up to two minutes (service/outage.ts).
	expect(last.createdAt).toBeLessThan(500 * SECOND);
});
