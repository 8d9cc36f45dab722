import { OwnWorld, type Said } from '../support/simulation/ownWorld.cts';

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
	{ count: 100, workMs: 200, durationMs: 60 * SECOND, executions: 4, most: 0 },
	{ count: 100, workMs: 500, durationMs: 10 * SECOND, executions: 1, most: 60 },
	{ count: 40, workMs: 2_000, durationMs: 10 * SECOND, executions: 1, most: 60 },
	{ count: 1_000, workMs: 200, durationMs: 2 * SECOND, executions: 1, most: 0 },
])(
	'$count items and $executions executions are not in vain at $workMs ms for each request',
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

test('long round trips are no sign of many requests', async () => {
	const batch = batchOf(300, 60 * SECOND);
	const world = new OwnWorld({ ...batch, service: { tripMs: [5 * SECOND, 9 * SECOND] } });
	const { ms } = await world.execute();
	expect(world.requests.filter(isLate)).toEqual([]);
	// In rounds of 50 items, of up to 9 s each.
	expect(ms).toBeLessThan(200 * SECOND);
});

test('polls that hang while others are carried keep none of these back', async () => {
	const batch = { ...batchOf(130, 60 * SECOND), options: { timeout: 300 } };
	const hanging = { kind: 'timeout', on: 'poll', share: 1, isDone: false, status: 0 } as const;
	const service = { tripMs: [20, 80] as [number, number], faults: [{ ...hanging, ofFirst: 100 }] };
	const world = new OwnWorld({ ...batch, service });
	const { jsons } = await world.execute();
	expect(jsons.filter(({ status }) => status === 'succeeded')).toHaveLength(30);
	const lateMs = world.runs.slice(100).map(({ id, endsAt }) => {
		const seen = world.requests.find(({ runId, said }) => runId === id && said === 'finished');
		return seen!.answeredAt - endsAt;
	});
	expect(Math.max(...lateMs)).toBeLessThan(20 * SECOND);
});
