import { ban, fixedWindow, slidingWindow, tokenBucket, type Limiter } from './limiters.cts';
import type { LimiterSpec } from './world.cts';

/** How many requests others make in the window that begins at a moment. */
function othersOf({ usedByOthers, limit }: LimiterSpec): ((from: number) => number) | undefined {
	if (!usedByOthers) return undefined;
	const { fromMs, untilMs, left } = usedByOthers;
	return (from) => (from >= fromMs && from < untilMs ? Math.max(limit - left, 0) : 0);
}

/** How a world's service limits the requests of one key. */
export function limiterFrom(spec: LimiterSpec): Limiter {
	const make = (limit: number) => {
		if (spec.kind === 'fixed') return fixedWindow(limit, spec.windowMs, 0, othersOf(spec));
		if (spec.kind === 'sliding') return slidingWindow(limit, spec.windowMs);
		if (spec.kind === 'ban') return ban(limit, spec.windowMs);
		return tokenBucket((limit * 1_000) / spec.windowMs, spec.windowMs);
	};
	const [first, then] = [make(spec.limit), make(spec.limitAfter ?? spec.limit)];
	return (now) => (now < (spec.changesAtMs ?? Infinity) ? first : then)(now);
}
