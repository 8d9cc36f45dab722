import type { Answer } from '../../nodes/AgentInvocation/service/answer.ts';
import { PassTime, clock } from '../../nodes/AgentInvocation/clock.ts';
import type { Item, Wait } from '../../nodes/AgentInvocation/item.ts';
import { pollRun } from '../../nodes/AgentInvocation/waiting/poll.ts';
import { getRun } from '../../nodes/AgentInvocation/service/endpoints.ts';
import { RateLimiter } from '../../nodes/AgentInvocation/service/rateLimiter.ts';
import type { Service } from '../../nodes/AgentInvocation/service/service.ts';
import {
	RUN_ID,
	simulateRun,
	waitForRun,
	type SimulatedRun,
	type WaitChanges,
} from '../support/simulation/simulatedRun.cts';
import { settle } from '../support/virtualTime.cts';
import { RUN, waitingItem } from './waitingItem.cts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** Waits on virtual time; gives what the last poll made of the item. */
async function wait(
	{ service }: SimulatedRun,
	changes: WaitChanges = {},
	signal?: AbortSignal,
): Promise<{ end: Item | undefined; ms: number }> {
	const startedAt = clock.now();
	const end = await settle(waitForRun(service, changes, signal));
	return { end, ms: clock.now() - startedAt };
}

const answer = (kind: Answer['kind'], more: Partial<Answer> = {}): Answer => ({ kind, ...more });

test.each([0.2, 1, 2, 5, 10, 60, 600, 3_600, 24 * 3_600])(
	'a run of %d s is seen at most 20 %% late, or 1 s where that is more',
	async (seconds) => {
		const run = simulateRun(seconds * SECOND);
		const { end, ms } = await wait(run);
		expect(end).toMatchObject({ is: 'done', outputs: [{ output: 'Done.' }] });
		const late = ms - seconds * SECOND;
		expect(late).toBeGreaterThanOrEqual(0);
		expect(late).toBeLessThanOrEqual(Math.max(SECOND, seconds * SECOND * 0.2));
	},
);

test('an hour takes some forty requests', async () => {
	const run = simulateRun(HOUR);
	await wait(run);
	expect(run.askedAt.length).toBeGreaterThan(30);
	expect(run.askedAt.length).toBeLessThan(50);
});

test('a poll interval of its own is kept to', async () => {
	const run = simulateRun(60 * SECOND);
	await wait(run, { pollIntervalMs: 7 * SECOND });
	expect(run.askedAt.map((ms) => Math.round(ms))).toEqual(
		[7, 14, 21, 28, 35, 42, 49, 56, 63].map((s) => s * SECOND),
	);
});

test('a run that was not created here is polled once before any waiting', async () => {
	const run = simulateRun(0);
	const { end, ms } = await wait(run, { isOwn: false });
	expect(end?.is).toBe('done');
	expect(ms).toBe(0);
});

test('the last poll is at the time limit, and none comes after it', async () => {
	const run = simulateRun(HOUR);
	const { end, ms } = await wait(run, { timeoutMs: 10 * SECOND });
	expect(end).toMatchObject({ failure: { details: { status: 'running' } } });
	expect(ms).toBeCloseTo(10 * SECOND, 0);
	expect(run.askedAt.at(-1)).toBeCloseTo(10 * SECOND, 0);
});

test('a run that finishes just before the time limit is still seen', async () => {
	const run = simulateRun(9_990);
	const { end } = await wait(run, { timeoutMs: 10 * SECOND });
	expect(end?.is).toBe('done');
});

describe('transient trouble does not end the wait for a healthy run', () => {
	test.each([
		answer('rateLimited', { status: 429 }),
		answer('rateLimited', { status: 429, retryAfter: '3' }),
		answer('serverError', { status: 502 }),
		answer('foreign', { status: 200 }),
		answer('foreign', { status: 404 }),
		answer('connectionLost'),
		answer('timedOut'),
		answer('notConnected'),
		answer('redirect', { status: 302 }),
		answer('notTrusted'),
	])('%j', async (trouble) => {
		const run = simulateRun(30 * SECOND, (request) => (request < 8 ? trouble : undefined));
		const { end } = await wait(run);
		expect(end?.is).toBe('done');
	});

	test('but it does not last for ever, and the wait says what was in the way', async () => {
		const run = simulateRun(SECOND, () => answer('serverError', { status: 503 }));
		const { end, ms } = await wait(run, { timeoutMs: 20 * SECOND });
		expect(end).toMatchObject({
			failure: {
				message: expect.stringContaining('did not tell') as string,
				details: { http_status: 503 },
			},
		});
		// A minute of grace, and the longest pause between two attempts.
		expect(ms).toBeGreaterThan(80 * SECOND);
		expect(ms).toBeLessThan(160 * SECOND);
	});
});

describe('an answer', () => {
	const ASKED = 'aaaaaaaa-2222-4333-8444-555555555555';
	const isAnswer = (body: object) =>
		getRun(1, ASKED).hasShape({ status: 'succeeded', output: 'Done.', ...body });

	test.each([{ run_id: RUN_ID }, { run_id: 7 }])('with %j is about another run', (body) =>
		expect(isAnswer(body)).toBe(false),
	);

	test.each([{}, { run_id: null }, { run_id: ASKED }, { run_id: ASKED.toUpperCase() }])(
		'with %j is about the run that was asked for',
		(body) => expect(isAnswer(body)).toBe(true),
	);
});

test.each([
	['as many seconds as asked', () => '40'],
	['until the date asked for', () => new Date(Date.now() + 40 * SECOND).toUTCString()],
])('a rate limit pauses the wait for %s', async (_name, retryAfter) => {
	const asked = retryAfter();
	const run = simulateRun(SECOND, (request) =>
		request === 0 ? answer('rateLimited', { status: 429, retryAfter: asked }) : undefined,
	);
	const { end } = await wait(run);
	expect(end?.is).toBe('done');
	const pause = run.askedAt[1]! - run.askedAt[0]!;
	expect(pause).toBeGreaterThan(38 * SECOND);
	expect(pause).toBeLessThanOrEqual(40 * SECOND);
});

test.each([
	['300', 'done', 300.3],
	['99999', 'failed', 30],
])(
	'a rate limit of %s s is waited out for five minutes beyond the time limit: %s',
	async (retryAfter, is, seconds) => {
		const run = simulateRun(5 * SECOND, (request) =>
			request === 0 ? answer('rateLimited', { status: 429, retryAfter }) : undefined,
		);
		const { end, ms } = await wait(run, { timeoutMs: 30 * SECOND });
		expect(end?.is).toBe(is);
		expect(ms).toBeCloseTo(seconds * SECOND, 0);
		expect(run.askedAt).toHaveLength(is === 'done' ? 2 : 1);
	},
);

describe('at the time limit', () => {
	const minute = 60 * SECOND;
	const troubles: Array<[string, Answer]> = [
		['a 503', answer('serverError', { status: 503 })],
		['a refusal', answer('rateLimited', { status: 429 })],
		['a name that is not found', answer('notConnected')],
		['a gateway', answer('foreign', { status: 404 })],
		['a credential that cannot be read', answer('notSent')],
	];

	test.each(troubles)('a last poll that meets %s is repeated', async (_, trouble) => {
		// Fixed, so that the poll before the last one is answered.
		const times = { timeoutMs: 2 * minute, pollIntervalMs: 90 * SECOND };
		const run = simulateRun(100 * SECOND, (request) => (request === 1 ? trouble : undefined));
		const { end, ms } = await wait(run, times);
		expect(end?.is).toBe('done');
		expect(ms).toBeLessThan(times.timeoutMs + 5 * SECOND);
	});

	test('a poll that alone is refused, again and again, is given up while others are carried', async () => {
		const run = simulateRun(SECOND, () => answer('rateLimited', { status: 429 }));
		const others = setInterval(
			() => run.service.limiter.learn({ kind: 'ok', status: 200 }, clock.now()),
			SECOND,
		);
		const { end, ms } = await wait(run, { timeoutMs: minute });
		clearInterval(others);
		expect(end).toMatchObject({ failure: { details: { http_status: 429 } } });
		expect(ms).toBeLessThan(10 * minute);
	});

	test('nothing is polled at the very moment when n8n ends the execution', async () => {
		const run = simulateRun(minute, () => answer('serverError', { status: 503 }));
		const latestEndOn = Date.now() + 30 * SECOND;
		// A refusal that ends at that moment.
		run.service.limiter.learn({ kind: 'rateLimited', status: 429, retryAfter: '50' }, clock.now());
		const { end, ms } = await wait(run, { timeoutMs: 30 * SECOND, latestEndOn });
		expect(end?.is).toBe('failed');
		expect(ms).toBeLessThanOrEqual(50 * SECOND);
	});

	test('an answer to what was sent before is none', async () => {
		const run = simulateRun(119_999);
		const { service } = run;
		const send = service.send.bind(service);
		// The service looks at once, and takes a second to say it.
		service.send = async (request) => {
			const seen = await send(request);
			await new Promise((resolve) => setTimeout(resolve, SECOND));
			return seen;
		};
		const times = { timeoutMs: 2 * minute, pollIntervalMs: 119_500 };
		const { end } = await wait(run, times);
		expect(end?.is).toBe('done');
	});
});

test('a Retry-After of 0 is no invitation to hammer the service', async () => {
	const run = simulateRun(HOUR, () => answer('rateLimited', { status: 429, retryAfter: '0' }));
	await wait(run, { timeoutMs: 60 * SECOND });
	expect(run.askedAt.length).toBeLessThan(15);
});

test.each([
	answer('rejected', { status: 401, serviceError: { code: 'invalid_api_key', message: '' } }),
	answer('rejected', { status: 404, serviceError: { code: 'agent_not_found', message: '' } }),
	answer('rejected', { status: 400 }),
])('what looking again cannot mend ends the wait at once: %j', async (final) => {
	const run = simulateRun(HOUR, () => final);
	const { end } = await wait(run);
	expect(end).toMatchObject({ is: 'failed', failure: { details: { http_status: final.status } } });
	expect(run.askedAt).toHaveLength(1);
});

describe('run_not_found', () => {
	const notFound = answer('rejected', {
		status: 404,
		serviceError: { code: 'run_not_found', message: '' },
	});

	test('is not believed in the first seconds after the own create', async () => {
		// The clock has gone before.
		jest.advanceTimersByTime(HOUR);
		const run = simulateRun(2 * SECOND, (request) => (request < 3 ? notFound : undefined));
		expect((await wait(run)).end?.is).toBe('done');
	});

	test('nor at a time limit that comes in these seconds', async () => {
		const run = simulateRun(1.5 * SECOND, (request) => (request < 5 ? notFound : undefined));
		const { end, ms } = await wait(run, { timeoutMs: 2 * SECOND });
		expect(ms).toBeGreaterThan(2 * SECOND);
		expect(end?.is).toBe('done');
	});

	test('is believed after that', async () => {
		const run = simulateRun(HOUR, () => notFound);
		const { end, ms } = await wait(run);
		expect(end?.is).toBe('failed');
		expect(ms).toBeGreaterThanOrEqual(10 * SECOND);
		expect(ms).toBeLessThan(15 * SECOND);
	});

	test('is believed at once of a run that was not created here', async () => {
		const run = simulateRun(HOUR, () => notFound);
		expect((await wait(run, { isOwn: false })).end?.is).toBe('failed');
		expect(run.askedAt).toHaveLength(1);
	});
});

test.each([
	answer('notConnected'),
	answer('foreign', { status: 200 }),
	answer('redirect', { status: 302 }),
	answer('notTrusted'),
])('an address that never led to the service is given up soon: %j', async (trouble) => {
	const run = simulateRun(HOUR, () => trouble);
	const { end, ms } = await wait(run, { isOwn: false, timeoutMs: HOUR });
	expect(end?.is).toBe('failed');
	expect(ms).toBeLessThan(15 * SECOND);
});

test('trouble that says nothing about the address takes nothing of the patience with it', async () => {
	const troubles = ['rateLimited', 'serverError', 'timedOut', 'connectionLost'] as const;
	const run = simulateRun(0, (request) =>
		request < 8 ? answer(troubles[request % 4]!) : request < 12 ? answer('foreign') : undefined,
	);
	expect((await wait(run, { isOwn: false })).end?.is).toBe('done');
});

test('the signal ends the wait while it sleeps, and nothing more is sent', async () => {
	const cancelling = new AbortController();
	const run = simulateRun(HOUR);
	setTimeout(() => cancelling.abort(), 90 * SECOND);
	const { end, ms } = await wait(run, {}, cancelling.signal);
	expect(end).toBeUndefined();
	expect(ms).toBe(90 * SECOND);
	expect(run.askedAt.every((askedAt) => askedAt < 90 * SECOND)).toBe(true);
});

describe('a poll', () => {
	const SHORTEST_STORED = 65 * SECOND;

	/** Polls a run once that was started so long ago, with this answer; gives what became of it, and when. */
	async function poll(
		changes: Partial<Wait>,
		given: Answer,
		{ startedAgoMs = 0, cancelAfterMs = Infinity, pausedMs = 0, latestEndOn = Infinity } = {},
	) {
		const cancelling = new AbortController();
		if (cancelAfterMs < Infinity) setTimeout(() => cancelling.abort(), cancelAfterMs);
		const timeouts: Array<number | undefined> = [];
		const service = {
			baseUrl: RUN.baseUrl,
			limiter: new RateLimiter(),
			async send({ timeoutMs }: { timeoutMs?: number }) {
				timeouts.push(timeoutMs);
				await clock.sleep(SECOND);
				return given;
			},
		} as unknown as Service;
		if (pausedMs > 0) {
			const retryAfter = String(pausedMs / SECOND);
			service.limiter.learn(answer('rateLimited', { retryAfter }), clock.now());
		}
		const beganOn = Date.now() - startedAgoMs;
		const item = waitingItem({ status: 'running', beganOn, ...changes });
		item.wait.options = { ...item.wait.options, timeoutMs: 0 };
		const { signal } = cancelling;
		const from = clock.now();
		const time = new PassTime();
		const next = await settle(pollRun(item, { service, time, latestEndOn, signal }));
		const delay = next.is === 'waiting' ? Math.round(next.wait.dueOn - time.date()) : undefined;
		return { item, next, ms: clock.now() - from, delay, timeouts };
	}

	const running = answer('ok', { status: 200, body: { run_id: RUN.runId, status: 'running' } });

	test.each([
		['after a suspension may take ten seconds', { isLong: true }, 10 * SECOND],
		[
			'after a suspension that followed a temporary failure may take longer',
			{ isLong: true, failuresInARow: 1 },
			30 * SECOND,
		],
		['in memory may take longer', { isLong: false }, 30 * SECOND],
		['of a wait that has just begun may take longer', {}, 30 * SECOND],
	])('%s', async (_, changes, timeout) => {
		expect((await poll(changes, running)).timeouts).toEqual([timeout]);
	});

	test('takes no longer than n8n leaves to the execution', async () => {
		const latestEndOn = Date.now() - 13 * SECOND;
		const { timeouts } = await poll({}, running, { latestEndOn });
		expect(timeouts).toEqual([7 * SECOND]);
	});

	test('that is cancelled, or given up, leaves the item as it is', async () => {
		const cancelled = await poll({}, answer('cancelled'));
		expect(cancelled.next).toBe(cancelled.item);
		const given = await poll({}, running, { cancelAfterMs: 10 });
		expect(given.next).toBe(given.item);
		expect(given.ms).toBe(10);
		const late = await poll({}, running, { cancelAfterMs: SECOND });
		expect(late.next).toBe(late.item);
	});

	// The usual delay after an hour is ten minutes.
	test.each([
		[0, 65],
		[1, 130],
		[2, 260],
		[3, 520],
		[4, 600],
	])(
		'that meets a temporary failure where delays are long is put off, after %d such by %d s',
		async (failuresInARow, s) => {
			const { delay } = await poll({ failuresInARow }, answer('timedOut'), { startedAgoMs: HOUR });
			expect(delay).toBe(s * SECOND);
		},
	);

	test('that meets a temporary failure where delays are short is sent again soon', async () => {
		jest.spyOn(Math, 'random').mockReturnValue(0.5);
		const { delay } = await poll({}, answer('timedOut'), { startedAgoMs: 60 * SECOND });
		jest.restoreAllMocks();
		expect(delay).toBe(500);
	});

	test('that is refused comes after the pause, and where the wait is stored after 65 s at the earliest', async () => {
		const refused = answer('rateLimited', { status: 429, retryAfter: '20' });
		for (const startedAgoMs of [0, HOUR]) {
			expect((await poll({}, refused, { startedAgoMs })).delay).toBe(20 * SECOND);
		}
		expect((await poll({ where: 'stored' }, refused)).delay).toBe(SHORTEST_STORED);
	});

	test('that would have to wait for a long pause is put off until its end', async () => {
		const { delay, timeouts } = await poll({}, running, {
			startedAgoMs: HOUR,
			pausedMs: 20 * SECOND,
		});
		expect(delay).toBe(20 * SECOND);
		expect(timeouts).toEqual([]);
	});
});
