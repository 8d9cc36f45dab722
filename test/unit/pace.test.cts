import {
	fixedWindow,
	slidingWindow,
	tokenBucket,
	type Limiter,
} from '../support/simulation/world/limiters.cts';
import { Pace } from '../../nodes/AgentInvocation/service/pace.ts';

const SECOND = 1_000;

// Pauses without Retry-After are as long as they are on average.
beforeEach(() => jest.spyOn(Math, 'random').mockReturnValue(0.5));
afterEach(() => jest.restoreAllMocks());

/** A client that always has requests to send, at the pace that is tested; time is only counted. */
class Client {
	readonly pace = new Pace();

	now = 0;

	/** Of the answers, how many are lost. */
	losesEach = Infinity;

	/** When each request was sent, and whether it was refused. */
	readonly sent: Array<{ at: number; refused: boolean }> = [];

	/** A refusal comes after so many ms. */
	refusedAfterMs: number;

	/** How far apart the requests come that it has to send, in ms; each is sent as soon as the pace allows. */
	needsEachMs = 0;

	/** By how much the timer is late that it sends by, in ms. */
	lateMs = 0;

	private timer = { opensAt: NaN, firesAt: NaN };

	private needsAt = 0;

	private underWay: Array<{ sentAt: number; wait: number; answeredAt: number }> = [];

	constructor(
		public limiter: Limiter,
		private readonly saysRetryAfter = true,
		private readonly roundTripMs = 50,
	) {
		this.refusedAfterMs = roundTripMs;
	}

	/** Sends as fast as the pace allows, until then. */
	until(end: number): this {
		for (;;) {
			const answeredAt = this.underWay[0]?.answeredAt ?? Infinity;
			const { opensAt } = this.pace;
			if (opensAt !== this.timer.opensAt) {
				const late = opensAt > this.now ? this.lateMs : 0;
				this.timer = { opensAt, firesAt: opensAt + late };
			}
			const sendsAt = Math.max(this.timer.firesAt, this.needsAt);
			const next = Math.max(this.now, Math.min(answeredAt, sendsAt));
			if (next > end) break;
			this.now = next;
			if (answeredAt <= next) this.answer();
			else this.send();
		}
		this.now = end;
		return this;
	}

	in(from: number, to: number) {
		return this.sent.filter(({ at }) => at >= from && at < to);
	}

	refused(from = 0, to = Infinity): number {
		return this.in(from, to).filter(({ refused }) => refused).length;
	}

	/** A 429 to the request that was sent last. */
	refuse(): void {
		const answer = { kind: 'rateLimited' as const, status: 429, retryAfter: '1' };
		this.pace.learn(answer, this.sent.at(-1)!.at, this.now);
	}

	carriedIn(from: number, to: number): number {
		return this.in(from, to).length - this.refused(from, to);
	}

	private send(): void {
		this.pace.take(this.now);
		// What has waited for long is given up.
		this.needsAt = Math.max(this.needsAt + this.needsEachMs, this.now - 10_000);
		const wait = this.limiter(this.now);
		this.sent.push({ at: this.now, refused: wait > 0 });
		const answeredAt = this.now + (wait > 0 ? this.refusedAfterMs : this.roundTripMs);
		this.underWay.push({ sentAt: this.now, wait, answeredAt });
		this.underWay.sort((a, b) => a.answeredAt - b.answeredAt);
	}

	private answer(): void {
		const { sentAt, wait } = this.underWay.shift()!;
		const retryAfter = String(Math.ceil(wait / SECOND));
		const answer =
			wait > 0
				? { kind: 'rateLimited' as const, status: 429, ...(this.saysRetryAfter && { retryAfter }) }
				: this.sent.length % this.losesEach === 0
					? { kind: 'connectionLost' as const }
					: { kind: 'ok' as const, status: 200 };
		this.pace.learn(answer, sentAt, this.now);
	}
}

const noLimit: Limiter = () => 0;

describe('while nothing is refused', () => {
	test('it begins with 80 requests in the first second, of which 50 may be under way', () => {
		expect(new Client(noLimit, true, SECOND / 2).until(SECOND / 2 - 1).sent).toHaveLength(40);
		expect(new Client(noLimit, true, SECOND).until(SECOND - 1).sent).toHaveLength(50);
	});

	test('more may be under way once some were carried quickly', () => {
		const client = new Client(noLimit, true, SECOND).until(3 * SECOND - 1);
		expect(client.in(2 * SECOND, 3 * SECOND).length).toBeGreaterThan(80);
	});

	test('where it answers soon, one more may be under way for each that was carried, up to 15', () => {
		const client = new Client(noLimit).until(0);
		expect(client.sent).toHaveLength(1);
		// Beside those under way, the rate allows 4 in each round trip.
		expect(client.until(100).in(50, 100).length).toBeLessThanOrEqual(2 * 5);
		client.until(SECOND);
		expect(client.in(900, 950)).toHaveLength(15);
	});

	test('the first refusal ends that', () => {
		const client = new Client(noLimit).until(SECOND);
		client.refuse();
		client.until(2 * SECOND + 50).refuse();
		client.until(3 * SECOND + 100).refuse();
		const { opensAt } = client.pace;
		client.until(opensAt + 40);
		expect(client.in(opensAt, opensAt + 40).length).toBeLessThan(12);
	});

	test('it grows to 1,000 a second and no further, and sends 10,000 in 25 s', () => {
		const client = new Client(noLimit).until(30 * SECOND);
		expect(client.in(0, 25 * SECOND).length).toBeGreaterThan(10_000);
		expect(client.in(29 * SECOND, 30 * SECOND).length).toBeGreaterThan(990);
		expect(client.in(29 * SECOND, 30 * SECOND).length).toBeLessThanOrEqual(1_001);
	});
});

describe.each([
	['a fixed window', (rate: number) => fixedWindow(rate)],
	['a fixed window that began before', (rate: number) => fixedWindow(rate, SECOND, 800)],
	['a sliding window', slidingWindow],
	['a token bucket of 0.1 s', (rate: number) => tokenBucket(rate, 100)],
	['a token bucket of 1 s', (rate: number) => tokenBucket(rate, SECOND)],
])('against %s', (_, limiterOf) => {
	test.each([2, 5, 20, 50, 100])(
		'of %d a second it finds the limit and keeps close below it',
		(rate) => {
			const client = new Client(limiterOf(rate)).until(120 * SECOND);
			const carried = client.sent.length - client.refused();
			// A bucket of one token, refilled after half a second, is the hardest to measure.
			expect(carried).toBeGreaterThan(rate * 120 * (rate === 2 ? 0.6 : 0.83));
			expect(client.refused()).toBeLessThan((rate === 2 ? 0.07 : 0.05) * client.sent.length);
			// It does not try again and again.
			expect(client.refused(20 * SECOND, 40 * SECOND)).toBeLessThan(0.05 * rate * 20);
		},
	);
});

test('where there are no bursts it carries 84 % of the limit for ten minutes on end', () => {
	const client = new Client(tokenBucket(5, 100)).until(600 * SECOND);
	expect(client.sent.length - client.refused()).toBeGreaterThan(0.84 * 5 * 600);
});

describe('a refusal', () => {
	test('pauses everything for as long as the service asks', () => {
		const client = new Client(tokenBucket(5, 1_000)).until(SECOND);
		const first = client.sent.find(({ refused }) => refused)!.at + 50;
		expect(first).toBeLessThan(500);
		expect(client.in(first, first + SECOND)).toHaveLength(0);
	});

	test('counts once, however many requests were under way', () => {
		const [one, many] = [new Client(noLimit).until(SECOND), new Client(noLimit).until(SECOND)];
		const refuse = (client: Client, sentAt: number) =>
			client.pace.learn({ kind: 'rateLimited', status: 429, retryAfter: '1' }, sentAt, client.now);
		refuse(one, 990);
		for (const sentAt of [990, 992, 994, 996, 998]) refuse(many, sentAt);
		one.until(5 * SECOND);
		expect(many.until(5 * SECOND).sent).toHaveLength(one.sent.length);
	});

	test('of the first request after a pause slows nothing down, whatever was sent in the pause', () => {
		const pace = new Pace();
		const refuse = (at: number) => {
			pace.take(at);
			pace.learn({ kind: 'rateLimited', retryAfter: '1' }, at, at + 50);
		};
		refuse(0);
		pace.take(500);
		refuse(1_050);
		pace.take(2_100);
		pace.learn({ kind: 'ok', status: 200 }, 2_100, 2_150);
		pace.take(2_150);
		expect(pace.opensAt - 2_150).toBeLessThanOrEqual(SECOND / 80);
	});

	test('lowers the rate, which does not grow by what is sent in the pause', () => {
		/** How far apart requests are sent after a pause in which so many were sent. */
		const delayAfter = (sentInPause: number) => {
			const { pace, now } = new Client(noLimit, true, SECOND).until(SECOND);
			pace.learn({ kind: 'rateLimited', retryAfter: '60' }, now, now);
			for (let n = 1; n <= sentInPause; n++) pace.take(now + n);
			const { opensAt } = pace;
			pace.take(opensAt);
			return pace.opensAt - opensAt;
		};
		expect(delayAfter(0)).toBeGreaterThan(SECOND / 80);
		expect(delayAfter(40)).toBe(delayAfter(0));
	});

	test('right after a pause that was too short slows nothing down', () => {
		// Without Retry-After, the first pauses are much shorter than this window.
		const client = new Client(fixedWindow(100, 10 * SECOND), false).until(100 * SECOND);
		const carried = client.sent.length - client.refused();
		expect(carried).toBeGreaterThan(850);
	});
});

describe('after several refusals in a row', () => {
	const refusal = { kind: 'rateLimited', status: 429, retryAfter: '1' } as const;

	/** A pace that is refused at once, and again right after the pause; a request is under way. */
	function refusedTwice() {
		const pace = new Pace();
		for (const now of [0, SECOND + 50]) {
			pace.take(now);
			pace.learn(refusal, now, now + 50);
		}
		const sentAt = pace.opensAt;
		pace.take(sentAt);
		return { pace, sentAt, opensAt: pace.opensAt };
	}

	test('one request is sent, and others a second later', () => {
		const { sentAt, opensAt } = refusedTwice();
		expect(opensAt - sentAt).toBe(SECOND);
	});

	test('others are sent once it is carried', () => {
		const { pace, sentAt } = refusedTwice();
		pace.learn({ kind: 'ok', status: 200 }, sentAt, sentAt + 50);
		expect(pace.opensAt).toBe(sentAt + 50);
	});

	test.each([
		['an answer that did not come', { kind: 'connectionLost' } as const, 0],
		[
			'an answer to a request from before the refusal',
			{ kind: 'ok', status: 200 } as const,
			-1_500,
		],
	])('%s does not count as carried', (_, answer, sentBefore) => {
		const { pace, sentAt, opensAt } = refusedTwice();
		pace.learn(answer, sentAt + sentBefore, sentAt + 50);
		expect(pace.opensAt).toBe(opensAt);
	});
});

describe('refusals that come soon after a pause', () => {
	/** So many, one after the other; gives how far apart requests are sent after each. */
	const refuseSoon = (client: Client, times: number) =>
		Array.from({ length: times }, () => {
			client.until(client.pace.opensAt + SECOND / 2).refuse();
			client.until(client.pace.opensAt + 200);
			return client.pace.opensAt - client.sent.at(-1)!.at;
		});

	test('lower the rate each time where the limit is known from one alone', () => {
		const client = new Client(noLimit).until(2 * SECOND);
		client.refuse();
		const delays = refuseSoon(client, 3);
		expect(delays[1]).toBeGreaterThan(1.2 * delays[0]!);
		expect(delays[2]).toBeGreaterThan(1.2 * delays[1]!);
	});

	test('lower it also where it has held', () => {
		const client = new Client(slidingWindow(20)).until(30 * SECOND);
		client.limiter = noLimit;
		client.refuse();
		const delays = refuseSoon(client, 2);
		expect(delays[1]).toBeGreaterThan(1.2 * delays[0]!);
	});
});

describe('once the limit is known', () => {
	/** The rate of a limit of 20 a second has been found. */
	const steady = () => new Client(slidingWindow(20)).until(20 * SECOND);

	test('a stray 429 that says when to come back pauses, and takes a tenth of the rate at most', () => {
		const [one, other] = [steady(), steady()];
		for (let n = 0; n < 6; n++) {
			one.until(one.now + 6 * SECOND).refuse();
			expect(one.pace.opensAt).toBeGreaterThanOrEqual(one.now + SECOND);
		}
		const { now } = one;
		const sent = (client: Client) =>
			client.until(now + 6 * SECOND).in(now + SECOND, Infinity).length;
		expect(sent(one)).toBeGreaterThanOrEqual(0.9 * sent(other) - 1);
	});

	test('a stray 429 lowers nothing for a client that sends less than it may', () => {
		const client = steady();
		client.needsEachMs = 200;
		const delay = () =>
			client.until(client.now + 10 * SECOND).pace.opensAt - client.sent.at(-1)!.at;
		const before = delay();
		client.refuse();
		expect(delay()).toBeCloseTo(before);
	});

	// From a fault of the service's own, say: however long it goes on, the rate stays what is needed.
	test.each([
		['a few', 200, true],
		['as many as it may', 0, true],
		['a few', 200, false],
		['as many as it may', 0, false],
	])(
		'up to three stray ones in a row, for half an hour, do not add up for a client that sends %s (%d ms apart, Retry-After: %j)',
		(_, needsEachMs, saysRetryAfter) => {
			const limiter = slidingWindow(20);
			let strays = 0;
			const client = new Client((now) => (strays-- > 0 ? SECOND : limiter(now)), saysRetryAfter);
			client.until(20 * SECOND).needsEachMs = needsEachMs;
			for (let n = 0; n < 180; n++) {
				client.until(client.now + (5 + ((n * 7) % 11)) * SECOND);
				strays = 1 + (n % 3);
			}
			const needed = needsEachMs > 0 ? SECOND / needsEachMs : 20;
			const { now } = client;
			expect(client.carriedIn(now - 300 * SECOND, now)).toBeGreaterThan(0.6 * needed * 300);
			// And two minutes after the last one, all is as before.
			strays = 0;
			client.until(now + 130 * SECOND);
			expect(client.carriedIn(now + 120 * SECOND, client.now)).toBeGreaterThan(9 * needed);
		},
	);

	test('some that follow each other soon show that the limit has fallen', () => {
		const client = steady();
		client.refuse();
		client.limiter = slidingWindow(10);
		client.until(30 * SECOND);
		expect(client.refused(25 * SECOND)).toBe(0);
		expect(client.carriedIn(25 * SECOND, 30 * SECOND)).toBeGreaterThan(40);
	});

	test('stray ones do not keep a higher limit from being found', () => {
		const client = steady();
		client.limiter = slidingWindow(200);
		for (let n = 0; n < 6; n++) client.until(client.now + 20 * SECOND).refuse();
		expect(client.until(150 * SECOND).in(145 * SECOND, 150 * SECOND).length).toBeGreaterThan(200);
	});

	test('a 429 after hardly any requests leaves four fifths of the rate', () => {
		const client = steady();
		client.now += 100 * SECOND;
		client.until(client.now + 0.2 * SECOND).refuse();
		const from = client.now + 2 * SECOND;
		expect(client.until(from + 5 * SECOND).in(from, Infinity).length).toBeGreaterThan(0.8 * 18 * 5);
	});

	test('processes that share a key share its limit for as long as they go on', () => {
		const limiter = slidingWindow(20);
		const clients = [1, 2, 3, 4].map(() => new Client(limiter));
		for (let now = 0; now <= 600 * SECOND; now += 5)
			for (const client of clients) client.until(now);
		const carried = clients.map((client) => client.carriedIn(300 * SECOND, 600 * SECOND));
		expect(carried.reduce((sum, count) => sum + count)).toBeGreaterThan(0.75 * 20 * 300);
		expect(Math.min(...carried)).toBeGreaterThan(0.1 * 20 * 300);
	});
});

describe('one refusal without Retry-After', () => {
	const refusal = { kind: 'rateLimited', status: 429 } as const;

	test('pauses nothing while others are carried', () => {
		const client = new Client(slidingWindow(20), false).until(20 * SECOND);
		const { opensAt } = client.pace;
		client.pace.learn(refusal, client.sent.at(-1)!.at, client.now);
		expect(client.pace.opensAt).toBe(opensAt);
	});

	test('is followed by a pause if the next request is refused too', () => {
		const client = new Client(slidingWindow(20), false).until(20 * SECOND);
		client.pace.learn(refusal, client.sent.at(-2)!.at, client.now);
		client.pace.learn(refusal, client.sent.at(-1)!.at, client.now);
		expect(client.pace.pausedUntil).toBeGreaterThan(client.now);
	});

	test.each([0.005, 0.02])(
		'strays, a share of %d, leave three quarters of what is offered',
		(share) => {
			let sent = 0;
			const client = new Client(() => (++sent % Math.round(1 / share) === 0 ? 1 : 0), false);
			client.needsEachMs = 50;
			client.until(600 * SECOND);
			expect(client.carriedIn(0, 600 * SECOND)).toBeGreaterThan(0.75 * 20 * 600);
		},
	);
});

test('a refusal of an hour ago says nothing about the next one', () => {
	const client = new Client(noLimit).until(3 * SECOND);
	client.refuse();
	client.now += 3_500 * SECOND;
	client.until(client.now + SECOND).refuse();
	const from = client.until(client.now + 2 * SECOND).now;
	expect(client.until(from + 5 * SECOND).in(from, Infinity).length).toBeGreaterThan(100);
});

test('an outage is taken for no limit', () => {
	const outage: Limiter = (now) => (now > 10 * SECOND && now < 310 * SECOND ? 30 * SECOND : 0);
	const client = new Client(outage).until(340 * SECOND);
	const from = client.now;
	expect(client.until(from + 10 * SECOND).in(from, Infinity).length).toBeGreaterThan(500);
});

test('one of twelve that is refused at random does not bring the rate down without end', () => {
	let sent = 0;
	const client = new Client(() => (++sent % 12 === 0 ? 1 : 0), false).until(600 * SECOND);
	expect(client.carriedIn(540 * SECOND, 600 * SECOND)).toBeGreaterThan(8 * 60);
});

test('a timer that is late by half the time between two requests slows nothing down', () => {
	const client = new Client(tokenBucket(50, SECOND));
	client.lateMs = 10;
	client.until(120 * SECOND);
	expect(client.carriedIn(60 * SECOND, 120 * SECOND)).toBeGreaterThan(0.85 * 50 * 60);
});

describe('a limit of a longer time', () => {
	/** The longest time in which nothing was carried. */
	const longestSilence = (client: Client, from: number) => {
		const carried = client.in(from, Infinity).filter(({ refused }) => !refused);
		return Math.max(...carried.map(({ at }, n) => at - (carried[n - 1]?.at ?? at)));
	};

	describe.each([
		[200, 10],
		[60, 60],
		[600, 60],
		[1_500, 60],
	])('of %d in %d s', (limit, seconds) => {
		const ms = seconds * SECOND;
		const most = (limit / seconds) * 600;

		test.each([
			['a fixed', 'with', fixedWindow(limit, ms), true, 5],
			['a fixed', 'without', fixedWindow(limit, ms), false, 16],
			// Windows that begin with the minute have begun when the first request is sent.
			['a fixed, begun before,', 'with', fixedWindow(limit, ms, 0.3 * ms), true, 5],
			['a fixed, begun before,', 'without', fixedWindow(limit, ms, 0.3 * ms), false, 16],
			['a fixed, begun long before,', 'with', fixedWindow(limit, ms, 0.7 * ms), true, 5],
			['a fixed, begun long before,', 'without', fixedWindow(limit, ms, 0.7 * ms), false, 16],
			['a sliding', 'with', slidingWindow(limit, ms), true, 5],
			['a sliding', 'without', slidingWindow(limit, ms), false, 16],
		] as const)(
			'%s window, %s Retry-After, is used evenly',
			(_, __, limiter, saysRetryAfter, mostSilence) => {
				const client = new Client(limiter, saysRetryAfter).until(600 * SECOND);
				expect(longestSilence(client, ms + SECOND)).toBeLessThan(mostSilence * SECOND);
				expect(client.carriedIn(0, client.now)).toBeGreaterThan(0.85 * most);
				expect(client.refused()).toBeLessThan(25 + 0.05 * most);
			},
		);
	});

	test.each([
		['fixed window', 'with', fixedWindow(10, 60 * SECOND), true],
		['fixed window', 'without', fixedWindow(10, 60 * SECOND), false],
		['window begun before', 'with', fixedWindow(10, 60 * SECOND, 40 * SECOND), true],
		['window begun before', 'without', fixedWindow(10, 60 * SECOND, 40 * SECOND), false],
		['sliding window', 'with', slidingWindow(10, 60 * SECOND), true],
		['sliding window', 'without', slidingWindow(10, 60 * SECOND), false],
		['bucket', 'with', tokenBucket(1 / 6, 60 * SECOND), true],
		['bucket', 'without', tokenBucket(1 / 6, 60 * SECOND), false],
	] as const)(
		'of ten a minute (%s, %s Retry-After): one request after the other is sent',
		(_, __, limiter, saysRetryAfter) => {
			const client = new Client(limiter, saysRetryAfter).until(1_200 * SECOND);
			expect(longestSilence(client, 61 * SECOND)).toBeLessThan(30 * SECOND);
			expect(client.carriedIn(0, client.now)).toBeGreaterThan(0.85 * 200);
			expect(client.refused()).toBeLessThan((saysRetryAfter ? 0.2 : 0.35) * client.sent.length);
		},
	);

	test('a slow client is not taken for one that had nothing to send', () => {
		// After its first minute it sends each 6 s, longer than the time after which a refusal is forgotten.
		const client = new Client(fixedWindow(10, 60 * SECOND), false).until(120 * SECOND);
		const from = client.now;
		client.limiter = () => 30 * SECOND;
		client.until(from + 300 * SECOND);
		expect(client.refused(from)).toBeLessThan(25);
	});

	test.each([
		[2, 3],
		[2, 15],
		[5, 15],
	])('one of %d that is refused for %d s, whatever the rate, does not bring it down', (each, s) => {
		let sent = 0;
		const limiter = () => (++sent % each === 0 ? s * SECOND : 0);
		const client = new Client(limiter).until(1_800 * SECOND);
		const carried = client.carriedIn(900 * SECOND, client.now);
		// Of two, one is carried after a pause, and the next one a pause later.
		expect(carried).toBeGreaterThan((0.6 * 900) / (2 * s));
	});
});

test.each([
	[20, 5],
	[100, 200],
])(
	'a rate that was found too high for %d a second is lowered soon, with a round trip of %d ms',
	(limit, roundTripMs) => {
		const client = new Client(fixedWindow(limit), false, roundTripMs).until(70 * SECOND);
		expect(client.refused()).toBeLessThan(25 + 0.02 * client.sent.length);
	},
);

test('requests that were sent before a stray refusal was known lower the rate no further', () => {
	const client = new Client(slidingWindow(100), false, 200).until(40 * SECOND);
	expect(client.carriedIn(0, 40 * SECOND)).toBeGreaterThan(0.85 * 100 * 40);
});

test('requests that were refused do not count as carried', () => {
	const client = new Client(tokenBucket(5, 100), false).until(30 * SECOND);
	expect(client.carriedIn(5 * SECOND, 30 * SECOND)).toBeGreaterThan(0.8 * 5 * 25);
});

test('requests whose answers are lost count as sent', () => {
	const client = new Client(slidingWindow(50));
	client.losesEach = 2;
	client.until(30 * SECOND);
	expect(client.carriedIn(10 * SECOND, 30 * SECOND)).toBeGreaterThan(0.85 * 50 * 20);
});

test('a service that refuses sooner than it carries is not taken for a slower one', () => {
	const client = new Client(slidingWindow(50), true, 900);
	client.refusedAfterMs = 20;
	client.until(30 * SECOND);
	expect(client.carriedIn(10 * SECOND, 30 * SECOND)).toBeGreaterThan(0.85 * 50 * 20);
});

test('what a timer was late by is made up for', () => {
	const pace = new Pace();
	pace.take(0);
	const { opensAt } = pace;
	pace.take(opensAt + 20);
	expect(pace.opensAt).toBe(2 * opensAt);
});

test('after a time without requests nothing is made up for', () => {
	const client = new Client(tokenBucket(5, 100)).until(120 * SECOND);
	const before = client.refused();
	client.now += 10 * SECOND;
	const { pace, now } = client;
	pace.take(now);
	// A bucket of one token is refilled after 200 ms.
	expect(pace.opensAt - now).toBeGreaterThan(190);
	expect(before).toBeGreaterThan(0);
});

test('ten minutes of nothing but 429 take few requests, and it goes on well afterwards', () => {
	const minutes = 60 * SECOND;
	const limiter = slidingWindow(20);
	const client = new Client((now) => (now < 10 * minutes ? 1 : limiter(now)), false);
	client.until(10 * minutes);
	expect(client.sent.length).toBeLessThan(75);
	client.until(13 * minutes);
	// A pause is 10 s at the longest.
	const from = 11.5 * minutes;
	const carried = client.in(from, 13 * minutes).length - client.refused(from);
	expect(carried).toBeGreaterThan(0.85 * 20 * 90);
});

test('a limit that falls to a tenth is found within seconds', () => {
	const [high, low] = [slidingWindow(50), slidingWindow(5)];
	const client = new Client((now) => (now < 60 * SECOND ? high(now) : low(now)));
	client.until(120 * SECOND);
	expect(client.refused(60 * SECOND)).toBeLessThan(0.1 * 5 * 60);
	const carried = client.in(75 * SECOND, 120 * SECOND).length - client.refused(75 * SECOND);
	expect(carried).toBeGreaterThan(0.8 * 5 * 45);
});

test('a limit that rises tenfold is found within a minute and a half', () => {
	const [low, high] = [slidingWindow(5), slidingWindow(50)];
	const client = new Client((now) => (now < 60 * SECOND ? low(now) : high(now)));
	client.until(180 * SECOND);
	expect(client.in(140 * SECOND, 180 * SECOND).length).toBeGreaterThan(0.8 * 50 * 40);
});
