/** How many items may have begun and not ended. */
export interface Concurrency {
	most: number;
	/** The same until one has gone well: it has its result, or all that have begun have gone on for a while. */
	atFirst: number;
}

/** For how long runs have to go on before more of them are taken to go well, in ms. */
export const GOES_WELL_AFTER_MS = 5_000;

/** Ten items show the way, so that a mistake that shows at once costs ten runs at most; then the service sets the pace. */
export const AUTOMATIC: Concurrency = { most: Infinity, atFirst: 10 };

/** A number of the user's own. */
export function fixedAt(count: number): Concurrency {
	return { most: count, atFirst: count };
}
