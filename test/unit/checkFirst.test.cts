import { AUTOMATIC } from '../../nodes/AgentInvocation/items/concurrency.ts';
import type { IDataObject } from 'n8n-workflow';

import { PassTime } from '../../nodes/AgentInvocation/clock.ts';
import { UnansweredError } from '../../nodes/AgentInvocation/failure.ts';
import { checkItems } from '../../nodes/AgentInvocation/items/checks.ts';
import { Memory } from '../../nodes/AgentInvocation/items/memory.ts';
import type { Work } from '../../nodes/AgentInvocation/items/work.ts';
import { contextOf } from '../support/simulation/world/context.cts';
import { execute, OwnWorld, type Said } from '../support/simulation/ownWorld.cts';
import { answerOf, apiKeyOf, json } from '../support/simulation/world/answers.cts';
import type { Hand } from '../support/simulation/world/hand.cts';
import { itemNumberOf, type SeenRequest } from '../support/simulation/world/history.cts';

const WRONG = json(400, {
	error: { code: 'invalid_parameter_value', message: "No such value of 'tag'", request_id: 'r' },
});
const numberOf = ({ tag = '' }: SeenRequest) => itemNumberOf(tag);
const isCheck = ({ kind }: SeenRequest) => kind === 'dryRun';

/** The service finds these items wrong; they can be changed. */
const finding = (...wrong: number[]): Hand & { wrong: number[] } => ({
	wrong,
	respond(seen) {
		return seen.tag !== undefined && this.wrong.includes(numberOf(seen)) ? WRONG : undefined;
	},
});

const CONTINUES = { onError: 'continueRegularOutput' } as const;
const checking = (said: Said = {}): Said => ({
	...said,
	options: { checkFirst: true, ...said.options },
});

/** How often each item was checked. */
function checksOf({ requests }: OwnWorld): Record<number, number> {
	const counts: Record<number, number> = {};
	for (const request of requests.filter(isCheck)) {
		counts[numberOf(request)] = (counts[numberOf(request)] ?? 0) + 1;
	}
	return counts;
}

const kindsOf = ({ requests }: OwnWorld) =>
	requests.map(({ kind }) => kind).filter((kind) => kind !== 'poll');

describe('before any run is started', () => {
	test('each item is checked once, side by side', async () => {
		const { world, jsons } = await execute(checking({ count: 5, service: { tripMs: [200, 200] } }));
		expect(jsons.map(({ output }) => output)).toEqual(['0', '1', '2', '3', '4']);
		const checks = world.requests.filter(isCheck);
		expect(checksOf(world)).toEqual({ 0: 1, 1: 1, 2: 1, 3: 1, 4: 1 });
		const creates = world.requests.filter(({ kind }) => kind === 'create');
		const lastAnswerAt = Math.max(...checks.map(({ answeredAt }) => answeredAt));
		expect(Math.max(...checks.map(({ sentAt }) => sentAt))).toBeLessThan(lastAnswerAt - 100);
		expect(creates.every(({ sentAt }) => sentAt >= lastAnswerAt)).toBe(true);
	});

	test("no more are checked at a time than 'Max Concurrency' allows", async () => {
		const { world } = await execute(
			checking({ count: 9, service: { tripMs: [200, 200] }, options: { maxConcurrency: 2 } }),
		);
		const checks = world.requests.filter(isCheck);
		const beside = checks.map(
			({ sentAt }) =>
				checks.filter((other) => other.sentAt <= sentAt && other.answeredAt > sentAt).length,
		);
		expect(Math.max(...beside)).toBe(2);
	});

	test('a thousand items with ten different sets of values cost ten checks', async () => {
		const parameters = (item: number): IDataObject => ({
			parametersJson: JSON.stringify({ tag: `e0t0i${item}`, row: 1 }),
		});
		const hand = { parameters: (item: number) => parameters(item % 10) };
		const { world } = await execute(checking({ count: 1_000, waits: false, hand }));
		expect(world.requests.filter(isCheck)).toHaveLength(10);
		expect(world.runs).toHaveLength(1_000);
	});

	test('no more than a hundred checks are under way', async () => {
		const service = { tripMs: [4_000, 4_000] as [number, number] };
		const { world } = await execute(checking({ count: 250, waits: false, service }));
		const checks = world.requests.filter(isCheck);
		expect(checks).toHaveLength(250);
		const most = checks.map(
			({ sentAt: at }) =>
				checks.filter(({ sentAt, answeredAt }) => sentAt <= at && answeredAt > at).length,
		);
		expect(Math.max(...most)).toBe(100);
	});

	test('the same values are checked for each agent and each credential', async () => {
		const hand: Hand = {
			parameters: (item) => ({
				agentId: item % 2 === 0 ? 1 : 2,
				parametersJson: JSON.stringify({ tag: 'e0t0i0' }),
			}),
			credential: (item) =>
				Promise.resolve({
					baseUrl: 'https://agents.example.com/api/v1',
					apiKey: apiKeyOf(item < 2 ? 0 : 6),
				}),
		};
		const service = { agents: ['Reporter', 'Writer'] };
		const { world } = await execute(checking({ count: 4, waits: false, hand, service }));
		const asked = world.requests.filter(isCheck).map(({ url, key }) => `${key} ${url.slice(-6)}`);
		expect(asked.sort()).toEqual(['0 1/runs', '0 2/runs', '6 1/runs', '6 2/runs']);
	});

	test('an agent By Name is looked up once for checks and creates', async () => {
		const { world } = await execute(checking({ count: 3, agentMode: 'name', waits: false }));
		const kinds = kindsOf(world);
		const of = (kind: string) => [kind, kind, kind];
		expect(kinds).toEqual(['list', ...of('dryRun'), ...of('create')]);
	});

	test.each([{}, [], null, 'text', 7, { valid: false, error: 'odd' }])(
		'an answer such as %j counts as fine',
		async (body) => {
			const hand: Hand = {
				respond: ({ kind }) => (kind === 'dryRun' ? json(200, body) : undefined),
			};
			expect((await execute(checking({ hand }))).world.runs).toHaveLength(1);
		},
	);

	test('a check that a rate limit refuses waits for its turn', async () => {
		let refusals = 0;
		const hand: Hand = {
			respond: ({ kind }) =>
				kind === 'dryRun' && refusals++ < 3
					? { statusCode: 429, headers: { 'retry-after': '30' } }
					: undefined,
		};
		const { jsons, ms } = await execute(checking({ count: 3, hand }));
		expect(jsons).toHaveLength(3);
		expect(ms).toBeGreaterThan(30_000);
	});
});

describe('if items are wrong', () => {
	test('nothing is started, and the message names the first and says how many others there are', async () => {
		const hand = finding(2, 4, 5);
		const { world, error } = await execute(checking({ count: 7, hand }));
		expect(world.runs).toEqual([]);
		expect(checksOf(world)[6]).toBe(1);
		expect(error?.message).toBe(
			"Item 2 and 2 others did not pass the check: Parameter 'tag' of agent 1 cannot be 'e0t0i2'",
		);
		expect(error?.description).toContain('These items did not pass either: 4, 5.');
		expect(error?.description).toContain('so this attempt has started no run.');
		expect(error?.context).toMatchObject({ itemIndex: 2, details: { http_status: 400 } });
	});

	test('the message says that there is one other', async () => {
		const { error } = await execute(checking({ count: 4, hand: finding(1, 3) }));
		expect(error?.message).toMatch(/^Item 1 and 1 other did not pass the check: /);
		expect(error?.description).toContain('These items did not pass either: 3.');
	});

	test('the message of an only item that is wrong names it', async () => {
		const { error } = await execute(checking({ count: 2, hand: finding(1) }));
		expect(error?.message).toMatch(/^Item 1 did not pass the check: Parameter 'tag'/);
		expect(error?.description).not.toContain('either');
	});

	test('with Continue, the right ones run, and the others are error items in their places', async () => {
		const { world, jsons } = await execute(
			checking({ count: 4, hand: finding(0, 2), ...CONTINUES }),
		);
		expect([...world.started].sort()).toEqual([1, 3]);
		expect(jsons).toMatchObject([
			{ error: "Parameter 'tag' of agent 1 cannot be 'e0t0i0'" },
			{ output: '1' },
			{ error: "Parameter 'tag' of agent 1 cannot be 'e0t0i2'" },
			{ output: '3' },
		]);
	});

	test('all items that have the same values are', async () => {
		const parameters = (item: number) => ({
			parametersJson: JSON.stringify({ tag: `e0t0i${item % 2}` }),
		});
		const hand = { ...finding(1), parameters };
		const { world, jsons } = await execute(
			checking({ count: 6, hand, waits: false, ...CONTINUES }),
		);
		expect(world.requests.filter(isCheck)).toHaveLength(2);
		expect(jsons.map(({ error }) => error !== undefined)).toEqual([
			...[false, true, false, true, false, true],
		]);
	});

	test.each<[string, (item: number) => IDataObject, string]>([
		['parameters', (item) => (item === 1 ? { parametersJson: '{' } : {}), 'is not valid JSON'],
		[
			'expression',
			(item) =>
				Object.defineProperty({}, 'parametersJson', {
					enumerable: true,
					get: () => {
						if (item === 1) throw new Error('No such node');
						return JSON.stringify({ tag: `e0t0i${item}` });
					},
				}),
			'No such node',
		],
		['agent', (item) => (item === 1 ? { agentId: 99 } : {}), 'Agent 99 was not found'],
		[
			"agent's name",
			(item) => (item === 1 ? { agentId: { mode: 'name', value: 'Nobody' } } : {}),
			"No published agent is named 'Nobody'",
		],
		[
			'option',
			(item) => ({ options: { checkFirst: true, ...(item === 1 && { timeout: -1 }) } }),
			"'Time Limit (Seconds)' must be",
		],
	])('they may be so in their %s', async (_, parameters, message) => {
		const hand = { parameters };
		const { world, error } = await execute(checking({ count: 3, hand }));
		expect(world.runs).toEqual([]);
		expect(error?.message).toContain(`Item 1 did not pass the check: `);
		expect(error?.message).toContain(message);
		const continued = await execute(checking({ count: 3, hand, ...CONTINUES }));
		expect([...continued.world.started].sort()).toEqual([0, 2]);
		expect(continued.jsons[1]).toMatchObject({ error: expect.stringContaining(message) as string });
	});

	test.each([400, 401, 403, 404, 422])('the service may say so with %d', async (status) => {
		const error = { code: 'odd', message: 'No', request_id: 'r' };
		const hand: Hand = {
			respond: (seen) => (numberOf(seen) === 1 ? json(status, { error }) : undefined),
		};
		const { world } = await execute(checking({ count: 3, hand, waits: false, ...CONTINUES }));
		expect([...world.started].sort()).toEqual([0, 2]);
	});

	test('an item whose credential cannot be used is wrong alone', async () => {
		const hand: Hand = {
			credential: (item) =>
				item === 1
					? Promise.reject(new Error('No such credential'))
					: Promise.resolve({
							baseUrl: 'https://agents.example.com/api/v1',
							apiKey: apiKeyOf(0),
						}),
		};
		const { world } = await execute(checking({ count: 3, hand, ...CONTINUES }));
		expect([...world.started].sort()).toEqual([0, 2]);
	});
});

describe('if a check gets no answer', () => {
	const away = (item: number): Hand => ({
		respond: (seen) =>
			seen.kind === 'dryRun' && numberOf(seen) === item ? answerOf('badGateway', seen) : undefined,
	});

	test.each(['refused', 'timeout', 'badGateway', 'html200', 'redirect', 'certificate'] as const)(
		'since of %s, nothing is started',
		async (kind) => {
			const hand: Hand = { respond: (seen) => answerOf(kind, seen) };
			const { world, error } = await execute(checking({ count: 3, hand }));
			expect(world.requests.every(isCheck)).toBe(true);
			expect(error?.message).toMatch(/^Item \d could not be checked: /);
			expect(error?.description).toContain('so this attempt has started no run.');
			// It would not help.
			expect(error?.description).not.toContain('On Error');
		},
	);

	test('since a proxy has made a run of it, no run is started, and the message names that one', async () => {
		const hand: Hand = {
			respond: ({ kind }) =>
				kind === 'dryRun' ? json(202, { run_id: 'r1', status: 'pending' }) : undefined,
		};
		const { world, error } = await execute(checking({ count: 20, hand, ...CONTINUES }));
		// No other check is sent before the first one is answered.
		expect(world.requests).toHaveLength(1);
		expect(world.requests.every(isCheck)).toBe(true);
		expect(error).toBeUndefined();
		const { jsons } = world.seen(0);
		for (const { error: said } of jsons) {
			expect(said).toContain('started a run instead of a dry run (run r1 of agent ');
		}
		const { error: thrown } = await execute(checking({ count: 20, hand }));
		expect(thrown?.description).not.toContain('has started no run');
	});

	test('since a proxy has made a run of it, no item is sent as a dry run either', async () => {
		const hand: Hand = {
			parameters: (item) => ({ dryRun: item === 0 }),
			respond: ({ kind }) =>
				kind === 'dryRun' ? json(202, { run_id: 'r1', status: 'pending' }) : undefined,
		};
		const { world, jsons } = await execute(checking({ count: 2, hand, ...CONTINUES }));
		expect(world.requests).toHaveLength(1);
		for (const { error: said } of jsons) expect(said).toContain('instead of a dry run (run r1 of');
	});

	test('runs that several proxies make of checks at the same time are all named, and not begun again', async () => {
		let answered = 0;
		const hand: Hand = {
			respond: ({ kind }, own) => {
				if (kind !== 'dryRun' || ++answered === 1) return own();
				return json(202, { run_id: `r${answered}`, status: 'pending' });
			},
		};
		const said = { count: 6, hand, service: { tripMs: [1_000, 3_000] as [number, number] } };
		const started = ['r2', 'r3', 'r4', 'r5', 'r6'];
		const continued = await execute(checking({ ...said, ...CONTINUES }));
		const named = continued.jsons
			.slice(1)
			.map((json) => /\(run (r\d) of agent /.exec(JSON.stringify(json))?.[1]);
		expect(named.sort()).toEqual(started);

		answered = 0;
		const { world, error: first } = await execute(checking(said));
		const all = [...JSON.stringify(first?.context).matchAll(/"run_?id":"(r\d)"/gi)];
		expect([...new Set(all.map(([, id]) => id))].sort()).toEqual(started);
		delete hand.respond;
		const { error } = await world.retry({
			workflow: 'saved',
			edit: { options: { checkFirst: false } },
		});
		expect(error?.message).toContain('started a run instead of a dry run');
		expect(world.requests.filter(({ kind }) => kind === 'create')).toEqual([]);
	});

	test("nor is the item of that run begun by n8n's Retry, where checks have been turned off", async () => {
		const hand: Hand = {
			respond: ({ kind }) =>
				kind === 'dryRun' ? json(202, { run_id: 'r1', status: 'pending' }) : undefined,
		};
		const { world } = await execute(checking({ count: 1, hand }));
		const { error } = await world.retry({
			workflow: 'saved',
			edit: { options: { checkFirst: false } },
		});
		expect(error?.message).toContain('started a run instead of a dry run');
		expect(world.requests).toHaveLength(1);
	});

	test('nothing is started with Continue either, and each item says why or what is wrong with it', async () => {
		const hand: Hand = {
			respond: (seen) =>
				finding(1).respond?.(seen, () => WRONG) ?? away(2).respond?.(seen, () => WRONG),
		};
		const { world, jsons } = await execute(checking({ count: 4, hand, ...CONTINUES }));
		expect(world.runs).toEqual([]);
		const unchecked = expect.stringMatching(/^Item 2 could not be checked: /) as string;
		expect(jsons.map(({ error }) => error)).toEqual([
			unchecked,
			"Parameter 'tag' of agent 1 cannot be 'e0t0i1'",
			unchecked,
			unchecked,
		]);
	});

	test('an item that had to be given up before its check may not begin either', async () => {
		const memory = await Memory.open(contextOf({}), true);
		const failure = { message: 'Away', description: '', details: {} };
		const work = { time: new PassTime(), stopsAtFailure: false, concurrency: AUTOMATIC } as Work;
		await checkItems(work, memory, 2, async (_, index, signal) => {
			if (index === 0) throw new UnansweredError(failure);
			await new Promise((resolve) => signal.addEventListener('abort', resolve));
			return undefined;
		});
		expect([memory.item(0), memory.item(1)]).toMatchObject([{ is: 'failed' }, { is: 'failed' }]);
	});

	test('what other items have from an earlier attempt is kept', async () => {
		let checks = 0;
		const hand: Hand = {
			respond(seen, own) {
				if (numberOf(seen) === 0) return checks++ === 0 ? WRONG : answerOf('html200', seen);
				if (seen.kind !== 'create' || numberOf(seen) !== 2) return undefined;
				own();
				return answerOf('reset', seen);
			},
		};
		const { world, jsons } = await execute(checking({ count: 3, hand, maxTries: 2, ...CONTINUES }));
		expect(checksOf(world)).toEqual({ 0: 2, 1: 1, 2: 1 });
		expect(jsons).toMatchObject([
			{ error: expect.stringMatching(/^Item 0 could not be checked/) as string },
			{ output: '1' },
			{ error: expect.stringMatching(/^An earlier attempt may have started/) as string },
		]);
	});

	test('no more checks are begun', async () => {
		const hand: Hand = { respond: (seen) => answerOf('html200', seen) };
		const { world } = await execute(checking({ count: 500, hand }));
		expect(world.requests.length).toBeLessThanOrEqual(100);
	});

	test('nor is the list of agents read over and over', async () => {
		const hand: Hand = { respond: (seen) => answerOf('html200', seen) };
		const { world } = await execute(checking({ count: 500, hand, agentMode: 'name' }));
		expect(world.requests).toHaveLength(1);
	});
});

test('a credential that never comes ends the checks, and not each item after the other', async () => {
	const credentialAway = { fromMs: 0, forMs: 1e9, hangs: true };
	const { error, ms } = await execute(checking({ count: 40, credentialAway }));
	expect(error?.message).toContain("could not be checked: This node's credential cannot be used");
	expect(ms).toBeLessThan(40_000);
});

describe('in a Retry, the list of agents that cannot be read', () => {
	const retryWith = async (statusCode: number, stopAfterMs?: number) => {
		let isAway = false;
		const world = new OwnWorld(
			checking({
				count: 30,
				agentMode: 'name',
				runOf: (item) =>
					item === 29 ? { durationMs: 30_000, end: 'failed' } : { durationMs: 300_000 },
				hand: { respond: ({ kind }) => (isAway && kind === 'list' ? { statusCode } : undefined) },
			}),
		);
		await world.execute();
		isAway = true;
		const before = world.requests.length;
		if (stopAfterMs !== undefined) world.later(stopAfterMs, () => world.stop());
		const retried = await world.retry({ workflow: 'saved', edit: { values: 1 } });
		return { ...retried, sent: world.requests.slice(before) };
	};

	test.each([429, 503])(
		'is read in vain for one of the items that are left (%d)',
		async (status) => {
			const { error, ms, sent } = await retryWith(status);
			expect(error?.message).toContain('could not be checked');
			expect(ms).toBeLessThan(700_000);
			expect(sent.length).toBeLessThan(40);
		},
	);

	test('is not read any more once the execution is cancelled', async () => {
		const { attempt, sent } = await retryWith(429, 400_000);
		expect(attempt.cancelledAt).toBeDefined();
		expect(sent.filter(({ sentAt }) => sentAt > attempt.cancelledAt!)).toEqual([]);
	});
});

describe('what has passed or has begun is not checked again', () => {
	test('after a pause', async () => {
		const { world, parks } = await execute(
			checking({
				count: 3,
				options: { maxConcurrency: 1, timeout: 0 },
				runOf: () => ({ durationMs: 1_000_000 }),
			}),
		);
		expect(parks.length).toBeGreaterThan(2);
		expect(checksOf(world)).toEqual({ 0: 1, 1: 1, 2: 1 });
		expect([...world.started].sort()).toEqual([0, 1, 2]);
	});

	test('after a pause, whatever its expressions give by then', async () => {
		let evaluated = 0;
		const hand: Hand = {
			parameters: (item) => ({
				parametersJson: JSON.stringify({ tag: `e0t0i${item}`, now: ++evaluated }),
			}),
		};
		const { world, parks } = await execute(
			checking({
				count: 3,
				hand,
				options: { maxConcurrency: 1, timeout: 0 },
				runOf: () => ({ durationMs: 1_000_000 }),
			}),
		);
		expect(parks.length).toBeGreaterThan(2);
		expect(checksOf(world)).toEqual({ 0: 1, 1: 1, 2: 1 });
	});

	test('after a checkpoint', async () => {
		const { world } = await execute(checking({ count: 30, savesProgress: true }));
		expect(Object.values(checksOf(world))).toEqual(Array(30).fill(1));
	});

	test('by a Retry, which checks what did not pass', async () => {
		const hand = finding(1);
		const world = new OwnWorld(checking({ count: 3, hand }));
		await world.execute();
		expect(world.runs).toEqual([]);
		hand.wrong = [];
		const { jsons } = await world.retry();
		expect(jsons).toHaveLength(3);
		expect(checksOf(world)).toEqual({ 0: 1, 1: 2, 2: 1 });
	});

	test('by Retry On Fail', async () => {
		const { world } = await execute(checking({ count: 3, hand: finding(1), maxTries: 3 }));
		expect(checksOf(world)).toEqual({ 0: 1, 1: 3, 2: 1 });
	});

	test('after the last attempt of Retry On Fail', async () => {
		const world = new OwnWorld(
			checking({
				count: 2,
				maxTries: 2,
				runOf: () => ({ durationMs: 60_000, end: 'failed' }),
				options: { pollInterval: 65, maxConcurrency: 1 },
			}),
		);
		for (const item of world.world.executions[0]!.items) item.isVolatile = true;
		await world.execute();
		expect(kindsOf(world).at(-1)).toBe('create');
	});

	test('by a Retry after a run has failed', async () => {
		const world = new OwnWorld(
			checking({ count: 2, runOf: (item) => ({ end: item === 0 ? 'failed' : 'succeeded' }) }),
		);
		await world.execute();
		await world.retry();
		expect(checksOf(world)).toEqual({ 0: 1, 1: 1 });
		expect(world.started.filter((item) => item === 1)).toHaveLength(1);
	});

	test('after a crash', async () => {
		const world = new OwnWorld(
			checking({
				count: 12,
				savesProgress: true,
				runOf: () => ({ durationMs: 100_000 }),
				kills: [{ atMs: 60_000, awayMs: 5_000 }],
			}),
		);
		await world.execute();
		await world.retry();
		expect(Object.values(checksOf(world))).toEqual(Array(12).fill(1));
	});
});

describe('the option', () => {
	test.each([false, 'false', 0])('off (%j) checks nothing', async (checkFirst) => {
		const { world } = await execute({ options: { checkFirst: checkFirst as boolean } });
		expect(world.requests.filter(isCheck)).toEqual([]);
	});

	test('counts for all items as it is for the first one', async () => {
		const hand = { parameters: (item: number) => ({ options: { checkFirst: item === 0 } }) };
		const { world } = await execute({ count: 2, hand });
		expect(checksOf(world)).toEqual({ 0: 1, 1: 1 });
	});

	test('that is neither on nor off fails the items, and nothing is sent', async () => {
		const { world, error } = await execute({ options: { checkFirst: 'perhaps' } });
		expect(error?.message).toBe("'Check All Items First' must be true or false, not 'perhaps'");
		expect(world.requests).toEqual([]);
	});

	test('changes nothing of a dry run', async () => {
		const { world } = await execute(checking({ count: 2, operation: 'dryRun' }));
		expect(checksOf(world)).toEqual({ 0: 1, 1: 1 });
	});
});

test('a cancelled execution ends the checks, and starts nothing', async () => {
	const service = { tripMs: [10_000, 10_000] as [number, number] };
	const world = new OwnWorld(checking({ count: 300, service, cancelAtMs: 5_000 }));
	const { error, ms } = await world.execute();
	expect(error?.message).toBe('The execution was canceled');
	expect(ms).toBeLessThan(6_000);
	expect(world.requests.length).toBeLessThanOrEqual(100);
	expect(world.runs).toEqual([]);
});

test('a rate limit of some minutes is waited for, as it is before a run is started', async () => {
	let refused = false;
	const hand: Hand = {
		respond() {
			if (refused) return undefined;
			refused = true;
			return { statusCode: 429, headers: { 'retry-after': '301' } };
		},
	};
	expect((await execute(checking({ count: 3, hand }))).jsons).toHaveLength(3);
});

test("a dry run's answer may have an ID of its own", async () => {
	const answer = { run_id: 'dry', status: 'dry_run', prompt: 'x' };
	const hand: Hand = {
		respond: ({ kind }) => (kind === 'dryRun' ? json(200, answer) : undefined),
	};
	const { jsons } = await execute({ operation: 'dryRun', hand });
	expect(jsons).toEqual([answer]);
	const checked = await execute(checking({ count: 2, hand }));
	expect(checked.jsons.map(({ output }) => output)).toEqual(['0', '1']);
});
