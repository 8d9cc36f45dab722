import { execute, OwnWorld } from '../support/simulation/ownWorld.cts';
import { fixedWindow } from '../support/simulation/world/limiters.cts';

// Others use the API key as well, and leave almost nothing of its limit for some minutes.
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** 600 requests in each minute, of which others use up all but `left` at the beginning of minutes 1 to 3. */
const mostlyUsed = (left: number) =>
	fixedWindow(600, MINUTE, 0, (from) => (from >= MINUTE && from < 4 * MINUTE ? 600 - left : 0));

const numbers = (count: number) => Array.from({ length: count }, (_, item) => String(item));

describe.each(['seconds', 'none'] as const)('a limit whose Retry-After is %s', (retryAfter) => {
	test.each([0, 1, 2, 3])('is used again soon once others leave it (%d left)', async (left) => {
		const world = new OwnWorld({
			count: 100,
			runOf: () => ({ durationMs: MINUTE }),
			options: { timeout: 3_600 },
			service: { tripMs: [200, 200] },
			hand: { limits: { limiter: mostlyUsed(left), retryAfter } },
			beside: [{ startsAtMs: 270 * SECOND, waits: false }],
		});
		const { jsons } = await world.execute();
		expect(jsons.map(({ output }) => output)).toEqual(numbers(100));
		const [first] = world.runsOf(1);
		expect(first!.createdAt).toBeLessThan(300 * SECOND);
		const noticedAt = world.requests.flatMap(({ said, answeredAt }) =>
			said === 'finished' ? [answeredAt] : [],
		);
		expect(noticedAt.filter((at) => at < 390 * SECOND).length).toBeGreaterThan(80);
	});
});

test.each([100, 150, 200])('ends no wait at its time limit of %d s', async (timeout) => {
	const { jsons } = await execute({
		count: 100,
		onError: 'continueRegularOutput',
		runOf: () => ({ durationMs: MINUTE }),
		options: { timeout },
		service: { tripMs: [200, 200] },
		hand: { limits: { limiter: mostlyUsed(1), retryAfter: 'seconds' } },
	});
	expect(jsons.map(({ output }) => output)).toEqual(numbers(100));
});

test('a window of five minutes that others use up, and that asks for a second only, is no limit of one request in as long', async () => {
	const windowMs = 5 * MINUTE;
	const limiter = fixedWindow(600, windowMs, 0, (from) => (from < 500 * SECOND ? 599 : 0));
	const { ms, jsons } = await execute({
		count: 20,
		runOf: () => ({ durationMs: 20 * SECOND }),
		service: { tripMs: [200, 200] },
		hand: {
			respond: ({ sentAt }) =>
				limiter(sentAt) > 0 ? { statusCode: 429, headers: { 'retry-after': '1' } } : undefined,
		},
	});
	expect(jsons.map(({ output }) => output)).toEqual(numbers(20));
	expect(ms).toBeLessThan(900 * SECOND);
});

test('a limit that others have met while few requests were sent is not taken for as low a one', async () => {
	const limiter = fixedWindow(300, MINUTE, 0, (from) =>
		from >= MINUTE && from < 3 * MINUTE ? 299 : 0,
	);
	const { ms, jsons } = await execute({
		count: 99,
		runOf: () => ({ durationMs: 20 * SECOND }),
		// No polls but at the beginning and after more than a minute.
		options: { pollInterval: 68, whereToWait: 'memory' },
		service: { tripMs: [50, 50] },
		hand: { limits: { limiter, retryAfter: 'seconds' } },
	});
	expect(jsons.map(({ output }) => output)).toEqual(numbers(99));
	expect(ms).toBeLessThan(4 * MINUTE);
});
