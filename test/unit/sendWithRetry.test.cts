import type { Answer } from '../../nodes/AgentInvocation/service/answer.ts';
import { createRun, getRun } from '../../nodes/AgentInvocation/service/endpoints.ts';
import type { Purpose } from '../../nodes/AgentInvocation/service/answerKinds.ts';
import { backoffMs } from '../../nodes/AgentInvocation/service/retryPolicy.ts';
import { sendWithRetry } from '../../nodes/AgentInvocation/service/sendWithRetry.ts';
import type { Service } from '../../nodes/AgentInvocation/service/service.ts';
import { clock } from '../../nodes/AgentInvocation/clock.ts';
import { RateLimiter } from '../../nodes/AgentInvocation/service/rateLimiter.ts';
import { settle } from '../support/virtualTime.cts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/**
 * Sends against a service that always answers the same, but for its first answers; gives the answer and how
 * often it was asked.
 */
async function send(
	kind: Answer['kind'],
	purpose: Purpose,
	patienceMs = 60_000,
	first: Array<Answer['kind']> = [],
) {
	let sent = 0;
	const service = {
		baseUrl: '',
		limiter: new RateLimiter(),
		renew: () => Promise.resolve(undefined),
		send() {
			return Promise.resolve({ kind: first[sent++] ?? kind });
		},
	} as unknown as Service;
	const patience = { since: clock.now(), patienceMs };
	const sending = sendWithRetry(service, createRun(1, []), purpose, patience);
	return { answer: await settle(sending), sent };
}

describe('a create is sent again only when the first surely started nothing', () => {
	test.each(['rateLimited', 'notConnected'] as const)('%s: sent again', async (kind) => {
		expect((await send(kind, 'create')).sent).toBeGreaterThan(1);
	});

	test.each([
		'timedOut',
		'connectionLost',
		'serverError',
		'foreign',
		'redirect',
		'rejected',
		'notSecured',
		'notTrusted',
		'notSent',
		'cancelled',
	] as const)('%s: sent once', async (kind) => {
		expect((await send(kind, 'create')).sent).toBe(1);
	});

	test('the option allows a server error and nothing else', async () => {
		expect((await send('serverError', 'createRetryingServerErrors')).sent).toBeGreaterThan(1);
		for (const kind of ['timedOut', 'connectionLost', 'foreign'] as const) {
			expect((await send(kind, 'createRetryingServerErrors')).sent).toBe(1);
		}
	});
});

test('a create whose credential takes long to be read is not taken for one that came later', async () => {
	const limiter = new RateLimiter();
	const sentAt = new Map<string, number>();
	const create = async (name: string, readsMs: number, takesMs: number, answer: Answer) => {
		const service = {
			baseUrl: '',
			limiter,
			renew: () => clock.sleep(readsMs),
			async send() {
				sentAt.set(name, clock.now());
				await clock.sleep(takesMs);
				return answer;
			},
		} as unknown as Service;
		const patience = { since: clock.now(), patienceMs: 60_000 };
		await sendWithRetry(service, createRun(1, []), 'create', patience);
	};
	const carried: Answer = { kind: 'ok', status: 202 };
	// From now on, they go one at a time, but wait for none that takes longer than five seconds.
	await settle(create('failed', 0, 10, { kind: 'serverError', status: 500 }));
	await settle(
		Promise.all([
			create('read for long', 7_000, 0, { kind: 'notSent' }),
			create('next', 0, 4_000, carried),
			create('last', 0, 0, carried),
		]),
	);
	expect(sentAt.get('last')! - sentAt.get('next')!).toBeGreaterThanOrEqual(4_000);
});

test('a rate limit is waited out as long as the patience lasts, other trouble of a read only briefly', async () => {
	expect((await send('rateLimited', 'read', 3_600_000)).sent).toBeGreaterThan(30);
	expect((await send('serverError', 'read', 3_600_000)).sent).toBe(5);
});

test('refusals by the rate limit take nothing of the patience with other trouble', async () => {
	const refused = Array<Answer['kind']>(7).fill('rateLimited');
	expect((await send('serverError', 'read', 3_600_000, refused)).sent).toBe(7 + 5);
	expect((await send('notConnected', 'create', 3_600_000, refused)).sent).toBe(7 + 5);
});

describe('what time and signals decide', () => {
	/** A service that takes a second for each answer, which it takes from these, the last one again. */
	function slowService(...answers: Array<Partial<Answer> & Pick<Answer, 'kind'>>) {
		const sentAt: number[] = [];
		const beganAt = clock.now();
		const service = {
			baseUrl: '',
			limiter: new RateLimiter(),
			renew: () => Promise.resolve(undefined),
			async send() {
				sentAt.push(clock.now() - beganAt);
				await clock.sleep(1_000);
				return answers.length > 1 ? answers.shift() : answers[0];
			},
		} as unknown as Service;
		return { service, sentAt, ms: () => clock.now() - beganAt };
	}

	const within = (patienceMs: number) => ({ since: clock.now(), patienceMs });
	const abortedAfter = (ms: number) => {
		const abort = new AbortController();
		setTimeout(() => abort.abort(), ms);
		return abort.signal;
	};

	test('another attempt that would come too late is not waited for', async () => {
		const { service, sentAt, ms } = slowService({ kind: 'serverError' });
		const answer = await settle(sendWithRetry(service, getRun(1, 'r'), 'read', within(1_300)));
		expect(answer.kind).toBe('serverError');
		expect(sentAt).toHaveLength(1);
		expect(ms()).toBe(1_000);
	});

	test('nor is a rate limit that lasts longer', async () => {
		const refusal = { kind: 'rateLimited', retryAfter: '9', status: 429 } as const;
		const { service, sentAt, ms } = slowService(refusal);
		const answer = await settle(sendWithRetry(service, createRun(1, []), 'create', within(9_999)));
		expect(answer).toMatchObject(refusal);
		expect(sentAt).toHaveLength(1);
		expect(ms()).toBeLessThan(2_000);
	});

	test('one of a day is waited for for an hour', async () => {
		const refusal = { kind: 'rateLimited', retryAfter: '86400', status: 429 } as const;
		const { service, sentAt } = slowService(refusal, { kind: 'ok' });
		const sending = sendWithRetry(service, createRun(1, []), 'create', within(Infinity));
		expect((await settle(sending)).kind).toBe('ok');
		expect(sentAt).toEqual([0, 3_601_000]);
	});

	test('what was met before tells more than that the next turn came too late', async () => {
		const { service, sentAt } = slowService({ kind: 'serverError', status: 503 });
		setTimeout(
			() => service.limiter.learn('poll', { kind: 'rateLimited', retryAfter: '99' }, 0),
			1_001,
		);
		const answer = await settle(sendWithRetry(service, getRun(1, 'r'), 'read', within(60_000)));
		expect(answer).toMatchObject({ kind: 'serverError', status: 503 });
		expect(sentAt).toHaveLength(1);
	});

	test('a turn that comes too late is told with the refusal that is in its way', async () => {
		const { service, sentAt } = slowService({ kind: 'ok' });
		const refusal = { kind: 'rateLimited', retryAfter: '99', status: 429 } as const;
		// The ID of that request is not this one's.
		service.limiter.learn('poll', { ...refusal, requestId: 'another' }, 0);
		const answer = await settle(sendWithRetry(service, getRun(1, 'r'), 'read', within(60_000)));
		expect(answer).toEqual({ ...refusal, kind: 'late' });
		expect(sentAt).toEqual([]);
	});

	test('where nothing was refused, no refusal is made up', async () => {
		const { service, sentAt } = slowService({ kind: 'ok' });
		const answer = await settle(sendWithRetry(service, getRun(1, 'r'), 'read', within(0)));
		expect(answer).toEqual({ kind: 'late' });
		expect(sentAt).toEqual([]);
	});

	test('a request of an execution that has ended is not sent', async () => {
		const { service, sentAt } = slowService({ kind: 'ok' });
		const patience = { ...within(1_000), signal: AbortSignal.abort() };
		const answer = await settle(sendWithRetry(service, createRun(1, []), 'create', patience));
		expect(answer).toEqual({ kind: 'aborted' });
		expect(sentAt).toEqual([]);
	});

	test('a request that waits for its turn is given up with the signal', async () => {
		const { service, sentAt, ms } = slowService({ kind: 'ok' });
		service.limiter.learn('poll', { kind: 'rateLimited', retryAfter: '99' }, 0);
		const patience = { ...within(600_000), signal: abortedAfter(5_000) };
		const answer = await settle(sendWithRetry(service, createRun(1, []), 'create', patience));
		expect(answer).toEqual({ kind: 'aborted' });
		expect(sentAt).toEqual([]);
		expect(ms()).toBe(5_000);
	});

	test('so is one between its attempts', async () => {
		const { service, sentAt, ms } = slowService({ kind: 'serverError' });
		const patience = { ...within(600_000), signal: abortedAfter(1_200) };
		const answer = await settle(sendWithRetry(service, getRun(1, 'r'), 'read', patience));
		expect(answer).toEqual({ kind: 'aborted' });
		expect(sentAt).toHaveLength(1);
		expect(ms()).toBe(1_200);
	});

	test('and the answer to one that reads is not waited for', async () => {
		const { service, ms } = slowService({ kind: 'ok' });
		const patience = { ...within(600_000), signal: abortedAfter(500) };
		const answer = await settle(sendWithRetry(service, getRun(1, 'r'), 'read', patience));
		expect(answer).toEqual({ kind: 'aborted' });
		expect(ms()).toBe(500);
	});

	test('but others learn of a refusal from it', async () => {
		const { service } = slowService({ kind: 'rateLimited', status: 429, retryAfter: '30' });
		const patience = { ...within(600_000), signal: abortedAfter(500) };
		await settle(sendWithRetry(service, getRun(1, 'r'), 'read', patience));
		const began = clock.now();
		await jest.advanceTimersByTimeAsync(1_000);
		expect(service.limiter.pausedUntilFor('poll')).toBe(began + 500 + 30_000);
	});

	test('but the answer to a create is: it holds the ID of a run', async () => {
		const { service, ms } = slowService({ kind: 'ok', status: 202 });
		const patience = { ...within(600_000), signal: abortedAfter(500) };
		const answer = await settle(sendWithRetry(service, createRun(1, []), 'create', patience));
		expect(answer).toMatchObject({ kind: 'ok', status: 202 });
		expect(ms()).toBe(1_000);
	});
});

describe('the pause before another attempt', () => {
	const pause = (answer: Partial<Answer>, attempts: number, random = 0.5) => {
		jest.spyOn(Math, 'random').mockReturnValue(random);
		return backoffMs({ kind: 'rateLimited', ...answer }, attempts);
	};
	afterEach(() => jest.restoreAllMocks());

	test('grows without Retry-After, is jittered, and ends at a minute', () => {
		expect(pause({}, 1)).toBe(500);
		expect(pause({}, 2)).toBe(1_000);
		expect(pause({}, 2, 0)).toBe(750);
		expect(pause({}, 2, 1)).toBe(1_250);
		expect(pause({}, 50)).toBe(60_000);
		expect(pause({ retryAfter: 'soon' }, 1)).toBe(500);
	});

	test('is no shorter with a short Retry-After', () => {
		expect(pause({ retryAfter: '1' }, 1)).toBe(1_000);
		expect(pause({ retryAfter: '1' }, 5)).toBe(8_000);
	});

	test('is as long as Retry-After asks, which may have spaces around it, or be a date', () => {
		jest.setSystemTime(0);
		expect(pause({ retryAfter: ' 7 ' }, 1)).toBe(7_000);
		for (const retryAfter of ['1970-01-01T00:00:09Z', 'Thu, 01 Jan 1970 00:00:09 +0000']) {
			expect(pause({ retryAfter }, 1)).toBe(9_000);
		}
	});
});

test.each([
	['a read', getRun(1, 'r'), 60_000],
	['a create', createRun(1, []), 300_000],
])(
	'%s whose answer drips, so that n8n never ends it, ends after twice its time',
	async (_, request, ms) => {
		const service = {
			baseUrl: '',
			limiter: new RateLimiter(),
			renew: () => Promise.resolve(undefined),
			send: () => new Promise(() => {}),
		} as unknown as Service;
		const began = clock.now();
		const patience = { since: began, patienceMs: 1_000 };
		const answer = await settle(sendWithRetry<unknown>(service, request, 'create', patience));
		expect(answer.kind).toBe('timedOut');
		expect(clock.now() - began).toBe(ms);
	},
);

test('a request whose key was replaced while it waited takes its turn under the new one', async () => {
	const [before, after] = [new RateLimiter(), new RateLimiter()];
	const sent: Array<{ at: number; limiter: RateLimiter }> = [];
	const service = {
		baseUrl: '',
		owner: {},
		limiter: before,
		renew() {
			service.limiter = after;
			return Promise.resolve(undefined);
		},
		send() {
			sent.push({ at: clock.now(), limiter: service.limiter });
			return Promise.resolve({ kind: 'ok', status: 200 });
		},
	};
	const began = clock.now();
	after.learn('poll', { kind: 'rateLimited', status: 429, retryAfter: '7' }, began);
	const patience = { since: began, patienceMs: 60_000 };
	await settle(sendWithRetry(service as unknown as Service, createRun(1, []), 'create', patience));
	expect(sent).toEqual([{ at: began + 7_000, limiter: after }]);
});
