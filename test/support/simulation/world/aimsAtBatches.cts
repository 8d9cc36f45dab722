import fc from 'fast-check';

import { creates, never, noKills, one, undisturbed, untroubled, type Part } from './aim.cts';
import { mostly, ms, sometimes } from './arbitraries.cts';
import { executionWith, itemsOf, itemThatTakes, optionsWith, retry } from './executions.cts';
import type { FaultKind, FaultSpec, ItemSpec } from './world.cts';
import { faultOf, retryAfter, services } from './worldsServices.cts';

const batch = {
	...creates,
	...undisturbed,
	key: fc.constant(0),
	agentMode: fc.constant('id' as const),
	maxTries: fc.constant(0),
};

const unbounded = {
	timeout: never,
	maxConcurrency: never,
	checkFirst: never,
	retryCreateOnServerError: never,
	onUnsuccessfulRun: never,
};

/** Items whose values are right, all of one agent. */
const itemThat = (durationMs: fc.Arbitrary<number>, end: 'succeeded' | 'failed') =>
	itemThatTakes(durationMs).map((made): ItemSpec => ({
		...made,
		agent: 0,
		isWrong: false,
		ownKey: false,
		run: { ...made.run, end },
	}));

/** Faults of polls while a batch begins. */
const ofPolls = fc
	.record({
		fault: faultOf(
			fc.constantFrom<FaultKind[]>('serverError', 'badGateway', 'reset', 'stray429'),
			fc.constant('poll'),
		),
		forMs: ms(40_000),
	})
	.map(({ fault, forMs }) => ({ ...fault, fromMs: 0, untilMs: 2_000_000 + forMs }));

/** All runs of a batch fail at once, perhaps those of an agent whose runs took long before. */
export const failingBatches: fc.Arbitrary<Part> = fc.record({
	service: services({
		...untroubled,
		tripMs: fc.constantFrom([5, 5], [100, 400], [500, 3_000]),
		odd: sometimes(3, fc.record({ share: fc.constantFrom(0.5, 1), retryAfter })),
		faults: fc.oneof(
			fc.constant<FaultSpec[]>([]),
			fc.array(ofPolls, { minLength: 1, maxLength: 1 }),
		),
	}),
	executions: fc
		.tuple(
			fc.array(
				executionWith({
					...batch,
					startsAtMs: fc.constant(0),
					items: itemsOf(itemThat(fc.oneof(ms(60_000), ms(600_000)), 'succeeded'), 1, 5),
					options: optionsWith(unbounded),
				}),
				{ maxLength: 1 },
			),
			executionWith({
				...batch,
				startsAtMs: fc.constant(2_000_000),
				items: itemsOf(itemThat(ms(4_000), 'failed'), 11, 60),
				onError: fc.constant('stopWorkflow'),
				options: optionsWith(unbounded),
			}),
		)
		.map(([before, failing]) => [...before, failing]),
	kills: noKills,
});

/** A server error of the first moments. */
const failing = faultOf(fc.constant<FaultKind>('serverError'), fc.constant('create')).map(
	({ kind, on, isDone }) => ({
		kind,
		on,
		isDone,
		share: 0.2,
		fromMs: 0,
		untilMs: 100,
		status: 500,
	}),
);

/** Dry runs fail for a while. */
const ofDryRuns = faultOf(
	fc.constantFrom<FaultKind[]>('serverError', 'badGateway'),
	fc.constant('dryRun'),
).map((made) => ({ ...made, share: 1, fromMs: 0, untilMs: 20_000 }));

/**
 * The creates of some of the first items get no answer, and perhaps those of others a server error, or dry runs of
 * another execution.
 */
export const heldUpBatches: fc.Arbitrary<Part> = fc.record({
	service: services({
		...untroubled,
		tripMs: fc.constantFrom([5, 5], [100, 400]),
		faults: fc
			.tuple(
				faultOf(fc.constant<FaultKind>('timeout'), fc.constant('create')).map((made) => ({
					...made,
					share: 0.2,
					fromMs: 0,
					untilMs: 100,
				})),
				fc.array(failing, { maxLength: 1 }),
				fc.array(ofDryRuns, { maxLength: 1 }),
			)
			.map(([unanswered, others, dryRuns]) => [unanswered, ...others, ...dryRuns]),
	}),
	executions: fc
		.tuple(
			executionWith({
				...batch,
				startsAtMs: fc.constant(0),
				items: itemsOf(itemThat(fc.oneof(ms(20_000), ms(600_000)), 'succeeded'), 11, 60),
				options: optionsWith(unbounded),
			}),
			fc.array(
				executionWith({
					...batch,
					operation: fc.constant('dryRun'),
					startsAtMs: fc.constant(0),
					items: itemsOf(itemThat(ms(20_000), 'succeeded'), 1, 5),
					options: optionsWith(unbounded),
				}),
				{ maxLength: 1 },
			),
		)
		.map(([first, beside]) => [first, ...beside]),
	kills: noKills,
});

/** Creates fail now and then while another execution's credential takes long to be read. */
export const slowCredentials: fc.Arbitrary<Part> = fc.record({
	service: services({
		...untroubled,
		tripMs: fc.constant([1_000, 5_000]),
		faults: fc.array(
			faultOf(fc.constant<FaultKind>('badGateway'), fc.constant('create')).map((made) => ({
				...made,
				share: 0.3,
				fromMs: 0,
				untilMs: 100_000,
			})),
			{ minLength: 1, maxLength: 1 },
		),
	}),
	executions: fc.tuple(
		executionWith({
			...batch,
			items: itemsOf(itemThat(ms(20_000), 'succeeded'), 20, 60),
			onError: fc.constant('continueRegularOutput'),
			options: optionsWith(unbounded),
		}),
		executionWith({
			...batch,
			items: itemsOf(itemThat(ms(20_000), 'succeeded'), 2, 10),
			onError: fc.constant('continueRegularOutput'),
			credentialAway: fc.record({
				fromMs: ms(30_000),
				forMs: fc.integer({ min: 6_000, max: 60_000 }),
				hangs: fc.constant(true),
			}),
			startsAtMs: ms(20_000),
			options: optionsWith(unbounded),
		}),
	),
	kills: noKills,
});

/** The service is away while a batch begins. */
export const outages: fc.Arbitrary<Part> = fc
	.record({ fromMs: ms(5_000), forMs: ms(200_000) })
	.chain(({ fromMs, forMs }) =>
		fc.record({
			service: services({
				...untroubled,
				faults: fc.array(
					faultOf(
						fc.constantFrom<FaultKind[]>('serverError', 'badGateway', 'html502', 'reset'),
						fc.constantFrom('create', 'any'),
					).map((made) => ({ ...made, share: 1, fromMs, untilMs: fromMs + forMs })),
					{ minLength: 1, maxLength: 1 },
				),
			}),
			executions: fc.array(
				executionWith({
					...batch,
					items: itemsOf(itemThat(ms(20_000), 'succeeded'), 11, 100),
					onError: mostly('continueRegularOutput', 3, fc.constant('stopWorkflow')),
					options: optionsWith({ timeout: never, maxConcurrency: never }),
				}),
				{ minLength: 1, maxLength: 2 },
			),
			kills: noKills,
		}),
	);

/** Batches that are stopped, or run into the workflow's timeout, while slow requests keep n8n from saving progress. */
export const stoppedBatches: fc.Arbitrary<Part> = fc.record({
	service: services({ ...untroubled, tripMs: fc.constant<[number, number]>([5, 12_000]) }),
	executions: one(
		executionWith({
			...creates,
			...undisturbed,
			items: itemsOf(itemThatTakes(ms(2_000)), 5, 9),
			options: optionsWith({
				maxConcurrency: fc.constantFrom(2, 3),
				checkFirst: never,
				timeout: never,
			}),
			maxTries: fc.constant(0),
			onError: fc.constant('stopWorkflow' as const),
			savesProgress: fc.constant(true),
			cancelAtMs: fc.integer({ min: 3_000, max: 60_000 }),
			retries: fc.array(retry, { minLength: 0, maxLength: 1 }),
		}),
	),
	kills: noKills,
});
