import fc from 'fast-check';

import { readAgents, readKeptAgents } from '../../nodes/AgentInvocation/service/agents.ts';
import { isAgentPage, toAgent } from '../../nodes/AgentInvocation/service/types.ts';
import type { Service } from '../../nodes/AgentInvocation/service/service.ts';
import { clock } from '../../nodes/AgentInvocation/clock.ts';
import { RateLimiter } from '../../nodes/AgentInvocation/service/rateLimiter.ts';
import { execute } from '../support/simulation/ownWorld.cts';
import { json } from '../support/simulation/world/answers.cts';
import { settle } from '../support/virtualTime.cts';
import { settled } from '../support/outcome.cts';

// What is read here is not how fast.
const limiter = { admit: () => Promise.resolve('send'), learn: () => {} };

const MOST_REQUESTS = 3_500;

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
		renew: () => Promise.resolve(undefined),
		send({ query }: { query: { limit: number; offset: number } }) {
			asked.push(query);
			if (asked.length > MOST_REQUESTS) throw new Error('it loops');
			const { ids, total } = page(query.limit, query.offset);
			const agents = ids.map((id) => ({ id, name: `Agent ${id}` }));
			return Promise.resolve({ kind: 'ok', status: 200, body: { agents, pagination: { total } } });
		},
	};
	const patience = { patienceMs: Infinity };
	const selection = { limit, offset, filter };
	const agents = await readAgents(service as unknown as Service, selection, patience);
	return { ids: agents.map(({ id }) => id), asked };
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
				// One more page tells that nothing comes after a full one.
				const last = matching[offset + limit - 1] ?? total;
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
		// Where agents seem to be missing, once more.
		expect(asked).toHaveLength(total === 9_999 ? 6 : 3);
	}
});

test('it ends when a page repeats, and gives an agent that stands on two pages once', async () => {
	const repeating = await read(() => ({ ids: ids(0, 100), total: 9_999 }));
	expect(repeating.ids).toEqual(ids(0, 100));
	expect(repeating.asked).toHaveLength(4);

	const shifted = await read((limit, offset) => {
		const from = offset === 0 ? 0 : offset - 10;
		return { ids: ids(from, Math.min(190, from + limit)), total: 200 };
	});
	expect(shifted.ids).toEqual(ids(0, 190));
});

describe('a list that changes while it is read', () => {
	/** Reads a list of 250 that `change` may change before each page. */
	async function readChanging(change: (list: number[], page: number) => unknown, limit = Infinity) {
		const list = ids(0, 250);
		const shown = new Set<number>();
		let page = 0;
		const given = await read(
			(limit, offset) => {
				change(list, page++);
				const ids = list.slice(offset, offset + limit);
				for (const id of ids) shown.add(id);
				return { ids, total: list.length };
			},
			{ limit },
		);
		return { ...given, shown };
	}

	test.each([1, 2])('gives every agent that stays, where one goes before page %d', async (when) => {
		const { ids: given } = await readChanging((list, page) => {
			if (page === when) list.splice(50, 1);
		});
		expect(given).toEqual(ids(0, 250).filter((id) => id !== 50));
	});

	test('gives the new one too, where one comes', async () => {
		const { ids: given, asked } = await readChanging((list, page) => {
			if (page === 1) list.splice(50, 0, 999);
		});
		expect(given).toEqual([...ids(0, 50), 999, ...ids(50, 250)]);
		expect(asked).toHaveLength(2 + 3);
	});

	test('is read to the limit, and no further', async () => {
		const { ids: given } = await readChanging((list, page) => {
			if (page === 1) list.splice(50, 1);
		}, 120);
		expect(given).toEqual(ids(0, 121).filter((id) => id !== 50));
	});

	test.each([1, 2, 3])(
		'gives every agent, where their order changes before page %d',
		async (when) => {
			const { ids: given } = await readChanging((list, page) => page === when && list.reverse());
			expect(given.sort((one, other) => one! - other!)).toEqual(ids(0, 250));
		},
	);

	test('at every page is read three times, and misses none that a reading has found', async () => {
		const { ids: given, asked, shown } = await readChanging((list) => list.shift());
		expect(asked).toHaveLength(2 + 2 + 3);
		expect(given).toHaveLength(shown.size);
		expect(new Set(given)).toEqual(shown);
	});
});

test.each([0, 30, 100, 149, 150])(
	'a total of %d, which is too low, ends no list of 180',
	async (total) => {
		const full = await read((limit, offset) => ({
			ids: ids(offset, Math.min(180, offset + limit)),
			total,
		}));
		expect(full.ids).toEqual(ids(0, 180));
	},
);

test.each([0, 30, 49])('nor does a total of %d one whose pages are short', async (total) => {
	const short = await read((_, offset) => ({
		ids: ids(offset, Math.min(180, offset + 50)),
		total,
	}));
	expect(short.ids).toEqual(ids(0, 180));
});

test('what is no agent among agents is passed over, and counts on the page', async () => {
	const entries = [null, { id: 1 }, 'odd', [2], { id: 3 }, 7];
	expect(await readOne(entries as object[])).toEqual([{ id: 1 }, { id: 3 }]);
});

/** Reads a list whose one page has these agents, and nothing else. */
async function readOne(agents: object[], filter = '', limit = Infinity) {
	const send = () => Promise.resolve({ kind: 'ok', status: 200, body: { agents } });
	const service = {
		baseUrl: '',
		limiter,
		renew: () => Promise.resolve(undefined),
		send,
	} as unknown as Service;
	const patience = { patienceMs: Infinity };
	const read = await readAgents(service, { limit, offset: 0, filter }, patience);
	return read.map(({ asItCame }) => asItCame);
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
	jest.useFakeTimers();
	const service = {
		limiter: new RateLimiter(),
		renew: () => Promise.resolve(undefined),
		send({ query: { limit, offset } }: { query: { limit: number; offset: number } }) {
			jest.advanceTimersByTime(900);
			const agents = ids(offset, Math.min(300, offset + limit)).map((id) => ({ id }));
			return Promise.resolve({ kind: 'ok', body: { agents, pagination: { total: 300 } } });
		},
	};
	const range = { limit: Infinity, offset: 0 };
	const reading = readAgents(service as unknown as Service, range, { patienceMs: 1_000 });
	expect(await settle(reading)).toHaveLength(300);
	jest.useRealTimers();
});

test('it ends where a service has always another agent, whether its total moves or not', async () => {
	for (const total of [7, undefined, 'moving']) {
		let next = 0;
		const page = (limit: number) => ({
			ids: ids(next, (next += limit)),
			total: total === 'moving' ? next : total,
		});
		await expect(read(page)).rejects.toThrow("The service's list of agents does not end");
	}
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
			limiter: new RateLimiter(),
			renew: () => Promise.resolve(undefined),
			send: () => Promise.resolve({ kind: 'rateLimited', status: 429, retryAfter: '6' }),
		} as unknown as Service;
		const began = clock.now();
		const reading = settled(readKeptAgents(service, { place: 'list', asks: '' }, 1));
		expect(await settle(reading)).toMatchObject({ ok: false });
		expect(clock.now() - began).toBeLessThanOrEqual(10_000);
	});
});

describe('a list that is kept', () => {
	beforeEach(() => jest.useFakeTimers());
	afterEach(() => jest.useRealTimers());

	/** Asks as the editor does, at a time of its own; gives how many pages were read by then. */
	function asking() {
		let pages = 0;
		const service = {
			baseUrl: '',
			key: `kept ${++lists}`,
			limiter,
			renew: () => Promise.resolve(undefined),
			send() {
				pages++;
				const body = { agents: [{ id: 1 }], pagination: { total: 1 } };
				return Promise.resolve({ kind: 'ok', body });
			},
		} as unknown as Service;
		return async (place: string, asks = '', afterMs = 0) => {
			jest.advanceTimersByTime(afterMs);
			await readKeptAgents(service, { place, asks }, 100);
			return pages;
		};
	}

	test('is read again when the same is asked again', async () => {
		const ask = asking();
		expect(await ask('list')).toBe(1);
		expect(await ask('parameters', '', 60_000)).toBe(1);
		expect(await ask('list')).toBe(2);
	});

	test('is not read again for a text that was typed before', async () => {
		const ask = asking();
		for (const text of ['', 'sal', 'sale', 'sal', '', 'sal'])
			expect(await ask('list', text)).toBe(1);
		expect(await ask('list', 'sal')).toBe(2);
	});

	test('is read again by the place that asks again, whatever others ask between', async () => {
		const ask = asking();
		await ask('fields', '2');
		await ask('descriptions', '2');
		await ask('list from 100');
		expect(await ask('fields', '2')).toBe(2);
		expect(await ask('fields', '3')).toBe(2);
	});

	test('is read again after a minute', async () => {
		const ask = asking();
		expect(await ask('list')).toBe(1);
		expect(await ask('search', '', 60_001)).toBe(2);
		expect(await Promise.all([ask('one'), ask('two')])).toEqual([2, 2]);
		expect(await ask('parameters', '', 60_001)).toBe(3);
	});
});

test('an agent has fields of the documented types, whatever came', () => {
	const parameters = [
		null,
		'odd',
		{ name: 7, required: 'false', description: { en: 'x' } },
		{ name: { en: 'region' }, required: true },
		{ name: '' },
		{ required: true },
		{ name: '7', required: true, description: 'again' },
		{ name: true, required: true, description: 5 },
	];
	const asItCame = { id: ' 42 ', name: null, description: ['odd'], parameters };
	expect(toAgent(asItCame)).toEqual({
		id: 42,
		name: '',
		description: '',
		parameters: [
			{ name: '7', required: false, description: '' },
			{ name: 'true', required: true, description: '5' },
		],
		asItCame,
	});
	for (const id of [undefined, null, '', 'x', -1, 1.5, 2 ** 53, {}, [7]]) {
		expect(toAgent({ id })).toMatchObject({ id: undefined, parameters: [] });
	}
	expect(toAgent({ parameters: 'odd' }).parameters).toEqual([]);
	expect(toAgent({ parameters: { name: 'odd' } }).parameters).toEqual([]);
});

test.each([
	[{ agents: [] }, true],
	[{ agents: [null, { id: 1 }] }, true],
	[{ agents: [null, 'odd'] }, false],
	[{ agents: null, pagination: { total: 0 } }, true],
	[{ agents: null }, false],
	[{ agents: {} }, false],
	[{}, false],
	[[], false],
])('that %j is a page of agents: %p', (body, expected) => {
	expect(isAgentPage(body)).toBe(expected);
});

test.each(['Προσ', 'προσ', 'ΠΡΟΣ', 'Προ'])('a filter finds a Greek name: %s', async (filter) => {
	const agents = [{ id: 1, name: 'Προσωπικό', description: null, parameters: [] }];
	const { jsons } = await execute({
		operation: 'list',
		hand: {
			respond: () => json(200, { agents, pagination: { total: 1 } }),
			parameters: () => ({ options: { filter } }),
		},
	});
	expect(jsons).toHaveLength(1);
});
