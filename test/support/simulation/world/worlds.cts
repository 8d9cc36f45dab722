import fc from 'fast-check';

import { mostly, ms, sometimes, withoutAbsent } from './arbitraries.cts';
import { services } from './worldsServices.cts';
import type { ExecutionSpec, ItemSpec, OptionsSpec, RetrySpec, RunSpec, World } from './world.cts';

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

const run: fc.Arbitrary<RunSpec> = fc.record({
	durationMs: duration,
	end: fc.oneof(
		{ weight: 6, arbitrary: fc.constant('succeeded' as const) },
		{ weight: 1, arbitrary: fc.constantFrom('failed', 'cancelled', 'odd') },
	),
	isJson: fc.boolean(),
});

const item: fc.Arbitrary<ItemSpec> = fc.record({
	run,
	isVolatile: mostly(false, 9, fc.constant(true)),
	agent: fc.nat(1),
	ownKey: mostly(false, 9, fc.constant(true)),
});

const options: fc.Arbitrary<OptionsSpec> = fc
	.record({
		timeout: sometimes<number | string>(
			1,
			fc.constantFrom<Array<number | string>>(60, 300, 0, 5, '60', 1, 0.5, 7_200),
		),
		pollInterval: sometimes<number | string>(
			2,
			fc.constantFrom<Array<number | string>>(0, 1, 5, 30, 65, 120, 600, '10', 0.01),
		),
		whereToWait: sometimes(2, fc.constantFrom('auto', 'stored', 'memory')),
		onUnsuccessfulRun: sometimes(3, fc.constant('output')),
		onTimeout: sometimes(3, fc.constant('output')),
		outputFormat: sometimes(4, fc.constant('json')),
		maxConcurrency: sometimes<number | string>(
			3,
			fc.constantFrom<Array<number | string>>(1, 2, 3, 10, '5'),
		),
		retryCreateOnServerError: sometimes<boolean | string>(
			6,
			fc.constantFrom<Array<boolean | string>>(true, 'true', 'false'),
		),
	})
	.map(withoutAbsent);

const retry: fc.Arbitrary<RetrySpec> = fc.record({
	afterMs: fc.oneof(ms(10_000), ms(2_000_000)),
	workflow: mostly('original', 2, fc.constant('saved' as const)),
});

const items = fc.oneof(
	{ weight: 12, arbitrary: fc.array(item, { minLength: 1, maxLength: 4 }) },
	{ weight: 4, arbitrary: fc.array(item, { minLength: 5, maxLength: 30 }) },
	{
		weight: 1,
		arbitrary: fc
			.tuple(fc.integer({ min: 30, max: 300 }), fc.array(item, { minLength: 1, maxLength: 5 }))
			.map(([count, some]) =>
				Array.from({ length: count }, (_, index) => some[index % some.length]!),
			),
	},
);

const execution: fc.Arbitrary<ExecutionSpec> = fc
	.record({
		startsAtMs: mostly(0, 1, ms(30_000)),
		key: mostly(0, 5, fc.constant(2)),
		operation: fc.oneof(
			{ weight: 10, arbitrary: fc.constant('create' as const) },
			{ weight: 3, arbitrary: fc.constant('get' as const) },
			{ weight: 1, arbitrary: fc.constantFrom('list' as const, 'dryRun' as const) },
		),
		items,
		turns: mostly(1, 4, fc.integer({ min: 2, max: 3 })),
		waits: mostly<boolean | string>(
			true,
			5,
			fc.constantFrom<Array<boolean | string>>(false, 'true', 'false'),
		),
		agentMode: fc.constantFrom('id', 'list', 'name'),
		parametersMode: fc.constantFrom('json', 'keypair', 'fields'),
		options,
		onError: fc.constantFrom('stopWorkflow', 'continueRegularOutput', 'continueErrorOutput'),
		maxTries: mostly(0, 3, fc.integer({ min: 2, max: 5 })),
		waitBetweenMs: fc.constantFrom(1_000, 5_000),
		mode: mostly('trigger', 3, fc.constantFrom('manual', 'webhook', 'evaluation')),
		host: mostly('n8n', 6, fc.constantFrom('oldHost', 'tool', 'bare')),
		savesProgress: fc.boolean(),
		workflowTimeoutS: mostly(0, 5, fc.constantFrom(100, 200, 600, 3_600)),
		resumesLateMs: mostly(0, 3, fc.oneof(ms(4_000), ms(100_000), ms(5_000_000))),
		cancelAtMs: sometimes(8, fc.oneof(ms(20_000), ms(1_000_000))),
		credentialAway: sometimes(
			10,
			fc.record({ fromMs: fc.oneof(ms(3_000), ms(600_000)), forMs: ms(200_000) }),
		),
		retries: fc.array(retry, { maxLength: 2 }),
	})
	.map(withoutAbsent);

/** Worlds that nobody has thought of. They shrink to one execution of one item at a service without trouble. */
export const worlds: fc.Arbitrary<World> = fc
	.record({
		seed: fc.nat(),
		service: services,
		executions: fc.oneof(
			{ weight: 4, arbitrary: fc.array(execution, { minLength: 1, maxLength: 1 }) },
			{ weight: 1, arbitrary: fc.array(execution, { minLength: 2, maxLength: 5 }) },
		),
		kills: fc.oneof(
			{ weight: 3, arbitrary: fc.constant<World['kills']>([]) },
			{
				weight: 1,
				arbitrary: fc.array(
					fc.record({
						atMs: fc.oneof(ms(5_000), ms(1_500_000)),
						awayMs: fc.oneof(ms(5_000), ms(600_000)),
					}),
					{
						minLength: 1,
						maxLength: 3,
					},
				),
			},
		),
		version: mostly<string>('2.41.0', 4, fc.constantFrom('1.123.81', '2.35.0', '3.0.0')),
	})
	.map((world) => endingSometime(world));

/** What has no limit of its own and a run that never ends is stopped by somebody, at some time. */
function endingSometime(world: World): World {
	const executions = world.executions.map((spec) => {
		const { mostUnderWay = Infinity } = world.service;
		const isNever = spec.items.some(({ run: { durationMs } }) => durationMs === null);
		const hasEnd = !isNever && mostUnderWay === Infinity;
		const isBounded = Number(spec.options.timeout ?? 3_600) > 0;
		return hasEnd || isBounded ? spec : { ...spec, options: { ...spec.options, timeout: 3_600 } };
	});
	return { ...world, executions };
}
