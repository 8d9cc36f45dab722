import fc from 'fast-check';

import { readAgents, readKeptAgents } from '../../nodes/AgentInvocation/service/agents.ts';
import type { Service } from '../../nodes/AgentInvocation/service/service.ts';
import { systemClock as clock } from '../../nodes/AgentInvocation/clock.ts';
import { RateLimiter } from '../../nodes/AgentInvocation/service/rateLimiter.ts';
import { settle } from '../support/virtualTime.cts';

// What is read here is not how fast.
const limiter = { admit: () => Promise.resolve('send'), learn: () => {} };

const MOST_REQUESTS = 1_000;

let lists = 0;

/** A service whose pages come from `page`; gives what was read and how many requests it took. */
async function read(
	page: (limit: number, offset: number) => { ids: number[]; total?: unknown },
	{ limit = Infinity, offset = 0, filter = '' } = {},
) {
	const asked: Array<{ limit: number; offset: number }> = [];
	const service = {
		baseUrl: '',
		limiter,
		send({ query }: { query: { limit: number; offset: number } }) {
			asked.push(query);
			if (asked.length > MOST_REQUESTS) throw new Error('it loops');
			const { ids, total } = page(query.limit, query.offset);
			const agents = ids.map((id) => ({ id, name: `Agent ${id}` }));
			return Promise.resolve({ kind: 'ok', status: 200, body: { agents, pagination: { total } } });
		},
	};
	const patience = { clock, patienceMs: Infinity };
	const selection = { limit, offset, filter };
	const agents = await readAgents(service as unknown as Service, selection, patience);
	if (!agents.ok) throw new Error(agents.failure.message);
	return { ids: agents.value.map(({ id }) => id), asked };
}

const ids = (from: number, to: number) =>
	Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);

/** A sound list of `total` agents with ids from 0. */
const sound = (total: number) => (limit: number, offset: number) => ({
	ids: ids(offset, Math.min(total, offset + limit)),
	total,
});

test('every agent comes once, whatever the pages hold', async () => {
	await fc.assert(
		fc.asyncProperty(
			fc.integer({ min: 0, max: 400 }),
			fc.integer({ min: 1, max: 100 }),
			fc.integer({ min: 0, max: 50 }),
			async (total, pageSize, offset) => {
				const { ids: given } = await read(
					(limit, from) => ({
						ids: ids(from, Math.min(total, from + limit, from + pageSize)),
						total,
					}),
					{ offset },
				);
				expect(given).toEqual(ids(offset, total));
			},
		),
	);
});

test('a limit over 100 takes several pages and no agent too many', async () => {
	const { ids: given, asked } = await read(sound(500), { limit: 230 });
	expect(given).toEqual(ids(0, 230));
	expect(asked.map(({ limit }) => limit)).toEqual([100, 100, 30]);
});

test('a filter gives what filtering the whole list would, and reads no further than that takes', async () => {
	await fc.assert(
		fc.asyncProperty(
			fc.integer({ min: 0, max: 400 }),
			fc.oneof(fc.integer({ min: 1, max: 60 }), fc.constant(Infinity)),
			fc.integer({ min: 0, max: 30 }),
			fc.constantFrom('agent', 'AGENT 1', '7', 'nobody'),
			async (total, limit, offset, filter) => {
				const { ids: given, asked } = await read(sound(total), { limit, offset, filter });
				const name = filter.toLowerCase();
				const matching = ids(0, total).filter((id) => `agent ${id}`.includes(name));
				expect(given).toEqual(matching.slice(offset, offset + limit));
				const last = matching[offset + limit - 1] ?? Math.max(total - 1, 0);
				expect(asked).toHaveLength(Math.floor(last / 100) + 1);
			},
		),
	);
});

test('it ends at an empty page when the total is too high, missing or no number', async () => {
	for (const total of [9_999, undefined, null, 'many']) {
		const { ids: given, asked } = await read((limit, offset) => ({
			ids: ids(offset, Math.min(150, offset + limit)),
			total,
		}));
		expect(given).toEqual(ids(0, 150));
		expect(asked).toHaveLength(3);
	}
});

test('it ends when a page repeats, and gives an agent that stands on two pages once', async () => {
	const repeating = await read(() => ({ ids: ids(0, 100), total: 9_999 }));
	expect(repeating.ids).toEqual(ids(0, 100));
	expect(repeating.asked).toHaveLength(2);

	const shifted = await read((limit, offset) => {
		const from = offset === 0 ? 0 : offset - 10;
		return { ids: ids(from, Math.min(190, from + limit)), total: 200 };
	});
	expect(shifted.ids).toEqual(ids(0, 190));
});

/** Reads a list whose one page has these agents, and nothing else. */
async function readOne(agents: object[], filter = '', limit = Infinity) {
	const send = () => Promise.resolve({ kind: 'ok', status: 200, body: { agents } });
	const service = { baseUrl: '', limiter, send } as unknown as Service;
	const patience = { clock, patienceMs: Infinity };
	const read = await readAgents(service, { limit, offset: 0, filter }, patience);
	return read.ok ? read.value : read;
}

test('agents without an ID are told apart, and no more are given than were asked for', async () => {
	const agents = [{ name: 'one' }, { name: 'two' }];
	expect(await readOne(agents)).toEqual(agents);
	expect(await readOne(agents, '', 1)).toEqual([{ name: 'one' }]);
});

test('an agent that comes twice is the first one', async () => {
	expect(
		await readOne([
			{ id: 1, name: 'one' },
			{ id: 1, name: 'two' },
		]),
	).toEqual([{ id: 1, name: 'one' }]);
});

test('a filter looks at names and descriptions, and at nothing else', async () => {
	const agents = [
		{ id: 1, name: 'A' },
		{ id: 2, name: 'B', description: 'Reports' },
	];
	expect(await readOne(agents, 'report')).toEqual([agents[1]]);
	for (const filter of ['e', 'undefined']) {
		expect(await readOne([agents[0]!], filter)).toEqual([]);
	}
});

test('a filter that a whole page satisfies reads no other', async () => {
	const { asked } = await read(sound(300), { limit: 100, filter: 'agent' });
	expect(asked).toHaveLength(1);
});

test('each page has its own patience', async () => {
	let now = 0;
	const slow = { ...clock, now: () => now };
	const service = {
		baseUrl: '',
		limiter: new RateLimiter(slow),
		send({ query: { limit, offset } }: { query: { limit: number; offset: number } }) {
			now += 900;
			const agents = ids(offset, offset + limit).map((id) => ({ id }));
			return Promise.resolve({ kind: 'ok', body: { agents, pagination: { total: 300 } } });
		},
	};
	const patience = { clock: slow, patienceMs: 1_000 };
	const range = { limit: Infinity, offset: 0 };
	const agents = await readAgents(service as unknown as Service, range, patience);
	expect(agents).toMatchObject({ ok: true, value: { length: 300 } });
});

test('it never loops and never gives an agent twice, whatever a service answers', async () => {
	await fc.assert(
		fc.asyncProperty(
			fc.array(fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 20 }), { minLength: 1 }),
			fc.anything(),
			async (pages, total) => {
				let next = 0;
				const { ids: given } = await read(() => ({ ids: pages[next++ % pages.length]!, total }));
				expect(new Set(given).size).toBe(given.length);
			},
		),
	);
});

describe('in the editor', () => {
	beforeEach(() => jest.useFakeTimers());
	afterEach(() => jest.useRealTimers());

	test('a list is waited for only briefly', async () => {
		const service = {
			baseUrl: '',
			key: 'brief',
			limiter: new RateLimiter(clock),
			send: () => Promise.resolve({ kind: 'rateLimited', status: 429, retryAfter: '6' }),
		} as unknown as Service;
		const began = clock.now();
		expect(await settle(readKeptAgents(service, 'list', 1))).toMatchObject({ ok: false });
		expect(clock.now() - began).toBeLessThanOrEqual(10_000);
	});
});

describe('a list that is kept', () => {
	/** Asks as the editor does, at a time of its own; gives how many pages were read by then. */
	function asking() {
		let [now, pages] = [0, 0];
		const service = {
			baseUrl: '',
			key: `kept ${++lists}`,
			limiter,
			send() {
				pages++;
				const body = { agents: [{ id: 1 }], pagination: { total: 1 } };
				return Promise.resolve({ kind: 'ok', body });
			},
		} as unknown as Service;
		const patience = { clock: { ...clock, now: () => now }, patienceMs: Infinity };
		return async (question: string, afterMs = 0) => {
			now += afterMs;
			const agents = await readKeptAgents(service, question, 100, undefined, patience);
			expect(agents).toMatchObject({ ok: true });
			return pages;
		};
	}

	test('is read anew when the same is asked again', async () => {
		const ask = asking();
		expect(await ask('list')).toBe(1);
		expect(await ask('parameters', 60_000)).toBe(1);
		expect(await ask('list')).toBe(2);
	});

	test('is read anew after a minute', async () => {
		const ask = asking();
		expect(await ask('list')).toBe(1);
		expect(await ask('search', 60_001)).toBe(2);
		expect(await Promise.all([ask('one'), ask('two')])).toEqual([2, 2]);
		expect(await ask('parameters', 60_001)).toBe(3);
	});
});
