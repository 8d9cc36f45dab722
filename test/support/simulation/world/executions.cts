import fc from 'fast-check';

import { mostly, ms, sometimes, withoutAbsent } from './arbitraries.cts';
import type {
	CallSpec,
	EditSpec,
	ExecutionSpec,
	ItemSpec,
	OptionsSpec,
	RetrySpec,
	RunSpec,
	Starter,
} from './world.cts';

type Made<T> = { [Name in keyof T]-?: fc.Arbitrary<T[Name] | undefined> };

/** Durations of all shapes, with those around the time limits that worlds have. */
const duration: fc.Arbitrary<number | null> = fc.oneof(
	{ withCrossShrink: true },
	{ weight: 3, arbitrary: ms(3_000) },
	{ weight: 3, arbitrary: ms(60_000) },
	{
		weight: 2,
		arbitrary: fc.double({ min: 0, max: 16, noNaN: true }).map((e) => Math.round(Math.exp(e))),
	},
	{
		weight: 2,
		arbitrary: fc.constantFrom(59_000, 59_999, 60_000, 60_001, 299_990, 300_000, 300_010, 600_000),
	},
	{ weight: 1, arbitrary: fc.constantFrom(3_599_000, 3_600_500, 7_200_000) },
	{ weight: 1, arbitrary: fc.constant(null) },
);

/** An item, whose run takes so long. */
export const itemThatTakes = (durationMs: fc.Arbitrary<number | null>): fc.Arbitrary<ItemSpec> =>
	fc.record({
		run: fc.record({
			durationMs,
			end: fc.oneof(
				{ weight: 4, arbitrary: fc.constant('succeeded' as const) },
				{ weight: 1, arbitrary: fc.constantFrom<RunSpec['end']>('failed', 'cancelled', 'odd') },
			),
			isJson: fc.boolean(),
			hasBlanks: mostly(false, 3, fc.constant(true)),
		}),
		isVolatile: mostly(false, 5, fc.constant(true)),
		agent: fc.nat(1),
		isWrong: mostly(false, 15, fc.constant(true)),
		ownKey: mostly(false, 9, fc.constant(true)),
	});

const item = itemThatTakes(duration);

/** Values as users and expressions give them. */
const booleans = fc.constantFrom<Array<boolean | string>>(true, 'true', 'false', false, ' True ');

const optionFields: Made<OptionsSpec> = {
	timeout: sometimes<number | string>(
		1,
		fc.constantFrom<Array<number | string>>(60, 300, 0, 5, '60', 1, 0.5, 7_200, ' 300 '),
	),
	pollInterval: sometimes<number | string>(
		2,
		fc.constantFrom<Array<number | string>>(0, 5, 30, 65, 120, 600, '10', 1, 0.01, 0.001),
	),
	whereToWait: sometimes(2, fc.constantFrom('auto', 'stored', 'memory')),
	onUnsuccessfulRun: sometimes(3, fc.constant('output')),
	onTimeout: sometimes(3, fc.constant('output')),
	outputFormat: sometimes(4, fc.constant('json')),
	maxConcurrency: sometimes<number | string>(
		3,
		fc.constantFrom<Array<number | string>>(1, 2, 3, 10, '5', '2.0'),
	),
	retryCreateOnServerError: sometimes<boolean | string>(6, booleans),
	checkFirst: sometimes<boolean | string>(4, booleans),
};

/** Options, some of them of one's own. */
export function optionsWith(own: Partial<Made<OptionsSpec>> = {}): fc.Arbitrary<OptionsSpec> {
	return fc.record({ ...optionFields, ...own }).map((made) => withoutAbsent(made) as OptionsSpec);
}

export const retry: fc.Arbitrary<RetrySpec> = fc.record({
	afterMs: fc.oneof(ms(10_000), ms(2_000_000)),
	workflow: mostly('original', 1, fc.constant('saved' as const)),
	changesNode: fc.boolean(),
});

/** A Retry of a node in which the user has changed more. */
export const retryOfChanged: fc.Arbitrary<RetrySpec> = fc
	.record({
		afterMs: fc.oneof(ms(10_000), ms(1_000_000)),
		workflow: mostly<RetrySpec['workflow']>('saved', 1, fc.constant('original')),
		killedAfterMs: sometimes(2, fc.oneof(ms(5_000), ms(100_000))),
		changesNode: mostly(false, 3, fc.constant(true)),
		edit: sometimes(
			1,
			fc
				.record({
					operation: sometimes<EditSpec['operation']>(
						1,
						fc.constantFrom('get', 'dryRun', 'create'),
					),
					values: sometimes(2, fc.constantFrom(1, 2)),
					waits: sometimes(3, fc.boolean()),
					maxTries: sometimes(3, fc.constantFrom(0, 2)),
					options: sometimes(
						2,
						fc
							.record({
								outputFormat: sometimes<'text' | 'json'>(1, fc.constantFrom('text', 'json')),
								onUnsuccessfulRun: sometimes<'error' | 'output'>(
									1,
									fc.constantFrom('error', 'output'),
								),
							})
							.map(withoutAbsent),
					),
					hasWrongKey: sometimes(3, fc.constant(true)),
					hasMoved: sometimes(3, fc.constant(true)),
				})
				.map((made) => withoutAbsent(made) as EditSpec),
		),
	})
	.map((made) => withoutAbsent(made) as RetrySpec);

/** Few of an item, or as many as there are of few different ones. */
export function itemsOf(
	one: fc.Arbitrary<ItemSpec>,
	least: number,
	most: number,
): fc.Arbitrary<ItemSpec[]> {
	if (most <= 30) return fc.array(one, { minLength: least, maxLength: most });
	return fc
		.tuple(fc.integer({ min: least, max: most }), fc.array(one, { minLength: 1, maxLength: 5 }))
		.map(([count, some]) => Array.from({ length: count }, (_, at) => some[at % some.length]!));
}

const items = fc.oneof(
	{ weight: 30, arbitrary: itemsOf(item, 1, 4) },
	{ weight: 6, arbitrary: itemsOf(item, 5, 30) },
	{ weight: 1, arbitrary: itemsOf(itemThatTakes(fc.oneof(ms(60_000), ms(600_000))), 31, 200) },
);

export const starters = fc.constantFrom<Starter[]>(
	'schedule',
	'manual',
	'webhook',
	'answeringWebhook',
	'perhapsAnsweringWebhook',
	'resumedByCall',
	'chat',
	'chatOfNodes',
	'evaluation',
	'scheduleBesideWebhook',
	'queue',
	'queueThatWaits',
	'scheduleBesideQueue',
	'errorWorkflow',
);

export const callers: fc.Arbitrary<CallSpec[]> = fc.array(
	fc.constantFrom<CallSpec[]>('all', 'all', 'each', 'leave'),
	{ minLength: 1, maxLength: 3 },
);

const executionFields: Made<ExecutionSpec> = {
	startsAtMs: mostly(0, 1, ms(30_000)),
	key: mostly(0, 5, fc.constant(2)),
	operation: fc.oneof(
		{ weight: 10, arbitrary: fc.constant('create' as const) },
		{ weight: 3, arbitrary: fc.constant('get' as const) },
		{ weight: 1, arbitrary: fc.constantFrom('list' as const, 'dryRun' as const) },
	),
	items,
	turns: mostly(1, 4, fc.integer({ min: 2, max: 3 })),
	waits: mostly<boolean | string>(true, 5, fc.oneof(booleans, fc.constant('exceptLast'))),
	agentMode: fc.constantFrom('id', 'list', 'name', 'nameOfLast'),
	parametersMode: fc.constantFrom('json', 'keypair', 'fields', 'mapped'),
	options: optionsWith(),
	onError: fc.constantFrom('stopWorkflow', 'continueRegularOutput', 'continueErrorOutput'),
	maxTries: mostly(0, 3, fc.integer({ min: 2, max: 5 })),
	waitBetweenMs: fc.constantFrom(1_000, 5_000),
	starter: mostly<Starter>('schedule', 2, starters),
	hasGhost: sometimes(30, fc.constant(true)),
	callers: mostly<CallSpec[]>([], 6, callers),
	host: mostly('n8n', 6, fc.constantFrom('oldHost', 'tool', 'bare')),
	savesProgress: fc.boolean(),
	forgetsFailed: sometimes(8, fc.constant(true)),
	workflowTimeoutS: mostly(0, 5, fc.constantFrom(100, 200, 600, 3_600)),
	isTimeoutOfN8n: sometimes(3, fc.constant(true)),
	resumesLateMs: mostly(0, 3, fc.oneof(ms(4_000), ms(100_000), ms(5_000_000))),
	cancelAtMs: sometimes(8, fc.oneof(ms(20_000), ms(1_000_000))),
	credentialAway: sometimes(
		10,
		fc.record({
			fromMs: fc.oneof(ms(3_000), ms(600_000)),
			forMs: ms(200_000),
			hangs: fc.boolean(),
		}),
	),
	newKeyAtMs: sometimes(12, fc.oneof(ms(3_000), ms(600_000))),
	wrongOptionAtMs: sometimes(25, fc.oneof(ms(5_000), ms(400_000))),
	retries: fc.array(retry, { maxLength: 2 }),
};

/** An execution, some of it of one's own. */
export function executionWith(own: Partial<Made<ExecutionSpec>> = {}): fc.Arbitrary<ExecutionSpec> {
	return fc
		.record({ ...executionFields, ...own })
		.map((made) => withoutAbsent(made) as ExecutionSpec);
}
