import fc from 'fast-check';

import { mostly, ms, sometimes, withoutAbsent } from './arbitraries.cts';
import { executionWith } from './executions.cts';
import type { Part } from './aim.cts';
import {
	failingBatches,
	heldUpBatches,
	outages,
	slowCredentials,
	stoppedBatches,
} from './aimsAtBatches.cts';
import {
	changedAfterCrashes,
	changedAfterFailures,
	changedAndParked,
	changedNodes,
} from './aimsAtChanges.cts';
import {
	afterLostCreates,
	attempts,
	failures,
	interrupted,
	lastPolls,
	replaced,
	replacedOutputs,
	setBack,
	stoppedTwice,
	stops,
	timedLoops,
	forgotten,
} from './aimsAtRetries.cts';
import {
	agentLists,
	calls,
	checked,
	crowds,
	leftAlone,
	otherClocks,
	quotas,
	refusedByChance,
	risenLimits,
	longQueues,
	slowService,
	troubledRuns,
	pausesNearTimeouts,
} from './aimsAtService.cts';
import { bans, hangingServices, usedKeys } from './aimsAtLimits.cts';
import { services } from './worldsServices.cts';
import type { World } from './world.cts';

/** n8n is ended at any moment, or so many requests after the beginning. */
const kills: fc.Arbitrary<World['kills']> = fc.array(
	fc
		.record({
			atMs: fc.oneof(ms(5_000), ms(1_500_000)),
			afterRequest: sometimes(2, fc.integer({ min: 1, max: 12 })),
			awayMs: fc.oneof(ms(5_000), ms(600_000)),
		})
		.map(withoutAbsent),
	{ minLength: 1, maxLength: 3 },
);

const anything: fc.Arbitrary<Part> = fc.record({
	service: services(),
	executions: fc.oneof(
		{ weight: 5, arbitrary: fc.array(executionWith(), { minLength: 1, maxLength: 1 }) },
		{ weight: 1, arbitrary: fc.array(executionWith(), { minLength: 2, maxLength: 5 }) },
	),
	kills: mostly<World['kills']>([], 3, kills),
	clockChanges: sometimes(
		9,
		fc.array(
			fc.record({ atMs: ms(1_000_000), byMs: fc.integer({ min: -7_200_000, max: 7_200_000 }) }),
			{ minLength: 1, maxLength: 2 },
		),
	),
});

/**
 * Worlds that nobody has thought of. They shrink to one execution of one item at a service without trouble.
 * Three in four have more of what rarely comes together by chance.
 */
export const worlds: fc.Arbitrary<World> = fc
	.tuple(
		fc.oneof(
			{ weight: 14, arbitrary: anything },
			{ weight: 3, arbitrary: afterLostCreates },
			{ weight: 3, arbitrary: stops },
			{ weight: 2, arbitrary: failures },
			{ weight: 2, arbitrary: attempts },
			{ weight: 3, arbitrary: changedNodes },
			{ weight: 2, arbitrary: changedAfterCrashes },
			{ weight: 2, arbitrary: changedAfterFailures },
			{ weight: 1, arbitrary: changedAndParked },
			{ weight: 1, arbitrary: interrupted },
			{ weight: 1, arbitrary: replaced },
			{ weight: 1, arbitrary: replacedOutputs },
			{ weight: 1, arbitrary: lastPolls },
			{ weight: 1, arbitrary: setBack },
			{ weight: 1, arbitrary: stoppedTwice },
			{ weight: 1, arbitrary: forgotten },
			{ weight: 1, arbitrary: timedLoops },
			{ weight: 1, arbitrary: crowds },
			{ weight: 1, arbitrary: leftAlone },
			{ weight: 1, arbitrary: quotas },
			{ weight: 1, arbitrary: refusedByChance },
			{ weight: 1, arbitrary: risenLimits },
			{ weight: 1, arbitrary: otherClocks },
			{ weight: 2, arbitrary: calls },
			{ weight: 1, arbitrary: agentLists },
			{ weight: 2, arbitrary: checked },
			{ weight: 1, arbitrary: failingBatches },
			{ weight: 1, arbitrary: heldUpBatches },
			{ weight: 1, arbitrary: stoppedBatches },
			{ weight: 1, arbitrary: outages },
			{ weight: 1, arbitrary: slowCredentials },
			{ weight: 1, arbitrary: pausesNearTimeouts },
			{ weight: 1, arbitrary: longQueues },
			{ weight: 1, arbitrary: troubledRuns },
			{ weight: 1, arbitrary: slowService },
			{ weight: 1, arbitrary: usedKeys },
			{ weight: 1, arbitrary: bans },
			{ weight: 1, arbitrary: hangingServices },
		),
		fc.nat(),
		mostly<string>('2.41.0', 4, fc.constantFrom('1.123.81', '2.35.0', '3.0.0')),
	)
	.map(([part, seed, version]) => endingSometime({ ...withoutAbsent<Part>(part), seed, version }));

/** Gives an hour as time limit to executions that might otherwise never end. */
function endingSometime(world: World): World {
	const executions = world.executions.map((spec) => {
		const isNever = spec.items.some(({ run: { durationMs } }) => durationMs === null);
		const hasEnd = !isNever && world.service.quota === undefined;
		const isBounded = Number(spec.options.timeout ?? 3_600) > 0;
		return hasEnd || isBounded ? spec : { ...spec, options: { ...spec.options, timeout: 3_600 } };
	});
	return { ...world, executions };
}
