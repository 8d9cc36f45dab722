import fc from 'fast-check';

/** Mostly the first, which is what worlds shrink to. */
export function mostly<T>(usual: T, weight: number, other: fc.Arbitrary<T>): fc.Arbitrary<T> {
	return fc.oneof(
		{ withCrossShrink: true },
		{ weight, arbitrary: fc.constant(usual) },
		{ weight: 1, arbitrary: other },
	);
}

/** A member that is there once in `weight` + 1 times. */
export function sometimes<T>(weight: number, made: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
	return mostly<T | undefined>(undefined, weight, made);
}

export const ms = (max: number) => fc.noBias(fc.integer({ min: 0, max }));

export function withoutAbsent<T extends object>(record: T): T {
	return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as T;
}
