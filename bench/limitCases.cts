import {
	fixedWindow,
	slidingWindow,
	tokenBucket,
	type Limiter,
} from '../test/support/simulation/world/limiters.cts';

const SECOND = 1_000;

/** For how long each client sends, in ms. */
export const FOR_MS = 600 * SECOND;

/** A service, and the clients that use one key of it. */
export interface Case {
	name: string;
	limiter: () => Limiter;
	/** Requests a second that the service carries, or that are offered where it has no limit. */
	rate: number;
	/** The time that its limit is about, in ms. */
	windowMs: number;
	saysRetryAfter: boolean;
	clients?: number;
	roundTripMs?: number;
	/** The share of requests that are refused at random, without Retry-After. */
	strays?: number;
	/** Requests a second that a client has to send; without it, it always has one. */
	offered?: number;
}

const windows: Array<[limit: number, windowS: number]> = [
	[5, 1],
	[20, 1],
	[100, 1],
	[200, 10],
	[150, 15],
	[300, 30],
	[10, 60],
	[60, 60],
	[600, 60],
];

const windowCases = windows.flatMap(([limit, windowS]) => {
	const windowMs = windowS * SECOND;
	const rate = limit / windowS;
	const of: Array<[string, () => Limiter]> = [
		['fixed', () => fixedWindow(limit, windowMs)],
		['fixed, begun before', () => fixedWindow(limit, windowMs, 0.3 * windowMs)],
		['fixed, begun long before', () => fixedWindow(limit, windowMs, 0.7 * windowMs)],
		['sliding', () => slidingWindow(limit, windowMs)],
		['bucket', () => tokenBucket(rate, windowMs)],
	];
	return of.flatMap(([what, limiter]) =>
		[true, false].map((saysRetryAfter): Case => {
			const name = `${limit} in ${windowS} s, ${what}`;
			return { name, limiter, rate, windowMs, saysRetryAfter };
		}),
	);
});

const shared = (
	clients: number,
	limit: number,
	windowS: number,
	saysRetryAfter: boolean,
): Case => ({
	name: `${limit} in ${windowS} s, sliding, ${clients} clients`,
	limiter: () => slidingWindow(limit, windowS * SECOND),
	rate: limit / windowS,
	windowMs: windowS * SECOND,
	saysRetryAfter,
	clients,
});

/** One that also refuses one, two or three requests in a row each ten seconds, whatever else it carries. */
function withStrays(limiter: Limiter): Limiter {
	let [span, left] = [-1, 0];
	return (now) => {
		const present = Math.floor(now / (10 * SECOND));
		if (present !== span) [span, left] = [present, 1 + (present % 3)];
		return left-- > 0 ? SECOND : limiter(now);
	};
}

/** Limits that services have. */
export const cases: Case[] = [
	...windowCases,
	...[true, false].flatMap((saysRetryAfter): Case[] => [
		shared(4, 20, 1, saysRetryAfter),
		shared(8, 100, 1, saysRetryAfter),
		shared(4, 600, 60, saysRetryAfter),
		{
			name: '20 in 1 s, fixed, a round trip of 1 s',
			limiter: () => fixedWindow(20),
			rate: 20,
			windowMs: SECOND,
			saysRetryAfter,
			roundTripMs: SECOND,
		},
		{
			name: '600 in 60 s, fixed, a round trip of 1 s',
			limiter: () => fixedWindow(600, 60 * SECOND),
			rate: 10,
			windowMs: 60 * SECOND,
			saysRetryAfter,
			roundTripMs: SECOND,
		},
		{
			name: '50 a second, sliding, then 10, then 50',
			limiter: () => {
				const limits = [slidingWindow(50), slidingWindow(10), slidingWindow(50)];
				return (now) => limits[Math.min(Math.floor(now / (FOR_MS / 3)), 2)]!(now);
			},
			rate: 110 / 3,
			windowMs: SECOND,
			saysRetryAfter,
		},
		{
			name: '20 in 1 s, sliding, and up to three refused each 10 s, 10 a second offered',
			limiter: () => withStrays(slidingWindow(20)),
			rate: 10,
			windowMs: SECOND,
			saysRetryAfter,
			offered: 10,
		},
	]),
	{
		name: 'no limit, 2% refused at random, 20 a second offered',
		limiter: () => () => 0,
		rate: 20,
		windowMs: SECOND,
		saysRetryAfter: false,
		strays: 0.02,
		offered: 20,
	},
];
