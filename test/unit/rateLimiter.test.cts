import { getEventListeners, setMaxListeners } from 'node:events';

import { clock } from '../../nodes/AgentInvocation/clock.ts';
import { RateLimiter } from '../../nodes/AgentInvocation/service/rateLimiter.ts';
import { shareByKey } from '../../nodes/AgentInvocation/service/shareByKey.ts';
import { settle } from '../support/virtualTime.cts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/**
 * A limiter at which every owner's requests are noted in the order in which they are sent.
 *
 * @param fails whether their connections are lost after half a second; otherwise, they remain under way
 */
function noting({ fails = false } = {}) {
	const limiter = new RateLimiter();
	const sent: string[] = [];
	const admit = (owner: object, name: string, more = {}) =>
		limiter
			.admit({ owner, priority: 'poll', since: clock.now(), patienceMs: Infinity, ...more })
			.then((verdict) => {
				if (verdict !== 'send') return verdict;
				sent.push(name);
				const turnAt = clock.now();
				const fail = () => limiter.learn('poll', { kind: 'connectionLost' }, turnAt);
				if (fails) setTimeout(fail, 500);
				return verdict;
			});
	return { limiter, sent, admit };
}

test('executions take turns, and creates go before polls within each', async () => {
	const { limiter, sent, admit } = noting();
	limiter.learn('poll', { kind: 'rateLimited', retryAfter: '1' }, clock.now());
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

test('while there is something to create, each third turn is that of a poll that has waited for two seconds', async () => {
	const { limiter, sent, admit } = noting();
	const owner = {};
	const many = (name: string, priority: string) =>
		Array.from({ length: 3 }, () => admit(owner, name, { priority }));
	limiter.learn('poll', { kind: 'rateLimited', retryAfter: '10' }, clock.now());
	const all = many('late poll', 'poll');
	await jest.advanceTimersByTimeAsync(9_000);
	all.push(...many('poll', 'poll'));
	for (let n = 0; n < 3; n++) all.push(...many('create', 'create'));
	await settle(Promise.all(all));
	const [create, late] = ['create', 'late poll'];
	// The first one after a refusal is a poll's as well: a service may refuse creates alone.
	expect(sent.slice(0, 6)).toEqual([late, create, late, create, create, late]);
	expect(sent.slice(6)).toEqual([...Array<string>(6).fill(create), 'poll', 'poll', 'poll']);
});

test('a request that is aborted leaves the queue to the others', async () => {
	const { limiter, sent, admit } = noting();
	const aborting = new AbortController();
	limiter.learn('poll', { kind: 'rateLimited', retryAfter: '10' }, clock.now());
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
	limiter.learn('poll', { kind: 'rateLimited', retryAfter: '31536000' }, began);
	expect(await settle(admit({}, 'after an hour'))).toBe('send');
	expect(clock.now() - began).toBe(3_600_000);
});

test('what cannot be sent before its patience or its time is over is refused as soon as that is known', async () => {
	const { limiter, admit } = noting();
	limiter.learn('poll', { kind: 'rateLimited', retryAfter: '100' }, clock.now());
	const began = clock.now();
	expect(await settle(admit({}, 'late', { patienceMs: 10_000 }))).toBe('late');
	expect(await settle(admit({}, 'late', { deadline: began + 10_000 }))).toBe('late');
	expect(clock.now()).toBe(began);
	expect(await settle(admit({}, 'last', { patienceMs: 100_001 }))).toBe('send');
	expect(clock.now()).toBe(began + 100_000);
});

test('while the service carries the requests of others, patience does not pass', async () => {
	const { limiter, admit } = noting({ fails: true });
	const owner = {};
	const began = clock.now();
	const all = Array.from(
		{ length: 200 },
		async () => await admit(owner, '', { patienceMs: 1_000 }),
	);
	for (let ms = 0; ms < 2_000; ms += 500) {
		limiter.learn('poll', { kind: 'ok', status: 200 }, began);
		await jest.advanceTimersByTimeAsync(500);
	}
	expect(new Set(await settle(Promise.all(all)))).toEqual(new Set(['send']));
	expect(clock.now() - began).toBeGreaterThan(1_500);
});

test.each([
	['its patience', () => ({ patienceMs: 1_000 })],
	['its time', () => ({ deadline: clock.now() + 1_000 })],
])('what is still in the queue when %s is over is late', async (_, patienceNow) => {
	const { admit } = noting({ fails: true });
	const patience = patienceNow();
	const all = Array.from({ length: 200 }, async () => await admit({}, '', patience));
	const verdicts = await settle(Promise.all(all));
	expect(verdicts.filter((verdict) => verdict === 'send').length).toBeGreaterThan(70);
	expect(new Set(verdicts)).toEqual(new Set(['send', 'late']));
});

test('a request that was sent leaves no listener behind', async () => {
	const { admit } = noting();
	const { signal } = new AbortController();
	await settle(admit({}, '', { signal }));
	expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('of two executions one that has 500 requests queued does not keep the other waiting', async () => {
	const { sent, admit } = noting();
	const [many, one] = [{}, {}];
	for (let n = 0; n < 500; n++) void admit(many, `create ${n}`, { priority: 'create' });
	await settle(admit(one, 'the one', { priority: 'create' }));
	expect(sent.indexOf('the one')).toBeLessThanOrEqual(2);
});

test('a poll is put off for a long pause, and not for a long queue', async () => {
	const { limiter, admit } = noting({ fails: true });
	const began = clock.now();
	const patience = { longestPauseMs: 10_000 };
	// At 80 a second and more, the last of them is sent after more than ten seconds.
	const all = Array.from({ length: 6_000 }, () => admit({}, '', patience));
	expect(new Set(await settle(Promise.all(all), Infinity))).toEqual(new Set(['send']));
	expect(clock.now() - began).toBeGreaterThan(10_000);

	limiter.learn('poll', { kind: 'rateLimited', retryAfter: '10' }, clock.now());
	expect(await settle(admit({}, '', patience))).toBe('send');
	const queued = admit({}, '', patience);
	const pausedAt = clock.now();
	limiter.learn('poll', { kind: 'rateLimited', retryAfter: '11' }, pausedAt);
	expect(await queued).toBe('late');
	expect(await admit({}, '', patience)).toBe('late');
	expect(clock.now()).toBe(pausedAt);
});

test('a pause of a day fails at once what cannot wait for it, and the others go on', async () => {
	const { limiter, admit } = noting();
	const began = clock.now();
	limiter.learn('poll', { kind: 'rateLimited', retryAfter: '1' }, began);
	const brief = admit({}, 'brief', { patienceMs: 300_000 });
	const patient = admit({}, 'patient');
	limiter.learn('poll', { kind: 'rateLimited', status: 429, retryAfter: '86400' }, began);
	expect(await brief).toBe('late');
	expect(clock.now()).toBe(began);
	expect(limiter.refusalOf('poll')).toMatchObject({ status: 429, retryAfter: '86400' });
	expect(await settle(patient)).toBe('send');
	expect(clock.now() - began).toBe(3_600_000);
});

test('what is late is told of the latest refusal, unless requests were carried since', () => {
	const { limiter } = noting();
	limiter.learn('poll', { kind: 'rateLimited', status: 429, retryAfter: '9' }, clock.now());
	limiter.learn('poll', { kind: 'connectionLost' }, clock.now());
	expect(limiter.refusalOf('poll')).toEqual({ kind: 'rateLimited', status: 429, retryAfter: '9' });
	limiter.learn('poll', { kind: 'ok', status: 200 }, clock.now());
	expect(limiter.refusalOf('poll')).toBeUndefined();
	const outage = { kind: 'serverError', status: 503 } as const;
	limiter.learn('create', outage, clock.now());
	expect(limiter.refusalOf('create')).toEqual(outage);
	expect(limiter.refusalOf('poll')).toBeUndefined();
});

test('hundreds of requests that are aborted leave the queue to the others', async () => {
	const { limiter, sent, admit } = noting();
	const aborting = new AbortController();
	setMaxListeners(0, aborting.signal);
	limiter.learn('poll', { kind: 'rateLimited', retryAfter: '1' }, clock.now());
	const owner = {};
	const aborted = Array.from({ length: 500 }, () =>
		admit(owner, 'aborted', { signal: aborting.signal }),
	);
	const others = ['a', 'b', 'c'].map((name) => admit({}, name));
	aborting.abort();
	expect(new Set(await settle(Promise.all(aborted)))).toEqual(new Set(['aborted']));
	await settle(Promise.all(others));
	expect(sent).toEqual(['a', 'b', 'c']);
	// The pause, and three requests: nothing was sent for those that are gone.
	expect(clock.now()).toBeLessThan(1_100);
});

test('where a pause was too short, one request goes first, and others as soon as it is carried', async () => {
	const { limiter, sent, admit } = noting();
	const refuse = () =>
		limiter.learn('poll', { kind: 'rateLimited', status: 429, retryAfter: '1' }, clock.now());
	refuse();
	await settle(admit({}, 'early'));
	refuse();
	const all = ['first', 'second', 'third'].map((name) => admit({}, name));
	await settle(all[0]!);
	const probedAt = clock.now();
	await jest.advanceTimersByTimeAsync(500);
	expect(sent).toEqual(['early', 'first']);
	limiter.learn('poll', { kind: 'ok', status: 200 }, probedAt);
	await settle(Promise.all(all));
	expect(clock.now() - probedAt).toBeLessThan(600);
});

describe('what executions share', () => {
	test('is one for a key, and another for another', () => {
		const shared = shareByKey(() => ({}));
		expect(shared('a')).toBe(shared('a'));
		expect(shared('a')).not.toBe(shared('b'));
	});

	test('is dropped when nobody has used it for an hour', () => {
		const shared = shareByKey(() => ({}));
		const [used, unused] = [shared('used'), shared('unused')];
		for (let minutes = 0; minutes < 61; minutes++) {
			jest.advanceTimersByTime(60_000);
			expect(shared('used')).toBe(used);
		}
		expect(shared('unused')).not.toBe(unused);
	});

	test('is dropped though nobody asks for another', () => {
		const timeout = jest.spyOn(AbortSignal, 'timeout');
		const aborts = [new AbortController(), new AbortController()];
		for (const { signal } of aborts) timeout.mockReturnValueOnce(signal);
		const shared = shareByKey(() => ({}));
		shared('a');
		shared('b');
		expect(timeout.mock.calls).toEqual([[3_600_000]]);
		jest.advanceTimersByTime(3_599_000);
		shared('b');
		jest.advanceTimersByTime(1_000);
		aborts[0]!.abort();
		// One was used since, so it looks once more; then nothing is left.
		expect(timeout).toHaveBeenCalledTimes(2);
		jest.advanceTimersByTime(3_600_000);
		aborts[1]!.abort();
		expect(timeout).toHaveBeenCalledTimes(2);
		timeout.mockRestore();
	});

	test('is bounded in number', () => {
		const shared = shareByKey(() => ({}));
		const first = shared('first');
		for (let n = 0; n < 1_000; n++) shared(String(n));
		expect(shared('first')).not.toBe(first);
	});
});
