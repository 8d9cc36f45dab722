import fc from 'fast-check';

import { mostly, ms, sometimes, withoutAbsent } from './arbitraries.cts';
import type { FaultKind, FaultSpec, LimiterSpec, QuotaSpec, ServiceSpec } from './world.cts';

export const retryAfter = fc.constantFrom(
	'1',
	'7',
	'90',
	'5000',
	'0',
	'-5',
	'1.5',
	' 3 ',
	'60, 60',
	'max 40',
	'',
	'soon',
	'99999999999999999999999',
	'Fri, 31 Dec 9999 23:59:59 GMT',
	'Thu, 01 Jan 2026 00:10:00 GMT',
	'Thu, 01 Jan 1970 00:00:00 GMT',
);

const STATUSES: Partial<Record<FaultKind, number[]>> = {
	serverError: [500, 503],
	badGateway: [502, 504, 500, 599],
	empty4xx: [403, 404, 408, 400, 413, 451],
	foreign4xx: [403, 404, 408, 400, 409, 425],
	redirect: [301, 302, 303, 307, 308],
};

/** Those that may come although the service has done the work. */
const MAY_BE_DONE: FaultKind[] = [
	'reset',
	'timeout',
	'serverError',
	'badGateway',
	'html200',
	'html502',
	'otherShape',
	'drips',
];

const anyKind = fc.constantFrom<FaultKind>(
	...MAY_BE_DONE,
	'reset',
	'timeout',
	'serverError',
	'badGateway',
	'refused',
	'dns',
	'html200',
	'html404',
	'html502',
	'empty4xx',
	'foreign4xx',
	'redirect',
	'otherRun',
	'unknownRun',
	'otherShape',
	'stray429',
	'certificate',
	'handshake',
	'blocked',
);

const anyRequest = fc.constantFrom<FaultSpec['on']>(
	'poll',
	'create',
	'create',
	'poll',
	'any',
	'list',
	'dryRun',
);

const until = fc.oneof(ms(20_000), ms(900_000));

/** Longer than any request is repeated: a quota that is used up, perhaps for one kind of requests only. */
const FOR_EVER_MS = 10 * 86_400_000;

/** A fault of a kind, on some requests. */
export function faultOf(
	kinds: fc.Arbitrary<FaultKind> = anyKind,
	on: fc.Arbitrary<FaultSpec['on']> = anyRequest,
): fc.Arbitrary<FaultSpec> {
	return kinds
		.chain((kind) =>
			fc.record(
				{
					kind: fc.constant(kind),
					on: ['otherRun', 'unknownRun'].includes(kind) ? fc.constant('poll') : on,
					share: fc.constantFrom(0.1, 0.3, 0.6, 0.9, 1),
					fromMs: mostly(0, 2, fc.oneof(ms(5_000), ms(400_000))),
					untilMs: kind === 'stray429' ? fc.oneof(until, fc.constant(FOR_EVER_MS)) : until,
					isDone: MAY_BE_DONE.includes(kind) ? fc.boolean() : fc.constant(kind === 'redirect'),
					status: fc.constantFrom(...(STATUSES[kind] ?? [500])),
					retryAfter,
				},
				{ requiredKeys: ['kind', 'on', 'share', 'isDone', 'status', 'untilMs'] },
			),
		)
		.map((made) =>
			made.kind === 'redirect' ? { ...made, isDone: [302, 303].includes(made.status) } : made,
		);
}

/** A quota of runs; of some, nothing is freed again. */
export function quotaOf(own: {
	runs: fc.Arbitrary<number>;
	retryAfter: fc.Arbitrary<string | undefined>;
	isBudget?: fc.Arbitrary<true | undefined>;
	refusesDryRuns?: fc.Arbitrary<true | undefined>;
}): fc.Arbitrary<QuotaSpec> {
	return fc
		.record({
			isBudget: sometimes(3, fc.constant(true as const)),
			refusesDryRuns: sometimes(3, fc.constant(true as const)),
			...own,
		})
		.map((made) => withoutAbsent(made) as QuotaSpec);
}

const limiter: fc.Arbitrary<LimiterSpec> = fc.record(
	{
		kind: fc.constantFrom('fixed', 'fixed', 'sliding', 'sliding', 'bucket', 'bucket', 'ban'),
		limit: fc.integer({ min: 1, max: 60 }),
		windowMs: fc.constantFrom(1_000, 10_000, 60_000),
		retryAfter: fc.constantFrom('seconds', 'none', 'date', 'seconds', 'none', 'date', 'short'),
		usedByOthers: fc.record({
			fromMs: ms(120_000),
			untilMs: fc.integer({ min: 120_000, max: 300_000 }),
			left: fc.integer({ min: 0, max: 3 }),
		}),
		changesAtMs: ms(60_000),
		limitAfter: fc.integer({ min: 1, max: 60 }),
	},
	{ requiredKeys: ['kind', 'limit', 'windowMs', 'retryAfter'] },
);

type Made = { [Name in keyof ServiceSpec]-?: fc.Arbitrary<ServiceSpec[Name] | undefined> };

/** Services of all kinds, some of it of one's own. */
export function services(own: Partial<Made> = {}): fc.Arbitrary<ServiceSpec> {
	const fields: Made = {
		agents: fc.constantFrom<string[][]>(['North', 'South'], ['Straße', 'Ägypten']),
		pageSize: fc.constantFrom(100, 1, 2),
		tripMs: fc.constantFrom<Array<[number, number]>>([5, 5], [20, 80], [200, 900], [1_000, 5_000]),
		workMs: sometimes(4, fc.constantFrom(20, 100, 500)),
		limiter: sometimes(1, limiter),
		quota: sometimes(
			6,
			quotaOf({
				runs: fc.integer({ min: 1, max: 20 }),
				retryAfter: fc.constantFrom(undefined, '1', '20', '60', '300'),
			}),
		),
		faults: fc.oneof(
			{ weight: 1, arbitrary: fc.constant<FaultSpec[]>([]) },
			{ weight: 2, arbitrary: fc.array(faultOf(), { minLength: 1, maxLength: 3 }) },
		),
		unknownForMs: mostly(0, 4, ms(9_000)),
		isWordy: sometimes(6, fc.constant(true)),
		hasNumericIds: sometimes(9, fc.constant(true)),
		hasPlainIds: sometimes(9, fc.constant(true)),
		dropsDryRuns: sometimes(9, fc.constant(true)),
		others: fc.constant(undefined),
		odd: sometimes(6, fc.record({ share: fc.constantFrom(0.1, 0.5, 1), retryAfter })),
	};
	return fc.record({ ...fields, ...own }).map((made) => withoutAbsent(made) as ServiceSpec);
}
