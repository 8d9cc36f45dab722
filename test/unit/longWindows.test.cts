import { OwnWorld } from '../support/simulation/ownWorld.cts';

// Limits whose windows are longer than a minute. The first two are used up at once; then requests are spread.
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

test('from the third window on, others soon have their turn', async () => {
	const minutes = [12, 22];
	const world = new OwnWorld({
		count: 300,
		options: { timeout: 0 },
		runOf: () => ({ durationMs: 10 * SECOND }),
		service: {
			limiter: { kind: 'fixed', limit: 100, windowMs: 5 * MINUTE, retryAfter: 'seconds' },
		},
		beside: minutes.map((startsAt) => ({ startsAtMs: startsAt * MINUTE })),
	});
	const { error } = await world.execute();
	expect(error).toBeUndefined();
	for (const index of minutes.keys()) expect(world.seen(index + 1).ms).toBeLessThan(MINUTE);
});

test('a single long refusal that was asked for slows nothing down', async () => {
	const world = new OwnWorld({
		count: 500,
		options: { timeout: 0 },
		runOf: () => ({ durationMs: 10 * SECOND }),
		hand: {
			respond: ({ arrivedAt }) =>
				arrivedAt > 8 * SECOND && arrivedAt < 600 * SECOND
					? { statusCode: 429, headers: { 'retry-after': '600' } }
					: undefined,
		},
	});
	const { ms } = await world.execute();
	expect(ms).toBeLessThan(700 * SECOND);
});
