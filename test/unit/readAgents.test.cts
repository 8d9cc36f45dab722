import fc from 'fast-check';

import { readAgents, readKeptAgents } from '../../nodes/AgentInvocation/service/agents.ts';
import type { Service } from '../../nodes/AgentInvocation/service/service.ts';
import { systemClock as clock } from '../../nodes/AgentInvocation/clock.ts';
import { RateLimiter } from '../../nodes/AgentInvocation/service/rateLimiter.ts';

// What is read here is not how fast.
const limiter = { admit: () => Promise.resolve('send'), learn: () => {} };

const MOST_REQUESTS = 1_000;

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

test('a list that is kept is read anew after a minute, and at once when the same is asked again', async () => {
	let now = 0;
	let pages = 0;
	const turned = { ...clock, now: () => now };
	const service = {
		baseUrl: '',
		key: 'kept for a minute',
		limiter,
		send() {
			pages++;
			return Promise.resolve({
				kind: 'ok',
				body: { agents: [{ id: 1 }], pagination: { total: 1 } },
			});
		},
	} as unknown as Service;
	const patience = { clock: turned, patienceMs: Infinity };
	const ask = async (question: string) => {
		expect(await readKeptAgents(service, question, 100, undefined, patience)).toMatchObject({
			ok: true,
		});
		return pages;
	};
	expect(await ask('list')).toBe(1);
	now += 60_000;
	expect(await ask('parameters')).toBe(1);
	expect(await ask('list')).toBe(2);
	now += 60_001;
	expect(await ask('search')).toBe(3);
	const both = await Promise.all([ask('one'), ask('two')]);
	expect(both).toEqual([3, 3]);
});
