import { startRun } from '../../nodes/AgentInvocation/operations/run/startRun.ts';
import { PassTime, clock } from '../../nodes/AgentInvocation/clock.ts';
import {
	done,
	isInDoubt,
	NOT_BEGUN,
	type Item,
	type Waiting,
} from '../../nodes/AgentInvocation/item.ts';
import { Memory } from '../../nodes/AgentInvocation/items/memory.ts';
import type { ItemWork } from '../../nodes/AgentInvocation/items/operation.ts';
import { refused } from '../../nodes/AgentInvocation/items/refused.ts';
import type { GivenAgent } from '../../nodes/AgentInvocation/operations/findAgent.ts';
import type { Answer } from '../../nodes/AgentInvocation/service/answer.ts';
import { RateLimiter } from '../../nodes/AgentInvocation/service/rateLimiter.ts';
import { contextOf, type Told } from '../support/simulation/world/context.cts';
import { settle } from '../support/virtualTime.cts';
import { waitingItem } from './waitingItem.cts';
import { settled } from '../support/outcome.cts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const RUN_ID = '11111111-2222-4333-8444-555555555555';
const BASE_URL = 'https://agents.example.com/api/v1';
const ITEM = { name: 'city', value: 'Paris' };

const created = (body: object = { run_id: RUN_ID }): Answer => ({ kind: 'ok', status: 202, body });

const { options } = waitingItem().wait;
const PLAN = { waits: true, options, where: 'memory', startsRuns: true } as const;

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
	const open = (told: Told = {}) => Memory.open(contextOf({ kept, ...told }), true);
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
			limiter = new RateLimiter(),
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
				parking: { time: new PassTime(), latestEndOn: Infinity },
				signal,
				note: (item: Item) => self.memory.note(0, item),
			} as unknown as ItemWork;
			const wanted = {
				agent: agentId,
				bindings,
				retryOnServerError: retries,
				patienceMs: clock.now() + 60_000,
			};
			const item = self.memory.item(0);
			if (item.is !== 'notBegun') throw new Error(`It is ${item.is}`);
			const next = await settle(startRun(item, wanted, work, PLAN));
			self.memory.note(0, next);
			return next;
		},
	};
	return self;
}

describe('a run', () => {
	test('is started, and waited for', async () => {
		jest.setSystemTime(5_000);
		const node = execution(created({ run_id: RUN_ID, more: 1 }));
		expect(await node.start()).toEqual({
			is: 'waiting',
			fingerprints: [expect.stringMatching(/^.{16}$/)],
			run: { baseUrl: BASE_URL, agentId: 1, runId: RUN_ID },
			wait: {
				options,
				where: 'memory',
				status: 'pending',
				beganOn: 5_000,
				dueOn: 5_300,
				delayMs: 300,
				isLong: false,
				failuresInARow: 0,
				doubtfulAnswers: 0,
			},
		});
	});

	test('is in doubt from before its request is sent', async () => {
		const node = execution(created());
		await node.start();
		expect(node.notedAtRequests).toMatchObject([{ is: 'inDoubt' }]);
	});

	test('has an ID that is text, also where the service gives a number', async () => {
		const node = execution(created({ run_id: 7 }));
		expect(await node.start()).toMatchObject({ run: { runId: '7' } });
	});
});

describe('a second attempt', () => {
	test('goes on with the run that was started, and sends nothing', async () => {
		const node = execution(created());
		await node.start();
		expect(await node.again().start()).toMatchObject({
			is: 'waiting',
			run: { runId: RUN_ID },
			wait: { status: 'pending', isEarlier: true, delayMs: 0 },
		});
		expect(node.notedAtRequests).toHaveLength(1);
	});

	test('gives the result that there is, and sends nothing', async () => {
		const node = execution(created());
		await node.start();
		const outputs = [{ run_id: RUN_ID, status: 'succeeded', output: 'Done.' }];
		node.memory.note(0, done(node.memory.item(0), outputs));
		expect(await node.again().start()).toMatchObject({ is: 'done', outputs });
		expect(node.notedAtRequests).toHaveLength(1);
	});

	test('that finds a result after a change of the node keeps it, whatever the values are by then', async () => {
		const node = execution(created());
		await node.start();
		node.memory.note(0, done(node.memory.item(0), [{ run_id: RUN_ID, status: 'succeeded' }]));
		const changed = { node: { parameters: { changed: true } } };
		expect(await node.again({ executionId: '2', ...changed }).start()).toMatchObject({
			is: 'done',
		});
		const later = node.again({ executionId: '3', ...changed });
		expect(await later.start({ bindings: [{ ...ITEM, value: 'Rome' }] })).toMatchObject({
			is: 'done',
		});
		expect(node.notedAtRequests).toHaveLength(1);
	});

	test('waits for a run whose output was given before it had finished', async () => {
		const node = execution(created());
		await node.start();
		const output = { run_id: RUN_ID, status: 'running' };
		node.memory.note(0, done(node.memory.item(0), [output]));
		expect(await node.again().start()).toMatchObject({
			is: 'waiting',
			run: { runId: RUN_ID },
			wait: { status: 'pending', isEarlier: true, delayMs: 0 },
		});
	});

	test('gives what is no run as it is', async () => {
		const node = execution(created());
		node.memory.note(0, { is: 'done', outputs: [{ status: 'pending' }] });
		expect(await node.again().start()).toMatchObject({ is: 'done' });
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
		const { wait } = (await node.again({ executionId: '2' }).start(other)) as Waiting;
		expect(wait.isEarlier).toBeUndefined();
		expect(node.notedAtRequests).toHaveLength(2);
	});

	test('in another execution does not take a name for the ID', async () => {
		const node = execution(created(), { kind: 'rejected' });
		await node.start();
		const again = node.again({ executionId: '2' });
		await expect(again.start({ agentId: '1' })).rejects.toThrow();
		expect(node.notedAtRequests).toHaveLength(2);
	});

	test('in another execution knows the agent by its name in other case, and does not look it up', async () => {
		const body = { agents: [{ id: 1, name: 'Daily Briefing' }], pagination: { total: 1 } };
		const node = execution({ kind: 'ok', status: 200, body }, created());
		await node.start({ agentId: 'Daily briefing' });
		const again = node.again({ executionId: '2' });
		expect(await again.start({ agentId: ' daily BRIEFING ' })).toMatchObject({
			wait: { isEarlier: true },
		});
		expect(node.notedAtRequests).toHaveLength(2);
	});

	test('in another execution goes on with the run for the same', async () => {
		const node = execution(created());
		await node.start();
		expect(await node.again({ executionId: '2' }).start()).toMatchObject({
			wait: { isEarlier: true },
		});
	});
});

describe('an answer', () => {
	const kinds = (...names: Array<Answer['kind']>) => names.map((kind) => [kind] as const);

	test.each(kinds('timedOut', 'connectionLost', 'foreign', 'unlisted', 'serverError', 'cancelled'))(
		'%s leaves it in doubt, and then nothing is ever sent again',
		async (kind) => {
			const node = execution({ kind, status: 500 });
			expect(await node.start()).toMatchObject({ is: 'failed' });
			expect(isInDoubt(node.memory.item(0))).toBe(true);
			const sent = node.notedAtRequests.length;
			expect(sent).toBe(1);
			for (const told of [{}, { executionId: '2' }]) {
				const item = node.again(told).memory.item(0);
				expect(item).toMatchObject({ is: 'inDoubt', agentId: 1 });
				expect(refused(item)).toMatchObject({
					isRefused: true,
					failure: {
						message: expect.stringContaining('may have started a run of agent 1 for') as string,
						description: expect.stringContaining("with 'Get a run'") as string,
						details: { agent_id: 1 },
					},
				});
			}
			expect(node.notedAtRequests).toHaveLength(sent);
		},
	);

	test.each(kinds('rejected', 'redirect', 'notTrusted', 'notSent', 'credentialChanged'))(
		'%s means that nothing was started, so the next attempt starts it',
		async (kind) => {
			const node = execution({ kind }, created());
			expect(await node.start()).toMatchObject({ is: 'failed' });
			expect(node.again().memory.item(0)).toEqual(NOT_BEGUN);
			expect(await node.start()).toMatchObject({ is: 'waiting' });
		},
	);

	test.each(kinds('rateLimited', 'notConnected'))(
		'%s means that nothing was started, so it is sent again',
		async (kind) => {
			const node = execution({ kind }, created());
			expect(await node.start()).toMatchObject({ is: 'waiting' });
			expect(node.notedAtRequests).toHaveLength(2);
		},
	);
});

describe('a server error', () => {
	const error: Answer = { kind: 'serverError', status: 503 };

	test('is tried again where the user has chosen so', async () => {
		const node = execution(error, created());
		expect(await node.start({ retries: true })).toMatchObject({ is: 'waiting' });
	});

	test('that stays is then taken for nothing', async () => {
		const node = execution(error);
		expect(await node.start({ retries: true })).toMatchObject({
			is: 'failed',
			failure: { details: { http_status: 503 } },
		});
		expect(isInDoubt(node.memory.item(0))).toBe(false);
	});

	test('is the only one that is taken so', async () => {
		const node = execution({ kind: 'timedOut' });
		expect(await node.start({ retries: true })).toMatchObject({ is: 'failed' });
		expect(isInDoubt(node.memory.item(0))).toBe(true);
	});
});

describe('an execution that ends meanwhile starts nothing, and leaves the item as it was', () => {
	test.each<[string, GivenAgent]>([
		['a create', 1],
		["the agent's name", 'Reporter'],
	])('while the request for %s waits for its turn', async (_, agentId) => {
		const limiter = new RateLimiter();
		limiter.learn({ kind: 'rateLimited', retryAfter: '9' }, 0);
		const node = execution(created());
		await settled(node.start({ agentId, limiter, cancel: true }));
		expect(node.memory.item(0)).toEqual(NOT_BEGUN);
		expect(node.notedAtRequests).toEqual([]);
	});
});
