import { PassTime } from '../../nodes/AgentInvocation/clock.ts';
import { failed, isInDoubt, NOT_BEGUN, type Item } from '../../nodes/AgentInvocation/item.ts';
import { DryRuns } from '../../nodes/AgentInvocation/items/dryRuns.ts';
import type { ItemWork } from '../../nodes/AgentInvocation/items/operation.ts';
import { startRun } from '../../nodes/AgentInvocation/operations/run/startRun.ts';
import type { WaitPlan } from '../../nodes/AgentInvocation/items/waitPlan.ts';
import { OwnWorld, type Said } from '../support/simulation/ownWorld.cts';
import { answerOf, json, type Answered } from '../support/simulation/world/answers.cts';
import { contextOf } from '../support/simulation/world/context.cts';
import type { Hand } from '../support/simulation/world/hand.cts';
import type { FaultKind, RequestKind } from '../support/simulation/world/world.cts';

// Whether a create may have started a run, by what came of it: if so, it is never sent again.
const SECOND = 1_000;

type Met = FaultKind | Partial<Answered>;

/** A world whose first create meets this. */
function meeting(met: Met, said: Said = {}): OwnWorld {
	let left = 1;
	const respond: Hand['respond'] = (seen) => {
		if (seen.kind !== 'create' || left-- < 1) return undefined;
		return typeof met === 'string' ? answerOf(met, seen) : met;
	};
	return new OwnWorld({ ...said, hand: { respond } });
}

const envelope = (status: number) =>
	json(status, { error: { code: 'odd', message: 'No.', request_id: 'r' } });

async function expectDoubt(world: OwnWorld) {
	const sent = world.requests.length;
	for (const attempt of [1, 2]) {
		const { error } = await world.retry();
		expect([attempt, error?.message]).toEqual([
			attempt,
			'An earlier attempt may have started a run of agent 1 for this item, so this attempt starts none',
		]);
		expect(error?.description).toContain("with 'Get a run'");
		expect(error?.context?.details).toEqual({ agent_id: 1 });
	}
	expect(world.requests).toHaveLength(sent);
}

test.each<[string, Met]>([
	['no answer in time', 'timeout'],
	['a lost connection', 'reset'],
	["a proxy's page", 'html200'],
	['a status that the interface does not list', envelope(403)],
	['a server error', { statusCode: 500 }],
	['a redirect to what it has made', { statusCode: 302 }],
])('%s leaves it in doubt', async (_, met) => {
	const world = meeting(met);
	expect((await world.execute()).error?.message).toContain('(a run may have been started)');
	expect(world.requests).toHaveLength(1);
	await expectDoubt(world);
});

test('no run is started after the node was to get one in between, and is changed back', async () => {
	let isBroken = true;
	const hand: Hand = {
		respond: ({ kind }, own) => {
			if (kind !== 'create' || !isBroken) return undefined;
			own();
			return { statusCode: 502 };
		},
	};
	const world = new OwnWorld({ hand });
	await world.execute();
	isBroken = false;
	const runId = '99999999-2222-4333-8444-555555555555';
	const parameters = { operation: 'get', runId, waitForCompletion: true };
	hand.node = { parameters };
	hand.parameters = () => ({ ...parameters, options: {} });
	await world.retry({ workflow: 'saved', changesNode: true });
	delete hand.node;
	delete hand.parameters;
	const { error } = await world.retry({ workflow: 'saved', changesNode: true });
	expect(error?.message).toContain('so this attempt starts none');
	expect(world.started).toEqual([0]);
});

test.each<[string, Met]>([
	['a rejection', 'rejected'],
	['a redirect', { statusCode: 307 }],
	['a certificate that is not trusted', 'certificate'],
	["n8n's own refusal to send it", 'blocked'],
])('%s has started nothing, so the next attempt starts it', async (_, met) => {
	const world = meeting(met);
	expect((await world.execute()).error?.message).not.toContain('may have been started');
	expect(world.runs).toEqual([]);
	expect((await world.retry()).jsons).toMatchObject([{ output: '0' }]);
	expect(world.started).toEqual([0]);
});

test.each<Met>(['stray429', 'refused', 'dns'])(
	'%s has started nothing, so it is sent again',
	async (met) => {
		const world = meeting(met);
		expect((await world.execute()).jsons).toMatchObject([{ output: '0' }]);
		expect(world.started).toEqual([0]);
	},
);

describe("with 'Retry Create on Server Error'", () => {
	const options = { retryCreateOnServerError: true };

	test('a server error that stays is taken for nothing', async () => {
		const hand: Hand = { respond: () => ({ statusCode: 503 }) };
		const world = new OwnWorld({ options, hand });
		expect((await world.execute()).error?.context?.details).toMatchObject({ http_status: 503 });
		delete hand.respond;
		expect((await world.retry()).jsons).toMatchObject([{ output: '0' }]);
	});

	test('nothing else is', async () => {
		const world = meeting('timeout', { options });
		await world.execute();
		await expectDoubt(world);
	});
});

test.each<RequestKind>(['create', 'list'])(
	'an execution that ends while its %s waits for its turn starts nothing, and a Retry does',
	async (asked) => {
		const hand: Hand = {
			respond: ({ kind }) =>
				kind === asked ? { statusCode: 429, headers: { 'retry-after': '9' } } : undefined,
		};
		const agentMode = asked === 'list' ? 'name' : 'id';
		const world = new OwnWorld({ agentMode, hand, cancelAtMs: SECOND });
		const { error } = await world.execute();
		// It names no item as failed.
		expect(`${error?.message}${error?.description ?? ''}`).toBe('The execution was canceled');
		expect(world.requests).toHaveLength(1);
		delete hand.respond;
		expect((await world.retry()).jsons).toMatchObject([{ output: '0' }]);
		expect(world.started).toEqual([0]);
	},
);

test('it is in doubt from before the create is sent, whatever is thrown then', async () => {
	const noted: Item[] = [];
	const limiter = { admit: () => Promise.resolve('send'), learn: () => {} };
	const send = () => {
		throw new Error('A defect');
	};
	const service = { baseUrl: '', limiter, renew: () => Promise.resolve(undefined), send };
	const note = (item: Item) => void noted.push(item);
	const { signal } = new AbortController();
	const parking = { time: new PassTime(), latestEndOn: Infinity };
	const context = contextOf({});
	const dryRuns = new DryRuns();
	const work = { context, service, parking, signal, note, dryRuns } as unknown as ItemWork;
	const plan = {} as WaitPlan;
	const wanted = { agent: 1, bindings: [], retryOnServerError: false, patienceMs: Infinity, plan };
	await expect(startRun(NOT_BEGUN, wanted, work)).rejects.toThrow('A defect');
	expect(noted.map(isInDoubt)).toEqual([true]);
});

test("n8n's own explanation of an expression is left out where the message names a run", () => {
	const failure = { message: 'No', description: '', details: {}, expression: { parameter: 'a' } };
	expect(failed(NOT_BEGUN, failure).failure).toEqual(failure);
	const run = { baseUrl: '', agentId: 1, runId: 'r' };
	const named = failed({ is: 'inDoubt', run }, failure).failure;
	expect(named.message).toBe('No (run r of agent 1)');
	expect(named.expression).toBeUndefined();
});
