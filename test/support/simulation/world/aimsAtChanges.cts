import fc from 'fast-check';

import {
	creates,
	never,
	noKills,
	one,
	undisturbed,
	untroubled,
	usualHost,
	type Part,
} from './aim.cts';
import { mostly, ms, sometimes } from './arbitraries.cts';
import {
	executionWith,
	itemsOf,
	itemThatTakes,
	optionsWith,
	retryOfChanged,
} from './executions.cts';
import type { EditSpec, ExecutionSpec, FaultKind, RetrySpec, Starter } from './world.cts';
import { faultOf, services } from './worldsServices.cts';

/** A node that the user changes between Retries, and changes back, in executions that fail, are stopped or crash. */
export const changedNodes: fc.Arbitrary<Part> = fc.record({
	service: services({
		limiter: never,
		quota: never,
		odd: never,
		faults: mostly(
			[],
			1,
			fc.array(
				faultOf(
					fc.constantFrom<FaultKind[]>('rejected', 'rejected', 'timeout', 'serverError', 'refused'),
					fc.constant('create'),
				),
				{ minLength: 1, maxLength: 2 },
			),
		),
	}),
	executions: one(
		executionWith({
			...creates,
			operation: mostly<ExecutionSpec['operation']>('create', 5, fc.constant('dryRun')),
			items: fc.oneof(
				itemsOf(itemThatTakes(fc.oneof(ms(60_000), ms(900_000))), 1, 4),
				itemsOf(itemThatTakes(fc.oneof(ms(60_000), ms(900_000))), 12, 25),
			),
			maxTries: fc.constant(0),
			starter: fc.constant<Starter>('schedule'),
			callers: fc.constant([]),
			options: optionsWith({
				maxConcurrency: sometimes(1, fc.constantFrom(1, 2)),
				checkFirst: never,
				retryCreateOnServerError: never,
			}),
			cancelAtMs: sometimes(1, fc.oneof(ms(20_000), ms(1_000_000))),
			retries: fc.array(retryOfChanged, { minLength: 2, maxLength: 4 }),
		}),
	),
	kills: mostly<Part['kills']>(
		[],
		1,
		fc.array(
			fc.record({
				atMs: fc.oneof(ms(2_000), ms(100_000)),
				afterRequest: fc.integer({ min: 1, max: 40 }),
				awayMs: ms(100_000),
			}),
			{ minLength: 1, maxLength: 3 },
		),
	),
	clockChanges: sometimes(
		3,
		fc.array(
			fc.record({ atMs: ms(1_000_000), byMs: fc.integer({ min: -7_200_000, max: 600_000 }) }),
			{ minLength: 1, maxLength: 1 },
		),
	),
});

const saved = (edit?: EditSpec): Partial<RetrySpec> => ({
	workflow: 'saved',
	...(edit && { edit }),
});

/** What a user changes for n8n's Retry and for the one after it. */
const CHANGES: Array<Array<Partial<RetrySpec>>> = [
	[{ ...saved({ values: 1 }), killedAfterMs: 9_000 }, { workflow: 'original' }],
	[{ ...saved({ hasMoved: true }), killedAfterMs: 9_000 }, { workflow: 'original' }],
	[saved({ operation: 'get', hasWrongKey: true }), saved()],
	[saved({ operation: 'dryRun' }), saved()],
	[saved({ options: { outputFormat: 'json' } }), saved({ options: { outputFormat: 'text' } })],
	[saved({ options: { outputFormat: 'text' } }), saved({ options: { outputFormat: 'json' } })],
	[saved({ waits: false })],
];

/** The same in orders that come together only seldom: many items, of which some have begun when n8n is ended. */
export const changedAfterCrashes: fc.Arbitrary<Part> = fc.record({
	service: services(untroubled),
	executions: fc
		.record({
			made: executionWith({
				...creates,
				...undisturbed,
				items: itemsOf(
					itemThatTakes(fc.oneof(ms(3_000), ms(400_000))).map((made) => ({
						...made,
						isWrong: false,
						run: { ...made.run, isJson: true },
					})),
					8,
					20,
				),
				maxTries: fc.constant(0),
				savesProgress: fc.constant(true),
				options: optionsWith({ checkFirst: never, maxConcurrency: never, timeout: never }),
			}),
			changes: fc.constantFrom(...CHANGES),
			afterMs: ms(20_000),
		})
		.map(({ made, changes, afterMs }) => [
			{ ...made, retries: changes.map((one) => ({ afterMs, workflow: 'saved' as const, ...one })) },
		]),
	kills: mostly<Part['kills']>(
		[],
		1,
		fc.array(fc.record({ atMs: fc.integer({ min: 1_000, max: 12_000 }), awayMs: ms(5_000) }), {
			minLength: 1,
			maxLength: 1,
		}),
	),
});

/** Items begin once more with other values, one after the other, and n8n is ended while one does after a stored wait. */
export const changedAndParked: fc.Arbitrary<Part> = fc.record({
	service: services({ ...untroubled, tripMs: fc.constant<[number, number]>([5_000, 9_000]) }),
	executions: one(
		executionWith({
			...creates,
			...undisturbed,
			waits: fc.constant(true),
			onError: fc.constant('stopWorkflow' as const),
			savesProgress: fc.constant(false),
			items: itemsOf(itemThatTakes(fc.integer({ min: 20_000, max: 60_000 })), 2, 3).map((all) =>
				all.map((made, index) => ({
					...made,
					isWrong: false,
					run: { ...made.run, isJson: true, end: index < all.length - 1 ? 'succeeded' : 'failed' },
				})),
			),
			options: optionsWith({
				timeout: never,
				checkFirst: never,
				pollInterval: never,
				onUnsuccessfulRun: never,
				outputFormat: never,
				maxConcurrency: fc.constant(1),
				whereToWait: fc.constant('stored'),
			}),
			maxTries: fc.constant(0),
			resumesLateMs: fc.constant(0),
			retries: fc
				.record({
					values: fc.constantFrom(1, 2),
					killedAfterMs: fc.integer({ min: 75_000, max: 95_000 }),
				})
				.map(({ values, killedAfterMs }): RetrySpec[] => [
					{ afterMs: 1_000, workflow: 'saved', edit: { values }, killedAfterMs },
					{ afterMs: 20_000, workflow: 'original' },
				]),
		}),
	),
	kills: noKills,
});

/**
 * The same after creates, or polls, that have failed for a while: items come one after the other, so some are done
 * by then, and one may be in doubt.
 */
export const changedAfterFailures: fc.Arbitrary<Part> = fc
	.record({
		made: executionWith({
			...usualHost,
			...undisturbed,
			operation: mostly<ExecutionSpec['operation']>('create', 1, fc.constant('get')),
			waits: mostly<boolean>(true, 1, fc.constant(false)),
			items: itemsOf(
				itemThatTakes(fc.oneof(ms(2_000), ms(20_000))).map((made) => ({
					...made,
					isWrong: false,
					run: { ...made.run, end: 'succeeded' as const, isJson: true },
				})),
				2,
				6,
			),
			maxTries: mostly(0, 3, fc.constant(2)),
			onError: fc.constant('stopWorkflow' as const),
			options: optionsWith({
				checkFirst: never,
				retryCreateOnServerError: never,
				maxConcurrency: fc.constantFrom(1, 2),
				timeout: sometimes(1, fc.constant(10)),
			}),
		}),
		changes: fc.constantFrom(...CHANGES),
		afterMs: fc.constantFrom(1_000, 20_000),
		atMs: ms(30_000),
		kinds: fc.constantFrom<FaultKind[][]>(
			['rejected'],
			['timeout'],
			['serverError'],
			['unknownRun', 'rejected'],
			['unknownRun', 'timeout'],
		),
		isDone: fc.boolean(),
		tripMs: fc.constantFrom<[number, number]>([5, 5], [200, 900]),
	})
	.map(({ made, changes, afterMs, atMs, kinds, isDone, tripMs }) => {
		const isGet = made.operation === 'get';
		return {
			service: {
				agents: ['North', 'South'],
				pageSize: 100,
				tripMs,
				unknownForMs: 0,
				faults: (isGet ? ['rejected' as const] : kinds).map((kind) => ({
					kind,
					on: kind === 'unknownRun' || isGet ? ('poll' as const) : ('create' as const),
					share: isGet ? 0.3 : 1,
					fromMs: isGet ? 0 : atMs,
					untilMs: isGet ? made.startsAtMs + afterMs / 2 : atMs + 60_000,
					isDone: isDone && kind === 'timeout',
					status: kind === 'serverError' ? 503 : 400,
				})),
			},
			executions: [
				{
					...made,
					retries: (isGet ? [saved({ waits: true })] : [{}, ...changes, {}]).map((one) => ({
						afterMs,
						workflow: 'saved' as const,
						...one,
					})),
				},
			],
			kills: [],
		};
	});
