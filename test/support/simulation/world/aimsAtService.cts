import fc from 'fast-check';

import {
	creates,
	long,
	never,
	noKills,
	one,
	short,
	undisturbed,
	untroubled,
	usualHost,
	type Part,
} from './aim.cts';
import { mostly, ms, sometimes, withoutAbsent } from './arbitraries.cts';
import {
	callers,
	executionWith,
	itemsOf,
	itemThatTakes,
	optionsWith,
	retry,
	starters,
} from './executions.cts';
import type { CallSpec, FaultKind, LimiterSpec } from './world.cts';
import { faultOf, quotaOf, services } from './worldsServices.cts';

const tight: fc.Arbitrary<LimiterSpec> = fc.record({
	kind: fc.constantFrom('fixed', 'sliding', 'bucket'),
	limit: fc.integer({ min: 1, max: 4 }),
	windowMs: fc.constant(1_000),
	retryAfter: fc.constant('seconds' as const),
});

const bystander = executionWith({
	...creates,
	key: fc.constant(0),
	agentMode: fc.constantFrom('id', 'list'),
	credentialAway: never,
	newKeyAtMs: never,
	items: itemsOf(short, 1, 2),
	startsAtMs: fc.integer({ min: 2_000, max: 20_000 }),
});

/** One execution of many items, and others beside it that use the same key. */
export const crowds: fc.Arbitrary<Part> = fc.record({
	service: services({
		limiter: mostly<LimiterSpec | undefined>(undefined, 1, tight),
		unknownForMs: fc.constant(0),
		faults: fc.constant([]),
		quota: never,
		odd: never,
	}),
	executions: fc
		.tuple(
			executionWith({
				operation: fc.constantFrom('create', 'get'),
				...usualHost,
				key: fc.constant(0),
				startsAtMs: fc.constant(0),
				items: itemsOf(short, 40, 150),
				turns: fc.constant(1),
				options: optionsWith({
					maxConcurrency: never,
					timeout: sometimes(1, fc.constantFrom(1, 5, 60)),
					pollInterval: never,
				}),
			}),
			fc.array(bystander, { minLength: 1, maxLength: 4 }),
		)
		.map(([large, others]) => [large, ...others]),
	kills: noKills,
});

const longPause = fc.constantFrom(
	'90',
	'5000',
	'99999999999999999999999',
	'Fri, 31 Dec 9999 23:59:59 GMT',
);

/** A service that refuses some requests by chance, now and then, and many items that start runs. */
export const refusedByChance: fc.Arbitrary<Part> = fc.record({
	service: services({
		limiter: fc.record({
			kind: fc.constantFrom('fixed', 'sliding', 'bucket'),
			limit: fc.integer({ min: 3, max: 8 }),
			windowMs: fc.constant(1_000),
			retryAfter: fc.constantFrom('seconds', 'none'),
		}),
		quota: never,
		odd: never,
		tripMs: fc.constantFrom<Array<[number, number]>>([5, 5], [20, 80]),
		faults: fc
			.record({
				everyMs: fc.integer({ min: 8_000, max: 15_000 }),
				untilMs: fc.integer({ min: 60_000, max: 150_000 }),
				retryAfter: mostly<string | undefined>(undefined, 1, fc.constant('1')),
			})
			.map((made) => [
				withoutAbsent({
					kind: 'stray429',
					on: 'any',
					share: 0,
					isDone: false,
					status: 429,
					...made,
				}),
			]),
	}),
	executions: one(
		executionWith({
			...creates,
			waits: fc.constant(false),
			agentMode: fc.constant('id'),
			items: itemsOf(short, 300, 500),
			turns: fc.constant(1),
			maxTries: fc.constant(0),
			options: optionsWith({ maxConcurrency: never }),
		}),
	),
	kills: noKills,
});

/** The service asks for pauses of any length, and runs take long. */
export const leftAlone: fc.Arbitrary<Part> = fc.record({
	service: services({
		limiter: never,
		quota: never,
		odd: sometimes(1, fc.record({ share: fc.constantFrom(0.1, 0.3), retryAfter: longPause })),
		faults: fc.array(
			faultOf(fc.constantFrom<FaultKind[]>('stray429', 'serverError'), fc.constant('poll')).map(
				(made) => ({ ...made, share: 0.3, untilMs: 50_000_000 }),
			),
			{ maxLength: 2 },
		),
	}),
	executions: one(
		executionWith({
			...creates,
			items: itemsOf(long, 1, 2),
			options: optionsWith({ timeout: fc.constantFrom(0, 7_200, undefined), pollInterval: never }),
		}),
	),
	kills: noKills,
});

/** A low limit that rises while many runs are being started. */
export const risenLimits: fc.Arbitrary<Part> = fc.record({
	service: services({
		...untroubled,
		limiter: fc.record({
			kind: fc.constantFrom('fixed', 'sliding', 'bucket'),
			limit: fc.integer({ min: 1, max: 2 }),
			windowMs: fc.constant(10_000),
			retryAfter: fc.constantFrom('seconds', 'none', 'date'),
			changesAtMs: fc.integer({ min: 15_000, max: 60_000 }),
			limitAfter: fc.integer({ min: 50, max: 100 }),
		}),
		tripMs: fc.constantFrom<Array<[number, number]>>([5, 5], [20, 80]),
	}),
	executions: one(
		executionWith({
			...creates,
			...undisturbed,
			waits: fc.constant(false),
			agentMode: fc.constant('id'),
			maxTries: fc.constant(0),
			items: itemsOf(short, 145, 155),
			options: optionsWith({ maxConcurrency: never, checkFirst: never }),
		}),
	),
	kills: noKills,
});

/** A limit whose refusals name a date, at n8n's clocks that are set to another time. */
export const otherClocks: fc.Arbitrary<Part> = fc.record({
	service: services({
		...untroubled,
		limiter: fc.record({
			kind: fc.constantFrom('fixed', 'sliding', 'bucket'),
			limit: fc.integer({ min: 1, max: 5 }),
			windowMs: fc.constantFrom(10_000, 60_000),
			retryAfter: fc.constant('date' as const),
		}),
	}),
	executions: one(
		executionWith({
			...creates,
			...undisturbed,
			maxTries: fc.constant(0),
			items: itemsOf(short, 5, 20),
		}),
	),
	kills: noKills,
	clockChanges: fc.array(
		fc.record({ atMs: ms(3_000), byMs: fc.integer({ min: -7_200_000, max: 7_200_000 }) }),
		{ minLength: 1, maxLength: 1 },
	),
});

const unhurried = {
	...creates,
	...undisturbed,
	key: fc.constant(0),
	waits: fc.constant(true),
	maxTries: fc.constant(0),
	items: itemsOf(itemThatTakes(fc.integer({ min: 20_000, max: 400_000 })), 20, 80),
	options: optionsWith({ timeout: never, pollInterval: never, maxConcurrency: never }),
};

/** Its dry runs come when the service refuses more runs. */
const checkedLater = {
	...unhurried,
	startsAtMs: fc.integer({ min: 10_000, max: 100_000 }),
	options: optionsWith({
		timeout: never,
		pollInterval: never,
		maxConcurrency: never,
		checkFirst: fc.constant(true),
	}),
};

/**
 * Some creates of the first moments, whose answers never end. If most were such, nothing would be carried for
 * minutes, and the node would take that for a low limit.
 */
const dripping = faultOf(fc.constant('drips'), fc.constant('create')).map((made) => ({
	...made,
	share: Math.min(made.share, 0.3),
	fromMs: 0,
	untilMs: 2_000,
}));

/** Many items of a key that may have few runs under way; some services say when further creates may come again. */
export const quotas: fc.Arbitrary<Part> = fc.record({
	service: services({
		...untroubled,
		faults: fc.array(dripping, { maxLength: 1 }),
		quota: quotaOf({
			runs: fc.integer({ min: 10, max: 30 }),
			retryAfter: fc.constantFrom(undefined, '20', '60', '120'),
			isBudget: fc.constantFrom(undefined, true),
			refusesDryRuns: fc.constantFrom(undefined, true),
		}),
	}),
	executions: fc
		.tuple(
			fc.array(executionWith(unhurried), { minLength: 1, maxLength: 2 }),
			fc.array(executionWith(checkedLater), { maxLength: 1 }),
		)
		.map((both) => both.flat()),
	kills: noKills,
});

/** Long runs in workflows that somebody may have called. */
export const calls: fc.Arbitrary<Part> = fc.record({
	service: services({ limiter: never, faults: fc.constant([]), quota: never, odd: never }),
	executions: one(
		executionWith({
			...creates,
			items: itemsOf(long, 1, 2),
			starter: starters,
			callers: mostly<CallSpec[]>([], 1, callers),
			options: optionsWith({ whereToWait: fc.constant('stored'), timeout: never }),
			workflowTimeoutS: fc.constant(0),
			resumesLateMs: mostly(0, 1, ms(100_000)),
		}),
	),
	kills: noKills,
});

const maybeWrong = itemThatTakes(ms(200_000)).chain((made) =>
	mostly(false, 3, fc.constant(true)).map((isWrong) => ({ ...made, isWrong })),
);

/** All items are checked first, some are wrong, and some checks meet trouble. */
export const checked: fc.Arbitrary<Part> = fc.record({
	service: services({
		faults: mostly([], 1, fc.array(faultOf(undefined, fc.constant('dryRun')), { maxLength: 2 })),
	}),
	executions: one(
		executionWith({
			...creates,
			items: itemsOf(maybeWrong, 1, 6),
			options: optionsWith({ checkFirst: fc.constant(true) }),
			maxTries: mostly(0, 1, fc.integer({ min: 2, max: 5 })),
			retries: fc.array(retry, { maxLength: 2 }),
		}),
	),
	kills: mostly<Part['kills']>(
		[],
		2,
		fc.array(fc.record({ atMs: ms(100_000), afterRequest: fc.nat(12), awayMs: ms(60_000) }), {
			maxLength: 1,
		}),
	),
});

/** Lists of agents that are long, odd, or change while they are read. */
export const agentLists: fc.Arbitrary<Part> = fc.record({
	service: services({
		pageSize: fc.constantFrom(100, 2, 3),
		others: fc.record({
			count: fc.oneof(fc.integer({ min: 2, max: 8 }), fc.integer({ min: 90, max: 210 })),
			areOdd: fc.boolean(),
			changesAfter: fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 2 }),
			change: fc.constantFrom('gone', 'new', 'order'),
		}),
		faults: fc.constant([]),
		limiter: never,
	}),
	executions: one(
		executionWith({
			operation: fc.constantFrom('list', 'create', 'list'),
			agentMode: fc.constant('name'),
			items: itemsOf(short, 1, 3),
			credentialAway: never,
			newKeyAtMs: never,
		}),
	),
	kills: noKills,
});

/** The workflow's own timeout is near, and the service is slow or asks for pauses that may be longer. */
export const pausesNearTimeouts: fc.Arbitrary<Part> = fc.record({
	service: services({
		...untroubled,
		tripMs: fc.constantFrom([5, 50], [12_000, 16_000]),
		faults: fc.array(
			faultOf(
				fc.constantFrom<FaultKind>('serverError', 'badGateway', 'stray429'),
				fc.constantFrom('create', 'dryRun', 'list', 'any'),
			).chain((made) =>
				fc.constantFrom('30', '90', '200', '1000').map((retryAfter) => ({
					...made,
					retryAfter,
					isDone: false,
					// The list is read once, at the beginning.
					...(made.on === 'list' && { fromMs: 0, share: 1 }),
				})),
			),
			{ maxLength: 2 },
		),
	}),
	executions: one(
		executionWith({
			...undisturbed,
			...usualHost,
			operation: fc.constantFrom('create', 'create', 'dryRun'),
			agentMode: fc.constantFrom('id', 'name', 'nameOfLast'),
			waits: fc.constantFrom<boolean | string>(true, 'exceptLast'),
			items: itemsOf(short, 1, 20),
			maxTries: fc.constant(0),
			retries: fc.constant([]),
			resumesLateMs: fc.constant(0),
			workflowTimeoutS: fc.constantFrom(100, 200, 600),
			options: optionsWith({
				retryCreateOnServerError: sometimes(1, fc.constant(true)),
				maxConcurrency: sometimes(1, fc.constantFrom(1, 3)),
			}),
		}),
	),
	kills: noKills,
});

/** Creates wait minutes for their turn, and one or a few of them reach no service. */
export const longQueues: fc.Arbitrary<Part> = fc.record({
	service: services({
		...untroubled,
		limiter: fc.record({
			kind: fc.constantFrom('fixed', 'sliding', 'bucket'),
			limit: fc.integer({ min: 3, max: 10 }),
			windowMs: fc.constant(60_000),
			retryAfter: fc.constant('seconds' as const),
		}),
		faults: fc.array(
			faultOf(fc.constantFrom<FaultKind>('refused', 'dns'), fc.constant('create')).chain((made) =>
				fc.integer({ min: 60_000, max: 400_000 }).map((everyMs) => ({ ...made, everyMs })),
			),
			{ minLength: 1, maxLength: 1 },
		),
	}),
	executions: one(
		executionWith({
			...undisturbed,
			...creates,
			waits: fc.constantFrom<boolean | string>(false, 'exceptLast', true),
			agentMode: fc.constantFrom('id', 'list'),
			items: itemsOf(short, 30, 80),
			maxTries: fc.constant(0),
			retries: fc.constant([]),
			options: optionsWith({ maxConcurrency: never }),
		}),
	),
	kills: noKills,
});

/** Two runs whose polls fail for reasons of their own, such as an output that is too large for a proxy. */
export const troubledRuns: fc.Arbitrary<Part> = fc
	.record({
		first: executionWith({
			...undisturbed,
			...creates,
			key: fc.constant(0),
			startsAtMs: fc.constant(0),
			items: itemsOf(itemThatTakes(ms(30_000)), 2, 2),
			maxTries: fc.constant(0),
			retries: fc.constant([]),
			options: optionsWith({
				timeout: never,
				pollInterval: fc.constantFrom(5, 20),
				checkFirst: never,
			}),
		}),
		others: fc.array(
			executionWith({
				...undisturbed,
				...creates,
				key: fc.constant(0),
				startsAtMs: fc.integer({ min: 60_000, max: 3_000_000 }),
				items: itemsOf(short, 1, 1),
				waits: fc.boolean(),
				maxTries: fc.constant(0),
				retries: fc.constant([]),
			}),
			{ minLength: 3, maxLength: 6 },
		),
	})
	.chain(({ first, others }) =>
		fc.record({
			service: services({
				...untroubled,
				faults: fc.array(
					faultOf(
						fc.constantFrom<FaultKind>('serverError', 'reset', 'timeout'),
						fc.constant('poll'),
					).map((made) => ({
						...made,
						fromMs: 0,
						retryAfter: undefined,
						share: 1,
						status: 502,
						ofFirst: 2,
						untilMs: 3_500_000,
					})),
					{ minLength: 1, maxLength: 1 },
				),
			}),
			executions: fc.constant([first, ...others]),
			kills: noKills,
		}),
	);

/** A service that works on one request after the other, and takes long for each. */
export const slowService: fc.Arbitrary<Part> = fc.record({
	service: services({
		...untroubled,
		tripMs: fc.constant<[number, number]>([20, 80]),
		quota: sometimes(
			2,
			quotaOf({
				runs: fc.integer({ min: 20, max: 80 }),
				retryAfter: fc.constantFrom(undefined, '20'),
				isBudget: never,
			}),
		),
		workMs: fc.constantFrom(200, 500, 1_000),
	}),
	executions: fc.array(
		executionWith({
			...undisturbed,
			...creates,
			key: fc.constant(0),
			agentMode: fc.constant('id'),
			items: itemsOf(itemThatTakes(ms(60_000)), 60, 120).map((items) =>
				items.map((item) => ({ ...item, ownKey: false })),
			),
			turns: fc.constant(1),
			maxTries: fc.constant(0),
			retries: fc.constant([]),
			options: optionsWith({ timeout: never, pollInterval: never, maxConcurrency: never }),
		}),
		{ minLength: 1, maxLength: 3 },
	),
	kills: noKills,
});
