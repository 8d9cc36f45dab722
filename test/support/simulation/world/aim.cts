import fc from 'fast-check';

import { ms } from './arbitraries.cts';
import { itemThatTakes } from './executions.cts';
import type { CallSpec, ExecutionSpec, FaultSpec, Starter, World } from './world.cts';

/** What is generated of a world. */
export type Part = Pick<World, 'service' | 'executions'> & {
	kills: World['kills'];
	clockChanges?: World['clockChanges'];
};

export const one = (execution: fc.Arbitrary<ExecutionSpec>) =>
	fc.array(execution, { minLength: 1, maxLength: 1 });

export const noKills = fc.constant<World['kills']>([]);
export const usualHost = { host: fc.constant('n8n' as const) };
export const creates = { operation: fc.constant('create' as const), ...usualHost };
export const never = fc.constant(undefined);
/** Executions that nothing disturbs but what an aim says. */
export const undisturbed = {
	turns: fc.constant(1),
	starter: fc.constant<Starter>('schedule'),
	callers: fc.constant<CallSpec[]>([]),
	workflowTimeoutS: fc.constant(0),
	cancelAtMs: never,
	credentialAway: never,
	newKeyAtMs: never,
	wrongOptionAtMs: never,
};
/** The same of services. */
export const untroubled = {
	workMs: never,
	limiter: never,
	quota: never,
	odd: never,
	unknownForMs: fc.constant(0),
	faults: fc.constant<FaultSpec[]>([]),
};
/** Items whose runs take over a minute. */
export const long = itemThatTakes(fc.integer({ min: 70_000, max: 2_000_000 }));
export const short = itemThatTakes(ms(20_000));
