import fc from 'fast-check';

import { mostly, ms, sometimes } from './arbitraries.cts';
import {
	callers,
	executionWith,
	itemsOf,
	itemThatTakes,
	optionsWith,
	retry,
	starters,
} from './executions.cts';
import type {
	CallSpec,
	ExecutionSpec,
	FaultKind,
	LimiterSpec,
	RunSpec,
	Starter,
	World,
} from './world.cts';
import { faultOf, services } from './worldsServices.cts';

/** What is generated of a world. */
export type Part = Pick<World, 'service' | 'executions'> & {
	kills: World['kills'];
	clockChanges?: World['clockChanges'];
};

const one = (execution: fc.Arbitrary<ExecutionSpec>) =>
	fc.array(execution, { minLength: 1, maxLength: 1 });

const noKills = fc.constant<World['kills']>([]);
const usualHost = { host: fc.constant('n8n' as const) };
const creates = { operation: fc.constant('create' as const), ...usualHost };
const never = fc.constant(undefined);
/** Longer than any that stays in memory. */
const long = itemThatTakes(fc.integer({ min: 70_000, max: 2_000_000 }));
const short = itemThatTakes(ms(20_000));

/** Creates whose answers are lost, and what is tried again after them. */
export const afterLostCreates: fc.Arbitrary<Part> = fc.record({
	service: services({
		limiter: never,
		mostUnderWay: never,
		faults: fc.array(
			faultOf(
				fc.constantFrom<FaultKind[]>(
					...(['reset', 'reset', 'timeout', 'timeout', 'serverError'] as const),
					...(['foreign4xx', 'redirect', 'blocked'] as const),
				),
				fc.constant('create'),
			).map((made) => ({
				...made,
				...(made.kind === 'redirect' && { status: 303 }),
				isDone: made.isDone || ['reset', 'timeout', 'redirect'].includes(made.kind),
			})),
			{ minLength: 1, maxLength: 2 },
		),
	}),
	executions: one(
		executionWith({
			...creates,
			items: itemsOf(itemThatTakes(ms(200_000)), 1, 3),
			options: optionsWith({ retryCreateOnServerError: sometimes(12, fc.constant(true)) }),
			maxTries: mostly(0, 1, fc.integer({ min: 2, max: 5 })),
			retries: fc.array(retry, { minLength: 1, maxLength: 2 }),
		}),
	),
	kills: noKills,
});

/** n8n is ended, or an execution stopped, while long runs go on, and is retried. */
export const stops: fc.Arbitrary<Part> = fc.record({
	service: services({ faults: mostly([], 4, fc.array(faultOf(), { minLength: 1, maxLength: 1 })) }),
	executions: one(
		executionWith({
			...creates,
			items: itemsOf(
				long.chain((made) => fc.boolean().map((isVolatile) => ({ ...made, isVolatile }))),
				1,
				3,
			),
			options: optionsWith({
				timeout: fc.constant(undefined),
				whereToWait: fc.constantFrom('stored', 'auto'),
				maxConcurrency: sometimes(1, fc.constantFrom(1, 1, 2)),
				pollInterval: never,
			}),
			starter: fc.constant<Starter>('schedule'),
			callers: fc.constant([]),
			workflowTimeoutS: fc.constant(0),
			cancelAtMs: sometimes(3, ms(1_000_000)),
			retries: fc.array(retry, { minLength: 1, maxLength: 2 }),
		}),
	),
	kills: fc.array(
		fc.record({
			atMs: fc.oneof(ms(200), ms(60_000)),
			afterRequest: fc.integer({ min: 1, max: 25 }),
			awayMs: ms(100_000),
		}),
		{ maxLength: 2 },
	),
});

/** Runs that do not succeed, in nodes that n8n tries again or whose executions it retries. */
export const failures: fc.Arbitrary<Part> = fc.record({
	service: services({ limiter: never, mostUnderWay: never, odd: never, faults: fc.constant([]) }),
	executions: one(
		executionWith({
			...creates,
			items: itemsOf(
				itemThatTakes(ms(4_000)).chain((made) =>
					fc
						.record({
							isVolatile: fc.boolean(),
							end: fc.constantFrom<RunSpec['end'][]>('failed', 'cancelled', 'odd', 'succeeded'),
						})
						.map(({ isVolatile, end }) => ({ ...made, isVolatile, run: { ...made.run, end } })),
				),
				1,
				3,
			),
			options: optionsWith({
				onUnsuccessfulRun: sometimes(1, fc.constant('output')),
				timeout: never,
				pollInterval: never,
			}),
			maxTries: mostly(0, 1, fc.integer({ min: 2, max: 5 })),
			credentialAway: sometimes(2, fc.record({ fromMs: ms(6_000), forMs: ms(15_000) })),
			retries: fc.array(retry, { minLength: 1, maxLength: 3 }),
		}),
	),
	kills: noKills,
});

/** Attempts of Retry On Fail, while the way to the service is out of order for some time. */
export const attempts: fc.Arbitrary<Part> = fc.record({
	service: services({
		limiter: never,
		mostUnderWay: never,
		odd: never,
		faults: fc
			.record({
				fault: faultOf(
					fc.constantFrom<FaultKind[]>('redirect', 'certificate', 'refused', 'dns', 'blocked'),
					fc.constant('poll'),
				),
				fromMs: ms(200_000),
				forMs: ms(200_000),
			})
			.map(({ fault, fromMs, forMs }) => [
				{ ...fault, share: 1, fromMs, untilMs: fromMs + forMs, isDone: false, status: 302 },
			]),
	}),
	executions: one(
		executionWith({
			...creates,
			items: fc
				.tuple(itemsOf(long, 1, 3), itemsOf(short, 1, 2))
				.map(([some, others]) => [...some, ...others]),
			options: optionsWith({
				timeout: sometimes(2, fc.constantFrom(60, 300)),
				onUnsuccessfulRun: never,
				whereToWait: fc.constantFrom('stored', 'auto'),
				pollInterval: never,
			}),
			maxTries: fc.integer({ min: 2, max: 5 }),
			starter: fc.constant<Starter>('schedule'),
			callers: fc.constant([]),
			workflowTimeoutS: fc.constant(0),
			retries: fc.array(retry, { maxLength: 1 }),
		}),
	),
	kills: noKills,
});

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
		mostUnderWay: never,
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

/** The service asks for pauses of any length, and runs take long. */
export const leftAlone: fc.Arbitrary<Part> = fc.record({
	service: services({
		limiter: never,
		mostUnderWay: never,
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

/** Long runs in workflows that somebody may have called. */
export const calls: fc.Arbitrary<Part> = fc.record({
	service: services({ limiter: never, faults: fc.constant([]), mostUnderWay: never, odd: never }),
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

/** Lists of agents that are long, odd, or change while they are read. */
export const agentLists: fc.Arbitrary<Part> = fc.record({
	service: services({
		pageSize: fc.constantFrom(100, 2, 3),
		others: fc.record({
			count: fc.oneof(fc.integer({ min: 2, max: 8 }), fc.integer({ min: 90, max: 210 })),
			areOdd: fc.boolean(),
			changesAfter: fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 2 }),
			change: fc.constantFrom('gone', 'new'),
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
