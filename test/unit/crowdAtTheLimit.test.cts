import { OwnWorld, execute } from '../support/simulation/ownWorld.cts';
import type { Hand } from '../support/simulation/world/hand.cts';
import type { LimiterSpec, ServiceSpec } from '../support/simulation/world/world.cts';

// Many waits that reach their time limit at the same moment.
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

/** A service that carries so many requests in each window, and says when the next one is carried. */
function carrying(limit: number, windowMs = SECOND): Partial<ServiceSpec> {
	const limiter: LimiterSpec = { kind: 'fixed', limit, windowMs, retryAfter: 'seconds' };
	return { tripMs: [50, 50], limiter };
}

const numbers = (count: number) => Array.from({ length: count }, (_, item) => String(item));

test('500 stored waits of runs that have finished have their results, though n8n was away past the time limit', async () => {
	const { jsons } = await execute({
		count: 500,
		runOf: () => ({ durationMs: 600 * SECOND }),
		service: carrying(50),
		resumesLateMs: 2 * HOUR,
	});
	expect(jsons.map(({ output }) => output)).toEqual(numbers(500));
});

test('300 waits at their time limit do not keep a create of another execution waiting', async () => {
	const hand: Hand = {};
	const world = new OwnWorld({
		count: 300,
		runOf: () => ({ durationMs: 3 * HOUR }),
		options: { onTimeout: 'output' },
		// Stored, and resumed when the time of all is over.
		resumesLateMs: HOUR,
		service: carrying(5),
		hand,
		beside: [{ startsAtMs: Infinity, waits: false }],
	});
	hand.respond = ({ sentAt }) => {
		if (sentAt > HOUR && world.runsOf(1).length === 0) {
			world.begin(1);
			delete hand.respond;
		}
		return undefined;
	};
	const { jsons } = await world.execute();
	const { attempt } = world.seen(1);
	expect(world.runsOf(1)[0]!.createdAt - attempt.beganAt).toBeLessThan(2 * SECOND);
	expect(jsons.map(({ status }) => status)).toEqual(Array(300).fill('running'));
});

test('items that are begun one after the other under a limit per minute are all begun', async () => {
	const service = carrying(60, 60 * SECOND);
	const { jsons, world } = await execute({ count: 150, options: { timeout: 60 }, service });
	expect(jsons.map(({ output }) => output)).toEqual(numbers(150));
	expect(world.runs).toHaveLength(150);
});

test('a run whose polls alone are refused for ever does not keep the others from their end', async () => {
	const { ms, jsons, world } = await execute({
		count: 2,
		options: { timeout: 60, pollInterval: 5 },
		onError: 'continueRegularOutput',
		service: { tripMs: [50, 50] },
		hand: {
			respond: ({ runId }) => (runId?.endsWith('000000000001') ? { statusCode: 429 } : undefined),
		},
		// It goes on for longer than a minute, so that others are carried all the time.
		beside: [
			{
				startsAtMs: SECOND,
				options: { timeout: 0, pollInterval: 5 },
				runOf: () => ({ durationMs: HOUR }),
			},
		],
	});
	expect(ms).toBeLessThan(HOUR / 2);
	expect(jsons.map(({ output, error }) => output ?? error)).toEqual([
		'0',
		expect.stringContaining('did not say whether'),
	]);
	expect(world.seen(1).items).toHaveLength(1);
});

test('waits that pauses put off again and again at their time limit have their results, refused only now and then', async () => {
	const { jsons } = await execute({
		count: 40,
		runOf: () => ({ durationMs: 600 * SECOND }),
		resumesLateMs: 2 * HOUR,
		service: { tripMs: [50, 50] },
		hand: {
			// Somebody else uses the key as well.
			respond: ({ kind, sentAt, number }) =>
				sentAt > HOUR && kind === 'poll' && number % 2 === 0
					? { statusCode: 429, headers: { 'retry-after': '15' } }
					: undefined,
		},
	});
	expect(jsons.map(({ output }) => output)).toEqual(numbers(40));
});
