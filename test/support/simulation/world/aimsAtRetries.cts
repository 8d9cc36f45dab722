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
	type Part,
} from './aim.cts';
import { mostly, ms, sometimes } from './arbitraries.cts';
import { executionWith, itemsOf, itemThatTakes, optionsWith, retry } from './executions.cts';
import type { FaultKind, RunSpec, Starter } from './world.cts';
import { faultOf, services } from './worldsServices.cts';

/** Creates whose answers are lost, and what is tried again after them. */
export const afterLostCreates: fc.Arbitrary<Part> = fc.record({
	service: services({
		limiter: never,
		quota: never,
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
	service: services({ limiter: never, quota: never, odd: never, faults: fc.constant([]) }),
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
			retries: fc.array(retry, { minLength: 1, maxLength: 3 }),
		}),
	),
	kills: noKills,
});

/** Long runs that fail and are replaced with Retry On Fail, and n8n is killed about then. */
export const replaced: fc.Arbitrary<Part> = fc.record({
	service: services(untroubled),
	executions: one(
		executionWith({
			...creates,
			...undisturbed,
			items: itemsOf(
				itemThatTakes(fc.integer({ min: 66_000, max: 600_000 })).map((made) => ({
					...made,
					run: { ...made.run, end: 'failed' as const },
				})),
				1,
				2,
			),
			options: optionsWith({
				timeout: never,
				pollInterval: never,
				checkFirst: never,
				maxConcurrency: never,
				onUnsuccessfulRun: never,
				whereToWait: fc.constantFrom('stored', 'auto'),
			}),
			maxTries: fc.integer({ min: 2, max: 5 }),
			retries: fc.array(retry, { minLength: 1, maxLength: 2 }),
		}),
	),
	kills: fc.array(
		fc.record({
			atMs: ms(2_000),
			afterRequest: fc.integer({ min: 3, max: 20 }),
			awayMs: ms(5_000),
		}),
		{ minLength: 1, maxLength: 1 },
	),
});

/** A run that is output at its time limit and fails afterwards, so that a later attempt replaces it, as above. */
export const replacedOutputs: fc.Arbitrary<Part> = fc
	.record({
		limitS: fc.integer({ min: 400, max: 900 }),
		atFirstMs: ms(5_000),
		lateMs: ms(60_000),
		lastMs: fc.integer({ min: 350_000, max: 399_000 }),
		killedMs: ms(100_000),
	})
	.chain(({ limitS, atFirstMs, lateMs, lastMs, killedMs }) => {
		// The first one makes n8n try again, and the last one is stored while the second is output.
		const durations = [atFirstMs, limitS * 1_000 + lateMs, lastMs];
		return fc.record({
			service: services({ ...untroubled, tripMs: fc.constant([5_000, 9_000]) }),
			executions: one(
				executionWith({
					...creates,
					...undisturbed,
					startsAtMs: fc.constant(0),
					waits: fc.constant(true),
					onError: fc.constant('continueRegularOutput'),
					savesProgress: fc.constant(false),
					items: fc
						.tuple(...durations.map((durationMs) => itemThatTakes(fc.constant(durationMs))))
						.map((all) =>
							all.map((made, index) => ({
								...made,
								isWrong: false,
								run: { ...made.run, end: index < 2 ? 'failed' : 'succeeded' },
							})),
						),
					options: optionsWith({
						timeout: fc.constant(limitS),
						onTimeout: fc.constant('output'),
						pollInterval: never,
						checkFirst: never,
						maxConcurrency: fc.constant(1),
						onUnsuccessfulRun: never,
						whereToWait: fc.constant('auto'),
					}),
					maxTries: fc.integer({ min: 2, max: 3 }),
					resumesLateMs: fc.constant(0),
					retries: fc.array(retry, { minLength: 1, maxLength: 1 }),
				}),
			),
			// The end of the last one is noticed a fifth later at most. Then the others begin again, which takes long.
			kills: fc.constant([{ atMs: limitS * 1_000 + lastMs + 70_000 + killedMs, awayMs: 1_000 }]),
		});
	});

/** n8n is ended while the last polls of runs are repeated, of which the Retry goes on with others. */
export const lastPolls: fc.Arbitrary<Part> = fc
	.record({
		killedAtMs: fc.integer({ min: 8_000, max: 60_000 }),
		afterMs: fc.constantFrom(1_000, 300_000),
		failsForMs: ms(40_000),
	})
	.chain(({ killedAtMs, afterMs, failsForMs }) =>
		fc.record({
			service: services({
				...untroubled,
				tripMs: fc.constantFrom([5, 5], [500, 4_000]),
				faults: fc.array(
					faultOf(
						fc.constantFrom<FaultKind[]>('serverError', 'badGateway', 'reset', 'refused', 'dns'),
						fc.constant('poll'),
					).map((made) => ({
						kind: made.kind,
						on: made.on,
						isDone: false,
						share: 1,
						status: 503,
						fromMs: 0,
						untilMs: killedAtMs + afterMs + failsForMs,
					})),
					{ minLength: 1, maxLength: 1 },
				),
			}),
			executions: one(
				executionWith({
					...creates,
					...undisturbed,
					startsAtMs: fc.constant(0),
					savesProgress: fc.constant(true),
					items: itemsOf(itemThatTakes(ms(20_000)), 2, 6),
					options: optionsWith({
						timeout: fc.constantFrom(1, 5),
						pollInterval: never,
						checkFirst: never,
						maxConcurrency: never,
					}),
					maxTries: fc.constant(0),
					resumesLateMs: fc.constant(0),
					retries: fc.array(
						retry.map((made) => ({ ...made, afterMs })),
						{ minLength: 1, maxLength: 1 },
					),
				}),
			),
			kills: fc.constant([{ atMs: killedAtMs, awayMs: 1_000 }]),
		}),
	);

/** n8n ends while items begin after a stored wait, and its clock is set back before the Retry. */
export const setBack: fc.Arbitrary<Part> = fc
	.record({
		killedAtMs: fc.integer({ min: 70_000, max: 900_000 }),
		byMs: fc.oneof(
			fc.integer({ min: 60_000, max: 100_000 }),
			fc.integer({ min: 1_000_000, max: 7_200_000 }),
		),
	})
	.chain(({ killedAtMs, byMs }) =>
		fc.record({
			service: services({ ...untroubled, tripMs: fc.constant<[number, number]>([15_000, 25_000]) }),
			executions: one(
				executionWith({
					...creates,
					...undisturbed,
					savesProgress: fc.constant(false),
					items: itemsOf(itemThatTakes(fc.integer({ min: 70_000, max: 130_000 })), 3, 8),
					options: optionsWith({
						timeout: never,
						checkFirst: never,
						maxConcurrency: fc.constant(1),
						onUnsuccessfulRun: fc.constant('output'),
						whereToWait: fc.constant('stored'),
					}),
					maxTries: fc.constant(0),
					resumesLateMs: fc.constant(0),
					retries: fc.array(
						fc.record({
							afterMs: ms(10_000),
							workflow: fc.constant('original' as const),
							changesNode: fc.constant(false),
						}),
						{ minLength: 1, maxLength: 1 },
					),
				}),
			),
			kills: fc.constant([{ atMs: killedAtMs, awayMs: 10_000 }]),
			clockChanges: fc.constant([{ atMs: killedAtMs + 1_000, byMs: -byMs }]),
		}),
	);

/** Attempts of Retry On Fail, while the way to the service is out of order for some time. */
export const attempts: fc.Arbitrary<Part> = fc.record({
	service: services({
		limiter: never,
		quota: never,
		odd: never,
		faults: fc
			.record({
				fault: faultOf(
					fc.constantFrom<FaultKind[]>(
						...(['redirect', 'certificate', 'handshake', 'refused', 'dns', 'blocked'] as const),
						...(['rejected', 'rejected'] as const),
					),
					fc.constant('poll'),
				),
				fromMs: ms(200_000),
				forMs: ms(200_000),
			})
			.map(({ fault, fromMs, forMs }) => [
				{ ...fault, share: 1, fromMs, untilMs: fromMs + forMs, isDone: false, status: 307 },
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

/** Some items have their result and others fail, while the credential cannot be read for an attempt or two. */
export const interrupted: fc.Arbitrary<Part> = fc.record({
	service: services({ limiter: never, quota: never, odd: never, faults: fc.constant([]) }),
	executions: one(
		executionWith({
			...creates,
			items: itemsOf(itemThatTakes(ms(2_000)), 2, 4),
			options: optionsWith({ timeout: never, pollInterval: never }),
			maxTries: fc.integer({ min: 3, max: 5 }),
			waitBetweenMs: fc.constant(5_000),
			starter: fc.constant<Starter>('schedule'),
			callers: fc.constant([]),
			workflowTimeoutS: fc.constant(0),
			credentialAway: fc.record({ fromMs: ms(8_000), forMs: ms(8_000) }),
			retries: fc.array(retry, { maxLength: 1 }),
		}),
	),
	kills: noKills,
});

/** An execution is stopped while it is parked with items that have not begun, and n8n ends while its Retry begins them. */
export const stoppedTwice: fc.Arbitrary<Part> = fc
	.record({
		stoppedAtMs: fc.integer({ min: 340_000, max: 420_000 }),
		afterMs: ms(1_000_000),
		killedAfterMs: ms(200_000),
	})
	.chain(({ stoppedAtMs, afterMs, killedAfterMs }) =>
		fc.record({
			service: services({
				limiter: never,
				quota: never,
				odd: never,
				faults: fc.constant([]),
			}),
			executions: one(
				executionWith({
					...creates,
					items: itemsOf(itemThatTakes(fc.integer({ min: 430_000, max: 900_000 })), 2, 3),
					options: optionsWith({
						whereToWait: fc.constant('auto'),
						maxConcurrency: fc.constantFrom(1, 2),
						pollInterval: never,
						timeout: never,
					}),
					startsAtMs: fc.constant(0),
					maxTries: fc.constant(0),
					starter: fc.constant<Starter>('schedule'),
					callers: fc.constant([]),
					workflowTimeoutS: fc.constant(0),
					savesProgress: fc.constant(true),
					cancelAtMs: fc.constant(stoppedAtMs),
					retries: fc
						.array(retry, { minLength: 2, maxLength: 3 })
						.map(([first, ...others]) => [{ ...first!, afterMs }, ...others]),
				}),
			),
			kills: fc.constant([{ atMs: stoppedAtMs + afterMs + killedAfterMs, awayMs: 10_000 }]),
		}),
	);

/** A loop in a workflow with a timeout of its own, which is stopped in one of its turns and retried. */
export const timedLoops: fc.Arbitrary<Part> = fc.record({
	service: services({
		limiter: never,
		quota: never,
		odd: never,
		tripMs: fc.constant([5, 5]),
		faults: fc.constant([]),
	}),
	executions: one(
		executionWith({
			...creates,
			items: itemsOf(itemThatTakes(fc.integer({ min: 20_000, max: 150_000 })), 1, 2),
			turns: fc.integer({ min: 2, max: 3 }),
			maxTries: fc.constant(0),
			starter: fc.constant<Starter>('schedule'),
			callers: fc.constant([]),
			resumesLateMs: fc.constant(0),
			options: optionsWith({ timeout: fc.constantFrom(0, 3_600), checkFirst: never }),
			workflowTimeoutS: fc.integer({ min: 160, max: 500 }),
			cancelAtMs: sometimes(1, ms(150_000)),
			credentialAway: never,
			retries: fc.array(retry, { minLength: 1, maxLength: 2 }),
		}),
	),
	kills: noKills,
});

/** n8n is restarted when a poll is overdue, and does not keep what it takes for failed. */
export const forgotten: fc.Arbitrary<Part> = fc.record({
	service: services({ ...untroubled }),
	executions: one(
		executionWith({
			...undisturbed,
			...creates,
			items: itemsOf(itemThatTakes(fc.integer({ min: 200_000, max: 2_000_000 })), 1, 2),
			options: optionsWith({
				whereToWait: fc.constant('stored'),
				timeout: never,
				pollInterval: never,
				checkFirst: never,
			}),
			maxTries: fc.constant(0),
			retries: fc.constant([]),
			forgetsFailed: fc.constant(true),
		}),
	),
	kills: fc
		.record({
			atMs: fc.integer({ min: 10_000, max: 60_000 }),
			awayMs: fc.integer({ min: 80_000, max: 300_000 }),
		})
		.map((kill) => [kill]),
});
