import { getEventListeners } from 'node:events';

import fc from 'fast-check';

import { PassTime, clock } from '../../nodes/AgentInvocation/clock.ts';
import { NOT_BEGUN, type Item } from '../../nodes/AgentInvocation/item.ts';
import { AUTOMATIC, fixedAt } from '../../nodes/AgentInvocation/items/concurrency.ts';
import { Loop } from '../../nodes/AgentInvocation/items/loop.ts';
import type { Waits } from '../../nodes/AgentInvocation/items/waits.ts';
import type { Idle, Work } from '../../nodes/AgentInvocation/items/work.ts';
import { whenToPark } from '../../nodes/AgentInvocation/items/whenToPark.ts';
import { settle } from '../support/virtualTime.cts';
import { waitingItem } from './waitingItem.cts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const pass = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const done: Item = { is: 'done', outputs: [] };
const failed: Item = {
	is: 'failed',
	failure: { message: 'no', description: '', details: {} },
};
const notBegun = (): Item => NOT_BEGUN;
const known = (): Item => ({ is: 'notBegun', earlier: done });
/** @param dueAt by the clock */
const waiting = (dueAt: number) => waitingItem({ dueOn: clock.date() + dueAt - clock.now() });
/** The item stays as it was. */
const stopped = undefined;

type Act = (index: number, signal: AbortSignal) => Promise<Item | undefined>;

interface Acts extends Omit<Work, 'begin' | 'poll' | 'idle'> {
	begin: Act;
	poll: Act;
	idle: (waits: Waits) => Idle | Promise<Idle>;
	ended: (index: number) => void;
}

/** A loop over so many items, or over these. */
function loopOf(given: number | Item[], acts: Partial<Acts>) {
	const states = typeof given === 'number' ? Array.from({ length: given }, notBegun) : given;
	const { begin, poll, idle, ended, ...work } = acts;
	let isSetUp = false;
	const items = {
		item: (index: number) => states[index]!,
		note: (index: number, item: Item) => {
			states[index] = item;
			if (isSetUp && ['done', 'failed'].includes(item.is)) ended?.(index);
		},
	};
	const loop = new Loop(
		{
			concurrency: fixedAt(10),
			stopsAtFailure: false,
			checkpoints: false,
			time: new PassTime(),
			pollsFrom: -Infinity,
			begin: async (item, index, signal) => (begin ? ((await begin(index, signal)) ?? item) : done),
			poll: async (item, index, signal) => (poll ? ((await poll(index, signal)) ?? item) : done),
			idle: async (waits) => (idle ? await idle(waits) : { is: 'sleep', until: Infinity }),
			...work,
		},
		items,
		states.length,
	);
	isSetUp = true;
	return { loop, states, end: () => settle(loop.run()) };
}

test('items are begun in order, each once, polled when due, and never too many at a time', async () => {
	const plan = fc.record({ ms: fc.nat(20), fails: fc.boolean(), polls: fc.nat(3) });
	await fc.assert(
		fc.asyncProperty(
			fc.array(plan, { maxLength: 60 }),
			fc.integer({ min: 1, max: 12 }),
			async (plans, concurrency) => {
				const begun: number[] = [];
				const ended: number[] = [];
				const polls = plans.map(() => 0);
				const dueAt = plans.map(() => 0);
				const step = (index: number): Item => {
					if (polls[index]! < plans[index]!.polls) {
						dueAt[index] = clock.now() + plans[index]!.ms;
						return waiting(dueAt[index]);
					}
					return plans[index]!.fails ? failed : done;
				};
				const { states, end } = loopOf(plans.length, {
					concurrency: fixedAt(concurrency),
					async begin(index) {
						begun.push(index);
						expect(begun.length - ended.length).toBeLessThanOrEqual(concurrency);
						await pass(plans[index]!.ms);
						return step(index);
					},
					async poll(index) {
						expect(clock.now()).toBeGreaterThanOrEqual(dueAt[index]!);
						polls[index]!++;
						await pass(1);
						return step(index);
					},
					ended: (index) => ended.push(index),
				});
				expect(await end()).toEqual({ is: 'worked' });
				expect(begun).toEqual([...plans.keys()]);
				expect([...ended].sort((a, b) => a - b)).toEqual([...plans.keys()]);
				expect(states.map(({ is }) => is)).toEqual(
					plans.map(({ fails }) => (fails ? 'failed' : 'done')),
				);
				expect(polls).toEqual(plans.map((one) => one.polls));
			},
		),
	);
});

test('a failure that ends the loop begins no further item and waits for those under way', async () => {
	const begun: number[] = [];
	const ended: number[] = [];
	const { states, end } = loopOf(100, {
		concurrency: fixedAt(3),
		stopsAtFailure: true,
		async begin(index, signal) {
			begun.push(index);
			await pass(index === 1 ? 5 : 30);
			if (index === 1) return failed;
			return signal.aborted && index === 2 ? stopped : done;
		},
		ended: (index) => ended.push(index),
	});
	expect(await end()).toMatchObject({ is: 'failed', index: 1 });
	expect(begun).toEqual([0, 1, 2]);
	// What they learned in the meantime is kept, and what was stopped is as it was.
	expect(ended).toEqual([1, 0]);
	expect(states.slice(0, 4).map(({ is }) => is)).toEqual([
		'done',
		'failed',
		'notBegun',
		'notBegun',
	]);
});

test('an item that has failed already ends the loop before anything is begun', async () => {
	const { states, end } = loopOf([failed, notBegun()], {
		stopsAtFailure: true,
	});
	expect(await end()).toMatchObject({ is: 'failed', index: 0 });
	expect(states[1]).toEqual(NOT_BEGUN);
});

test('10,000 items work', async () => {
	const worked = new Set<number>();
	const { end } = loopOf(10_000, {
		concurrency: fixedAt(1_000),
		begin: () => Promise.resolve(waiting(clock.now() + 100)),
		ended: (index) => worked.add(index),
	});
	await end();
	expect(worked.size).toBe(10_000);
});

test('cancelling aborts those under way and begins no further item', async () => {
	const cancelling = new AbortController();
	let begun = 0;
	const { end } = loopOf(100, {
		concurrency: fixedAt(2),
		cancel: cancelling.signal,
		async begin(index, signal) {
			begun++;
			await pass(3);
			if (index === 1) cancelling.abort();
			await pass(3);
			return signal.aborted ? stopped : done;
		},
	});
	expect(await end()).toEqual({ is: 'cancelled' });
	expect(begun).toBe(2);
});

test('cancelling ends the loop while it sleeps', async () => {
	const cancelling = new AbortController();
	let polls = 0;
	const { end } = loopOf(3, {
		cancel: cancelling.signal,
		begin: () => Promise.resolve(waiting(Infinity)),
		poll: () => Promise.resolve((polls++, done)),
	});
	setTimeout(() => cancelling.abort(), 1_000);
	expect(await end()).toEqual({ is: 'cancelled' });
	expect(polls).toBe(0);
});

test('a checkpoint comes once the first items have begun, and before any other does', async () => {
	const begun: number[] = [];
	const { states, end } = loopOf(25, {
		concurrency: fixedAt(5),
		checkpoints: true,
		async begin(index) {
			begun.push(index);
			await pass(index === 0 ? 1 : 50);
			return index === 0 ? done : waiting(clock.now() + 10);
		},
		poll: async (_index, signal) => {
			await pass(1_000);
			return signal.aborted ? stopped : waiting(clock.now());
		},
	});
	expect(await end()).toEqual({ is: 'checkpoint' });
	expect(begun).toEqual([0, 1, 2, 3, 4]);
	expect(states.map(({ is }) => is).slice(0, 6)).toEqual([
		'done',
		...Array<string>(4).fill('waiting'),
		'notBegun',
	]);
});

test('there is no checkpoint where nothing is left to do', async () => {
	expect(await loopOf(3, { checkpoints: true }).end()).toEqual({ is: 'worked' });
});

test('cancelling while an item begins ends the loop as well', async () => {
	const cancelling = new AbortController();
	const { end } = loopOf(1, {
		cancel: cancelling.signal,
		begin: (_, signal) =>
			new Promise((resolve) => {
				signal.addEventListener('abort', () => resolve(stopped));
				cancelling.abort();
			}),
	});
	expect(await end()).toEqual({ is: 'cancelled' });
});

test.each<[string, number, Work['concurrency'], number]>([
	['all have begun', 2, { onTrial: 2, most: 10 }, 0],
	['no more may be under way than at first', 3, fixedAt(2), 0],
	['one is done, and as many as may be are under way', 4, { onTrial: 1, most: 2 }, 1],
])('where %s, nothing is waited for before the loop may end', async (_, items, concurrency, ok) => {
	const { end } = loopOf(items, {
		concurrency,
		begin: (index) => Promise.resolve(index < ok ? done : waiting(clock.now() + 100_000)),
		idle: () => ({ is: 'park', until: clock.now() }),
	});
	const now = clock.now();
	expect(await end()).toEqual({ is: 'parked', until: now });
});

test('nothing under way, the loop ends for as long as it is told to', async () => {
	const { states, end } = loopOf(2, {
		begin: () => Promise.resolve(waiting(clock.now() + 100_000)),
		idle: ({ dueAt }) => ({ is: 'park', until: dueAt }),
	});
	const now = clock.now();
	expect(await end()).toEqual({ is: 'parked', until: now + 100_000 });
	expect(states.map(({ is }) => is)).toEqual(['waiting', 'waiting']);
});

describe('automatic concurrency', () => {
	/** Begins 100 items that are done when `endOf` says; gives when each began. */
	const begunAt = async (endOf: (index: number) => number, stopsAtFailure = false) => {
		const from = clock.now();
		const at: number[] = [];
		const { end } = loopOf(100, {
			concurrency: AUTOMATIC,
			stopsAtFailure,
			begin: (index) => {
				at[index] = clock.now() - from;
				return Promise.resolve(waiting(from + endOf(index)));
			},
			poll: (index) => Promise.resolve(stopsAtFailure && index === 3 ? failed : done),
			idle: ({ dueAt }) => ({ is: 'park', until: dueAt }),
		});
		return { at, end: await end() };
	};

	test('ten items show the way; all others begin once one of them is done', async () => {
		const { at } = await begunAt((index) => (index === 4 ? 2_000 : 60_000));
		expect(at.slice(0, 10)).toEqual(Array<number>(10).fill(0));
		expect(at.slice(10)).toEqual(Array<number>(90).fill(2_000));
	});

	test('or once all ten have gone on for five seconds, before anything is parked', async () => {
		const { at, end } = await begunAt(() => 600_000);
		expect(at.slice(0, 10)).toEqual(Array<number>(10).fill(0));
		expect(at.slice(10)).toEqual(Array<number>(90).fill(5_000));
		expect(end.is).toBe('parked');
	});

	test('a failure costs ten runs at most where the node stops at it', async () => {
		const { at, end } = await begunAt((index) => (index === 3 ? 4_000 : 60_000), true);
		expect(at).toHaveLength(10);
		expect(end).toMatchObject({ is: 'failed', index: 3 });
	});

	test('while all fail, ten at a time are tried', async () => {
		let most = 0;
		let atWork = 0;
		const { end, states } = loopOf(60, {
			concurrency: AUTOMATIC,
			async begin() {
				most = Math.max(most, ++atWork);
				await pass(7_000);
				atWork--;
				return failed;
			},
		});
		expect(await end()).toEqual({ is: 'worked' });
		expect(states.every(({ is }) => is === 'failed')).toBe(true);
		expect(most).toBe(10);
	});

	test('after a rest, ten that have gone on are enough', async () => {
		const before = Array.from({ length: 10 }, () => waiting(clock.now() + 90_000));
		await settle(pass(65_000));
		let begun = 0;
		const { end } = loopOf([...before, ...Array.from({ length: 40 }, notBegun)], {
			concurrency: AUTOMATIC,
			begin: () => Promise.resolve((begun++, waiting(clock.now() + 90_000))),
			idle: () => ({ is: 'park', until: clock.now() }),
		});
		const now = clock.now();
		expect(await end()).toEqual({ is: 'parked', until: now });
		expect(begun).toBe(40);
	});

	test('10,000 items are not all begun in one go', async () => {
		let most = 0;
		let beginning = 0;
		const { end } = loopOf(10_000, {
			concurrency: AUTOMATIC,
			async begin() {
				most = Math.max(most, ++beginning);
				await pass(1);
				beginning--;
				return done;
			},
		});
		expect(await end()).toEqual({ is: 'worked' });
		expect(most).toBe(100);
	});
});

describe('a checkpoint', () => {
	test('comes once the first items have begun to the end, and not while they begin', async () => {
		const asked: boolean[] = [];
		const { states, end } = loopOf(3, {
			concurrency: fixedAt(2),
			checkpoints: true,
			async begin(index, signal) {
				await pass(100 * (index + 1));
				asked.push(signal.aborted);
				return waiting(clock.now() + 60_000);
			},
		});
		expect(await end()).toEqual({ is: 'checkpoint' });
		expect(asked).toEqual([false, false]);
		expect(states.map(({ is }) => is)).toEqual(['waiting', 'waiting', 'notBegun']);
	});

	test('counts the items that wait already among those that may be under way', async () => {
		const begun: number[] = [];
		const { end } = loopOf([waiting(60_000), notBegun(), notBegun()], {
			concurrency: fixedAt(2),
			checkpoints: true,
			begin(index) {
				begun.push(index);
				return Promise.resolve(waiting(60_000));
			},
		});
		expect(await end()).toEqual({ is: 'checkpoint' });
		expect(begun).toEqual([1]);
	});
});

test('no more than a thousand items are polled at a time', async () => {
	let [underWay, most] = [0, 0];
	const { end } = loopOf(
		Array.from({ length: 1_500 }, () => waiting(0)),
		{
			async poll() {
				most = Math.max(most, ++underWay);
				await pass(10);
				underWay--;
				return done;
			},
		},
	);
	await end();
	expect(most).toBe(1_000);
});

test('a loop that has ended leaves no listener behind', async () => {
	const { signal } = new AbortController();
	await loopOf(1, { cancel: signal }).end();
	expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test.each([
	['in memory', 'memory'],
	['in memory because of an obstacle', 'auto'],
] as const)(
	'the work for an item that waits %s hardly grows with their number',
	async (_, where) => {
		/** How often the loop looks when a wait is due, for each of so many items. */
		const looksPerItem = async (count: number) => {
			let looks = 0;
			const from = clock.date();
			const { end } = loopOf(count, {
				concurrency: fixedAt(count),
				begin(index) {
					const dueOn = from + 100_000 + ((index * 7_919) % count);
					const item = waitingItem({ where, isLong: true });
					Object.defineProperty(item.wait, 'dueOn', {
						get: () => (looks++, dueOn),
					});
					return Promise.resolve(item);
				},
				idle: (waits) =>
					whenToPark(
						{ obstacle: () => Promise.resolve('none'), parksFrom: 0, hints: new Set() },
						waits,
						clock.now(),
					),
			});
			await end();
			return looks / count;
		};
		const few = await looksPerItem(100);
		expect(await looksPerItem(800)).toBeLessThan(2 * few);
	},
);

describe('an item that is refused', () => {
	const refused: Item = { ...failed, isRefused: true };

	test('ends the loop once all that is known has ended, and nothing new is begun', async () => {
		const begun: number[] = [];
		const polled: number[] = [];
		const { states, end } = loopOf([refused, notBegun(), waiting(5_000), known(), known()], {
			stopsAtFailure: true,
			concurrency: fixedAt(1),
			begin: (index) => Promise.resolve((begun.push(index), waiting(clock.now() + 1_000))),
			poll: (index) => Promise.resolve((polled.push(index), done)),
		});
		expect(await end()).toMatchObject({ is: 'failed', index: 0 });
		expect(begun).toEqual([3, 4]);
		expect([...polled].sort()).toEqual([2, 3, 4]);
		expect(states[1]).toEqual(NOT_BEGUN);
	});

	test('lets another one that fails end the loop at once', async () => {
		const { end } = loopOf([refused, waiting(0), waiting(5_000)], {
			stopsAtFailure: true,
			poll: (index) => Promise.resolve(index === 1 ? failed : done),
		});
		expect(await end()).toMatchObject({ is: 'failed', index: 1 });
	});

	test('keeps nothing from beginning where the node continues, and what is known comes first', async () => {
		const begun: number[] = [];
		const { end } = loopOf([refused, notBegun(), known(), notBegun(), known()], {
			begin: (index) => Promise.resolve((begun.push(index), done)),
		});
		expect(await end()).toEqual({ is: 'worked' });
		expect(begun).toEqual([2, 4, 1, 3]);
	});
});
