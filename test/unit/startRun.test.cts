import { startRun } from '../../nodes/AgentInvocation/operations/run/startRun.ts';
import { systemClock as clock } from '../../nodes/AgentInvocation/clock.ts';
import { RunMemory } from '../../nodes/AgentInvocation/items/memory.ts';
import type { Answer } from '../../nodes/AgentInvocation/service/answer.ts';
import { RateLimiter } from '../../nodes/AgentInvocation/service/rateLimiter.ts';
import type { GivenAgent } from '../../nodes/AgentInvocation/operations/findAgent.ts';
import type { ItemWork } from '../../nodes/AgentInvocation/items/operation.ts';
import { contextOf, type Told } from '../support/simulation/fakeContext.cts';
import { settle } from '../support/virtualTime.cts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const RUN_ID = '11111111-2222-4333-8444-555555555555';
const BASE_URL = 'https://agents.example.com/api/v1';
const ITEM = { name: 'city', value: 'Paris' };

const created = (body: object = { run_id: RUN_ID }): Answer => ({ kind: 'ok', status: 202, body });

interface Start {
	agentId?: GivenAgent;
	bindings?: Array<typeof ITEM>;
	retries?: boolean;
	baseUrl?: string;
	/** Whether the execution is cancelled a second later. */
	cancel?: boolean;
	limiter?: RateLimiter;
}

/** An execution whose one item starts a run at a service that gives these answers, the last one again. */
function execution(...answers: Answer[]) {
	const kept = {};
	const open = (told: Told = {}) => {
		const opened = RunMemory.open(contextOf({ kept, ...told }), 0);
		if (!opened.ok) throw new Error(opened.failure.message);
		return opened.value;
	};
	const self = {
		memory: open(),
		/** What was noted of the item when each request was sent. */
		notedAtRequests: [] as unknown[],
		/** n8n runs the node once more: in the same execution, or in that of its Retry. */
		again(told: Told = {}) {
			// Before the Retry, the user has changed the node.
			const parameters = told.executionId === undefined ? {} : { changed: true };
			self.memory = open({ node: { retryOnFail: true, maxTries: 5, parameters }, ...told });
			return self;
		},
		async start({
			agentId = 1,
			bindings = [ITEM],
			retries = false,
			baseUrl = BASE_URL,
			cancel = false,
			limiter = new RateLimiter(clock),
		}: Start = {}) {
			const service = {
				key: 'key',
				baseUrl,
				limiter,
				send() {
					self.notedAtRequests.push(structuredClone(self.memory.item(0)));
					return Promise.resolve(answers.length > 1 ? answers.shift() : answers[0]);
				},
			};
			const cancelling = new AbortController();
			if (cancel) setTimeout(() => cancelling.abort(), 1_000);
			const { signal } = cancelling;
			const work = {
				context: contextOf({}),
				itemIndex: 0,
				service,
				memory: self.memory,
				signal,
			} as unknown as ItemWork;
			return await settle(startRun(work, agentId, bindings, retries, clock.now() + 60_000));
		},
	};
	return self;
}

describe('a run', () => {
	test('is started and noted', async () => {
		jest.setSystemTime(5_000);
		const node = execution(created({ run_id: RUN_ID, more: 1 }));
		const run = { baseUrl: BASE_URL, agentId: 1, runId: RUN_ID, startedOn: 5_000 };
		expect(await node.start()).toEqual({
			is: 'started',
			run,
			lastSeen: { run_id: RUN_ID, status: 'pending', more: 1 },
			isEarlier: false,
			askedMs: 0,
		});
		expect(node.memory.item(0)).toEqual({
			is: 'started',
			fingerprint: expect.stringMatching(/^.{16}$/) as string,
			run,
		});
	});

	test('is in doubt from before its request is sent', async () => {
		const node = execution(created());
		await node.start();
		expect(node.notedAtRequests).toMatchObject([{ is: 'inDoubt' }]);
	});

	test('has an ID that is text, also where the service gives a number', async () => {
		const node = execution(created({ run_id: 7 }));
		expect(await node.start()).toMatchObject({ run: { runId: '7' }, lastSeen: { run_id: '7' } });
	});
});

describe('a second attempt', () => {
	test('goes on with the run that was started, and sends nothing', async () => {
		const node = execution(created());
		await node.start();
		expect(await node.again().start()).toMatchObject({
			is: 'started',
			run: { runId: RUN_ID },
			lastSeen: { run_id: RUN_ID, status: 'pending' },
			isEarlier: true,
		});
		expect(node.notedAtRequests).toHaveLength(1);
	});

	test('gives the result that there is, and sends nothing', async () => {
		const node = execution(created());
		await node.start();
		const outputs = [{ run_id: RUN_ID, status: 'succeeded', output: 'Done.' }];
		node.memory.noteEnd(0, { is: 'done', outputs });
		expect(await node.again().start()).toMatchObject({ is: 'done', outputs });
		expect(node.notedAtRequests).toHaveLength(1);
	});

	test('waits for a run whose output was given before it had finished', async () => {
		const node = execution(created());
		await node.start();
		const output = { run_id: RUN_ID, status: 'running' };
		node.memory.noteEnd(0, { is: 'done', outputs: [output] });
		expect(await node.again().start()).toMatchObject({
			is: 'started',
			run: { runId: RUN_ID },
			lastSeen: { run_id: RUN_ID, status: 'pending' },
			isEarlier: true,
		});
	});

	test('gives what is no run as it is', async () => {
		const node = execution(created());
		node.memory.note(0, { is: 'done', fingerprint: '', outputs: [{ status: 'pending' }] });
		expect(await node.start()).toMatchObject({ is: 'done' });
		expect(node.notedAtRequests).toEqual([]);
	});

	test.each([
		['another agent', { agentId: 2 }],
		['another name', { bindings: [{ ...ITEM, name: 'town' }] }],
		['another value', { bindings: [{ ...ITEM, value: 'Rome' }] }],
		['nothing', { bindings: [] }],
		['another service', { baseUrl: 'https://other.example.com/api/v1' }],
	])('in another execution starts a run for %s', async (_, other) => {
		const node = execution(created());
		await node.start();
		expect(await node.again({ executionId: '2' }).start(other)).toMatchObject({ isEarlier: false });
		expect(node.notedAtRequests).toHaveLength(2);
	});

	test('in another execution does not take a name for the ID', async () => {
		const node = execution(created(), { kind: 'rejected' });
		await node.start();
		const again = node.again({ executionId: '2' });
		expect(await again.start({ agentId: '1' })).toMatchObject({ is: 'failed' });
		expect(node.notedAtRequests).toHaveLength(2);
	});

	test('in another execution knows the agent by its name in other case, and does not look it up', async () => {
		const body = { agents: [{ id: 1, name: 'Daily Briefing' }], pagination: { total: 1 } };
		const node = execution({ kind: 'ok', status: 200, body }, created());
		await node.start({ agentId: 'Daily briefing' });
		const again = node.again({ executionId: '2' });
		expect(await again.start({ agentId: ' daily BRIEFING ' })).toMatchObject({ isEarlier: true });
		expect(node.notedAtRequests).toHaveLength(2);
	});

	test('in another execution goes on with the run for the same', async () => {
		const node = execution(created());
		await node.start();
		expect(await node.again({ executionId: '2' }).start()).toMatchObject({ isEarlier: true });
	});
});

describe('an answer', () => {
	const kinds = (...names: Array<Answer['kind']>) => names.map((kind) => [kind] as const);

	test.each(kinds('timedOut', 'connectionLost', 'foreign', 'unlisted', 'serverError', 'cancelled'))(
		'%s leaves it in doubt, and then nothing is ever sent again',
		async (kind) => {
			const node = execution({ kind, status: 500 });
			expect(await node.start()).toMatchObject({ is: 'failed' });
			expect(node.memory.item(0)?.is).toBe('inDoubt');
			const sent = node.notedAtRequests.length;
			expect(sent).toBe(1);
			const refused = { is: 'failed', failure: { details: { agent_id: 1 } } };
			expect(await node.again().start()).toMatchObject(refused);
			expect(
				await node.again({ executionId: '2' }).start({ agentId: 1, bindings: [] }),
			).toMatchObject({
				failure: {
					message: expect.stringContaining('may have started a run of agent 1 for') as string,
					description: expect.stringContaining("with 'Get a run'") as string,
				},
			});
			expect(node.notedAtRequests).toHaveLength(sent);
		},
	);

	test.each(kinds('rejected', 'redirect', 'notTrusted', 'notSent', 'credentialChanged'))(
		'%s means that nothing was started, so the next attempt starts it',
		async (kind) => {
			const node = execution({ kind }, created());
			expect(await node.start()).toMatchObject({ is: 'failed' });
			expect(node.memory.item(0)).toBeUndefined();
			expect(await node.again().start()).toMatchObject({ is: 'started', isEarlier: false });
		},
	);

	test.each(kinds('rateLimited', 'notConnected'))(
		'%s means that nothing was started, so it is sent again',
		async (kind) => {
			const node = execution({ kind }, created());
			expect(await node.start()).toMatchObject({ is: 'started' });
			expect(node.notedAtRequests).toHaveLength(2);
		},
	);
});

describe('a server error', () => {
	const error: Answer = { kind: 'serverError', status: 503 };

	test('is tried again where the user has chosen so', async () => {
		const node = execution(error, created());
		expect(await node.start({ retries: true })).toMatchObject({ is: 'started' });
	});

	test('that stays is then taken for nothing', async () => {
		const node = execution(error);
		expect(await node.start({ retries: true })).toMatchObject({
			is: 'failed',
			failure: { details: { http_status: 503 } },
		});
		expect(node.memory.item(0)).toBeUndefined();
	});

	test('is the only one that is taken so', async () => {
		const node = execution({ kind: 'timedOut' });
		expect(await node.start({ retries: true })).toMatchObject({ is: 'failed' });
		expect(node.memory.item(0)?.is).toBe('inDoubt');
	});
});

describe('an execution that ends meanwhile starts nothing, and leaves the item as it was', () => {
	test.each<[string, GivenAgent]>([
		['a create', 1],
		["the agent's name", 'Reporter'],
	])('while the request for %s waits for its turn', async (_, agentId) => {
		const limiter = new RateLimiter(clock);
		limiter.learn({ kind: 'rateLimited', retryAfter: '9' }, 0);
		const node = execution(created());
		expect(await node.start({ agentId, limiter, cancel: true })).toEqual({ is: 'stopped' });
		expect(node.notedAtRequests).toEqual([]);
		expect(node.memory.item(0)).toBeUndefined();
	});
});
