import { systemClock as clock } from '../../nodes/AgentInvocation/clock.ts';
import { RateLimiter } from '../../nodes/AgentInvocation/service/rateLimiter.ts';
import { shareByKey } from '../../nodes/AgentInvocation/service/shared.ts';
import { settle } from './virtualTime.cts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** A limiter at which every owner's requests are noted in the order in which they are sent. */
function noting() {
	const limiter = new RateLimiter(clock);
	const sent: string[] = [];
	const admit = (owner: object, name: string, more = {}) =>
		limiter
			.admit({ owner, priority: 'poll', deadline: Infinity, sendsAtDeadline: false, ...more })
			.then((verdict) => {
				if (verdict === 'send') sent.push(name);
				return verdict;
			});
	return { limiter, sent, admit };
}

test('executions take turns, and creates go before polls within each', async () => {
	const { limiter, sent, admit } = noting();
	limiter.learn({ kind: 'rateLimited', retryAfter: '1' }, clock.now());
	const [many, one] = [{}, {}];
	const all = [
		admit(many, 'first'),
		...[1, 2, 3, 4].map((n) => admit(many, `poll ${n}`)),
		admit(many, 'create', { priority: 'create' }),
		admit(one, 'other 1'),
		admit(one, 'other 2'),
	];
	await settle(Promise.all(all));
	expect(sent).toEqual([
		'create',
		'other 1',
		'first',
		'other 2',
		'poll 1',
		'poll 2',
		'poll 3',
		'poll 4',
	]);
});

test('a request that is aborted leaves the queue to the others', async () => {
	const { limiter, sent, admit } = noting();
	const aborting = new AbortController();
	limiter.learn({ kind: 'rateLimited', retryAfter: '10' }, clock.now());
	const first = admit({}, 'aborted', { signal: aborting.signal });
	const second = admit({}, 'second');
	aborting.abort();
	expect(await settle(first)).toBe('aborted');
	expect(await settle(second)).toBe('send');
	expect(sent).toEqual(['second']);
});

test('a pause is an hour at the most, whatever the service asks for', async () => {
	const { limiter, admit } = noting();
	const began = clock.now();
	limiter.learn({ kind: 'rateLimited', retryAfter: '31536000' }, began);
	expect(await settle(admit({}, 'after an hour'))).toBe('send');
	expect(clock.now() - began).toBe(3_600_000);
});

test('what cannot be sent before its deadline is refused as soon as that is known', async () => {
	const { limiter, admit } = noting();
	limiter.learn({ kind: 'rateLimited', retryAfter: '100' }, clock.now());
	const began = clock.now();
	expect(await settle(admit({}, 'late', { deadline: began + 10_000 }))).toBe('late');
	expect(clock.now()).toBe(began);
	const last = { deadline: began + 10_000, sendsAtDeadline: true };
	expect(await settle(admit({}, 'last', last))).toBe('send');
	expect(clock.now()).toBe(began + 10_000);
});

describe('what executions share', () => {
	test('is one for a key, and another for another', () => {
		const shared = shareByKey(clock, () => ({}));
		expect(shared('a')).toBe(shared('a'));
		expect(shared('a')).not.toBe(shared('b'));
	});

	test('is dropped when nobody has used it for an hour', () => {
		const shared = shareByKey(clock, () => ({}));
		const [used, unused] = [shared('used'), shared('unused')];
		for (let minutes = 0; minutes < 61; minutes++) {
			jest.advanceTimersByTime(60_000);
			expect(shared('used')).toBe(used);
		}
		expect(shared('unused')).not.toBe(unused);
	});

	test('is bounded in number', () => {
		const shared = shareByKey(clock, () => ({}));
		const first = shared('first');
		for (let n = 0; n < 1_000; n++) shared(String(n));
		expect(shared('first')).not.toBe(first);
	});
});
