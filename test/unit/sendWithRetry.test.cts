import type { Answer } from '../../nodes/AgentInvocation/service/answer.ts';
import { createRun } from '../../nodes/AgentInvocation/service/endpoints.ts';
import type { Purpose } from '../../nodes/AgentInvocation/service/answerKinds.ts';
import { backoffMs } from '../../nodes/AgentInvocation/service/retryPolicy.ts';
import { sendWithRetry } from '../../nodes/AgentInvocation/service/sendWithRetry.ts';
import type { Service } from '../../nodes/AgentInvocation/service/service.ts';
import { systemClock as clock } from '../../nodes/AgentInvocation/clock.ts';
import { RateLimiter } from '../../nodes/AgentInvocation/service/rateLimiter.ts';
import { settle } from './virtualTime.cts';

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
		limiter: new RateLimiter(clock),
		send() {
			return Promise.resolve({ kind: first[sent++] ?? kind });
		},
	} as unknown as Service;
	const deadline = clock.now() + patienceMs;
	const sending = sendWithRetry(service, createRun(1, []), purpose, { clock, deadline });
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

test('a rate limit is waited out until the deadline, other trouble of a read only briefly', async () => {
	expect((await send('rateLimited', 'read', 3_600_000)).sent).toBeGreaterThan(30);
	expect((await send('serverError', 'read', 3_600_000)).sent).toBe(5);
});

test('refusals by the rate limit take nothing of the patience with other trouble', async () => {
	const refused = Array<Answer['kind']>(7).fill('rateLimited');
	expect((await send('serverError', 'read', 3_600_000, refused)).sent).toBe(7 + 5);
	expect((await send('notConnected', 'create', 3_600_000, refused)).sent).toBe(7 + 5);
});

test('without Retry-After the pauses grow, are jittered, and end at a minute', () => {
	const answer: Answer = { kind: 'rateLimited' };
	expect(backoffMs(answer, 1, 0, 0.5)).toBe(500);
	expect(backoffMs(answer, 2, 0, 0.5)).toBe(1_000);
	expect(backoffMs(answer, 2, 0, 0)).toBe(750);
	expect(backoffMs(answer, 2, 0, 1)).toBe(1_250);
	expect(backoffMs(answer, 50, 0, 0.5)).toBe(60_000);
	expect(backoffMs({ ...answer, retryAfter: 'soon' }, 1, 0, 0.5)).toBe(500);
});
