import fc from 'fast-check';

import { creates, never, noKills, undisturbed, untroubled, type Part } from './aim.cts';
import { executionWith, itemsOf, itemThatTakes, optionsWith } from './executions.cts';
import type { FaultSpec, LimiterSpec } from './world.cts';
import { services } from './worldsServices.cts';

/** A batch that nothing but the service holds up. */
const batch = (own: Parameters<typeof executionWith>[0]) =>
	executionWith({
		...undisturbed,
		...creates,
		key: fc.constant(0),
		agentMode: fc.constant('id'),
		turns: fc.constant(1),
		maxTries: fc.constant(0),
		retries: fc.constant([]),
		options: optionsWith({ timeout: never, pollInterval: never, maxConcurrency: never }),
		...own,
	});

const itemsWithin = (leastMs: number, mostMs: number, least: number, most: number) =>
	itemsOf(itemThatTakes(fc.integer({ min: leastMs, max: mostMs })), least, most).map((items) =>
		items.map((item) => ({ ...item, ownKey: false })),
	);

/** Others use up the key for some minutes while results are due, and leave it again. */
export const usedKeys: fc.Arbitrary<Part> = fc
	.integer({ min: 2, max: 5 })
	.chain((minutes) =>
		fc.record({
			service: services({
				...untroubled,
				limiter: fc.record<LimiterSpec>({
					kind: fc.constant('fixed'),
					limit: fc.constantFrom(300, 600),
					windowMs: fc.constant(60_000),
					retryAfter: fc.constantFrom('seconds', 'none', 'date'),
					usedByOthers: fc.record({
						fromMs: fc.constant(60_000),
						untilMs: fc.constant(minutes * 60_000),
						left: fc.integer({ min: 0, max: 5 }),
					}),
				}),
			}),
			executions: fc.tuple(
				batch({
					startsAtMs: fc.constant(0),
					items: itemsWithin(20_000, 90_000, 40, 100),
				}),
				batch({
					startsAtMs: fc.integer({ min: 15_000, max: 50_000 }).map((ms) => minutes * 60_000 + ms),
					items: itemsWithin(5_000, 20_000, 1, 2),
				}),
			),
			kills: noKills,
		}),
	)
	.map((part) => ({ ...part, executions: [...part.executions] }));

/** A limit that counts what it refuses, and asks for less than it takes to be left, or for nothing. */
export const bans: fc.Arbitrary<Part> = fc.record({
	service: services({
		...untroubled,
		tripMs: fc.constantFrom<Array<[number, number]>>([5, 5], [20, 80], [200, 900], [5_000, 9_000]),
		limiter: fc.record<LimiterSpec>({
			kind: fc.constant('ban'),
			limit: fc.integer({ min: 2, max: 40 }),
			windowMs: fc.constantFrom(10_000, 60_000, 120_000),
			retryAfter: fc.constantFrom('short', 'none'),
		}),
	}),
	executions: fc.array(
		batch({
			items: itemsWithin(5_000, 60_000, 2, 60),
			options: optionsWith({
				timeout: fc.constantFrom(3_600, 14_400),
				pollInterval: never,
				maxConcurrency: never,
			}),
		}),
		{ minLength: 1, maxLength: 2 },
	),
	kills: noKills,
});

/** A service that goes on accepting requests, and for some minutes answers none. */
export const hangingServices: fc.Arbitrary<Part> = fc
	.record({
		fromMs: fc.integer({ min: 500, max: 5_000 }),
		forMs: fc.integer({ min: 60_000, max: 600_000 }),
	})
	.chain(({ fromMs, forMs }) => {
		const hangs = { share: 1, isDone: false, status: 0, fromMs, untilMs: fromMs + forMs };
		const faults: FaultSpec[] = [{ kind: 'timeout', on: 'any', ...hangs }];
		return fc.record({
			service: services({ ...untroubled, faults: fc.constant(faults) }),
			executions: fc.array(
				batch({ waits: fc.boolean(), items: itemsWithin(5_000, 60_000, 100, 200) }),
				{ minLength: 1, maxLength: 4 },
			),
			kills: noKills,
		});
	});
