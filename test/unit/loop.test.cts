import { getEventListeners } from 'node:events';

import fc from 'fast-check';

import { systemClock as clock } from '../../nodes/AgentInvocation/clock.ts';
import { AUTOMATIC, fixedAt } from '../../nodes/AgentInvocation/items/concurrency.ts';
import type { ItemState, Step, Wait } from '../../nodes/AgentInvocation/itemState.ts';
import { idle } from '../../nodes/AgentInvocation/items/whenToPark.ts';
import { Loop, type Work } from '../../nodes/AgentInvocation/items/loop.ts';
import { settle } from '../support/virtualTime.cts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const pass = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const done: Step = { is: 'done', outputs: [] };
const failed: Step = {
	is: 'failed',
	failure: { message: 'no', description: '', details: {} },
};
const notBegun = (): ItemState => ({ is: 'notBegun' });
const waiting = (dueAt: number) =>
	({ is: 'waiting', wait: { startedAt: clock.now(), dueAt } as Wait }) as const;

function loopOf(items: number | ItemState[], work: Partial<Work>) {
	const states: ItemState[] =
		typeof items === 'number' ? Array.from({ length: items }, () => ({ is: 'notBegun' })) : items;
	const loop = new Loop(
		{
			clock,
			concurrency: fixedAt(10),
			stopsAtFailure: false,
			checkpoints: false,
			begin: () => Promise.resolve(done),
			poll: () => Promise.resolve(done),
			idle: () => ({ is: 'sleep', until: Infinity }),
			ended: () => {},
			...work,
		},
		states,
	);
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
				const step = (index: number): Step => {
					if (polls[index]! < plans[index]!.polls) return waiting(clock.now() + plans[index]!.ms);
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
					async poll(index, wait) {
						expect(clock.now()).toBeGreaterThanOrEqual(wait.dueAt);
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
			return signal.aborted && index === 2 ? { is: 'stopped' } : done;
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
	const { states, end } = loopOf([failed, { is: 'notBegun' }], {
		stopsAtFailure: true,
	});
	expect(await end()).toMatchObject({ is: 'failed', index: 0 });
	expect(states[1]).toEqual({ is: 'notBegun' });
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
			return signal.aborted ? { is: 'stopped' } : done;
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
		poll: async (_index, wait, signal) => {
			await pass(1_000);
			return signal.aborted ? { is: 'stopped' } : waiting(wait.dueAt);
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
				signal.addEventListener('abort', () => resolve({ is: 'stopped' }));
				cancelling.abort();
			}),
	});
	expect(await end()).toEqual({ is: 'cancelled' });
});

test('an item that begins, or is polled, is under way', async () => {
	const seen: string[] = [];
	const { states, end } = loopOf(1, {
		begin: () => Promise.resolve((seen.push(states[0]!.is), waiting(clock.now() + 1))),
		poll: () => Promise.resolve((seen.push(states[0]!.is), done)),
	});
	await end();
	expect(seen).toEqual(['underWay', 'underWay']);
});

test.each<[string, number, Work['concurrency'], number]>([
	['all have begun', 2, { atFirst: 2, most: 10 }, 0],
	['no more may be under way than at first', 3, fixedAt(2), 0],
	['one is done, and as many as may be are under way', 4, { atFirst: 1, most: 2 }, 1],
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
			const from = clock.now();
			const { end } = loopOf(count, {
				concurrency: fixedAt(count),
				begin(index) {
					const dueAt = from + 100_000 + ((index * 7_919) % count);
					const wait = { startedAt: from, isLong: true, troubles: 0, where };
					const counting = {
						...wait,
						get dueAt() {
							return (looks++, dueAt);
						},
					} as Wait;
					return Promise.resolve({ is: 'waiting', wait: counting });
				},
				idle: (waits) =>
					idle({ obstacle: 'none', parksFrom: 0, hints: new Set() }, waits, clock.now()),
			});
			await end();
			return looks / count;
		};
		const few = await looksPerItem(100);
		expect(await looksPerItem(800)).toBeLessThan(2 * few);
	},
);

describe('an item that is refused', () => {
	const refused = { ...failed, isRefused: true } as ItemState;
	const known = (): ItemState => ({ is: 'notBegun', isKnown: true });

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
		expect(states[1]).toEqual({ is: 'notBegun' });
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
