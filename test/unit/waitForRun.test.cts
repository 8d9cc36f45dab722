import type { Answer } from '../../nodes/AgentInvocation/service/answer.ts';
import { systemClock as clock } from '../../nodes/AgentInvocation/clock.ts';
import type { Step } from '../../nodes/AgentInvocation/runs/itemState.ts';
import { getRun } from '../../nodes/AgentInvocation/service/endpoints.ts';
import {
	RUN_ID,
	simulateRun,
	waitForRun,
	type SimulatedRun,
	type WaitChanges,
} from './simulatedRun.cts';
import { settle } from './virtualTime.cts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** Waits on virtual time; gives what the last poll made of the item. */
async function wait(
	{ service }: SimulatedRun,
	changes: WaitChanges = {},
	signal?: AbortSignal,
): Promise<{ end: Step | undefined; ms: number }> {
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
	const { end, ms } = await wait(run, { lastSeen: undefined });
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

	test('but it does not outlast the time limit, and the wait says what was in the way', async () => {
		const run = simulateRun(SECOND, () => answer('serverError', { status: 503 }));
		const { end, ms } = await wait(run, { timeoutMs: 20 * SECOND });
		expect(end).toMatchObject({ failure: { details: { http_status: 503 } } });
		expect(ms).toBeCloseTo(20 * SECOND, 0);
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

test('a rate limit that asks for more than the time limit leaves one last look at it', async () => {
	const run = simulateRun(5 * SECOND, (request) =>
		request === 0 ? answer('rateLimited', { status: 429, retryAfter: '99999' }) : undefined,
	);
	const { end, ms } = await wait(run, { timeoutMs: 30 * SECOND });
	expect(end?.is).toBe('done');
	expect(ms).toBeCloseTo(30 * SECOND, 0);
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
		const run = simulateRun(2 * SECOND, (request) => (request < 3 ? notFound : undefined));
		expect((await wait(run)).end?.is).toBe('done');
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
		expect((await wait(run, { lastSeen: undefined })).end?.is).toBe('failed');
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
	const { end, ms } = await wait(run, { lastSeen: undefined, timeoutMs: HOUR });
	expect(end?.is).toBe('failed');
	expect(ms).toBeLessThan(15 * SECOND);
});

test('trouble that says nothing about the address takes nothing of the patience with it', async () => {
	const troubles = ['rateLimited', 'serverError', 'timedOut', 'connectionLost'] as const;
	const run = simulateRun(0, (request) =>
		request < 8 ? answer(troubles[request % 4]!) : request < 12 ? answer('foreign') : undefined,
	);
	expect((await wait(run, { lastSeen: undefined })).end?.is).toBe('done');
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
