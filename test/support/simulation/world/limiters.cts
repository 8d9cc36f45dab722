/**
 * How a service limits the requests of one key: takes a request at a time (in ms, never going back) and
 * gives 0 when it carries it, else how long it takes until it would carry one, in ms. What it refuses does
 * not count, but where it bans.
 */
export type Limiter = (now: number) => number;

/**
 * So many requests in each window, the first of which began `offsetMs` before time 0.
 *
 * @param others how many of those of the window that begins at a moment are used up by others
 */
export function fixedWindow(
	limit: number,
	windowMs = 1_000,
	offsetMs = 0,
	others: (from: number) => number = () => 0,
): Limiter {
	let window = -1;
	let carried = 0;
	return (now) => {
		const current = Math.floor((now + offsetMs) / windowMs);
		if (current !== window) [window, carried] = [current, others(current * windowMs - offsetMs)];
		if (carried >= limit) return (window + 1) * windowMs - offsetMs - now;
		carried++;
		return 0;
	};
}

/** So many requests in any time of this length. */
export function slidingWindow(limit: number, windowMs = 1_000): Limiter {
	const carriedAt: number[] = [];
	return (now) => {
		while (carriedAt.length > 0 && carriedAt[0]! <= now - windowMs) carriedAt.shift();
		if (carriedAt.length >= limit) return carriedAt[0]! + windowMs - now;
		carriedAt.push(now);
		return 0;
	};
}

/** So many requests in any time of this length; beyond, none until nothing has come for that long. */
export function ban(limit: number, windowMs: number): Limiter {
	const within = slidingWindow(limit, windowMs);
	let bannedUntil = -Infinity;
	return (now) => {
		if (now >= bannedUntil && within(now) === 0) return 0;
		bannedUntil = now + windowMs;
		return windowMs;
	};
}

/** A bucket that is full at time 0, takes a token for each request, and is refilled steadily. */
export function tokenBucket(limit: number, burstMs: number): Limiter {
	const size = Math.max(1, (limit * burstMs) / 1_000);
	let tokens = size;
	let at = 0;
	return (now) => {
		tokens = Math.min(size, tokens + ((now - at) / 1_000) * limit);
		at = now;
		// Sums of small times are not exact.
		if (tokens < 1 - 1e-9) return ((1 - tokens) / limit) * 1_000;
		tokens -= 1;
		return 0;
	};
}

/** The limiters that services have, for so many requests a second. */
export const limiters: Record<string, (limit: number) => Limiter> = {
	'fixed window': (limit) => fixedWindow(limit),
	'fixed window, begun 0.3 s before': (limit) => fixedWindow(limit, 1_000, 300),
	'fixed window, begun 0.8 s before': (limit) => fixedWindow(limit, 1_000, 800),
	'sliding window': (limit) => slidingWindow(limit),
	'token bucket, 0.1 s': (limit) => tokenBucket(limit, 100),
	'token bucket, 1 s': (limit) => tokenBucket(limit, 1_000),
};
