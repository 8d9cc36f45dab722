import { PassTime, clock } from '../../nodes/AgentInvocation/clock.ts';
import { done, NOT_BEGUN, type Item } from '../../nodes/AgentInvocation/item.ts';
import { fixedAt } from '../../nodes/AgentInvocation/items/concurrency.ts';
import { Loop } from '../../nodes/AgentInvocation/items/loop.ts';
import { whenToPark } from '../../nodes/AgentInvocation/items/whenToPark.ts';
import type { Work } from '../../nodes/AgentInvocation/items/work.ts';
import { readWaitOptions } from '../../nodes/AgentInvocation/waiting/options.ts';
import { beginWait } from '../../nodes/AgentInvocation/waiting/wait.ts';
import { contextOf } from '../support/simulation/world/context.cts';
import { settle } from '../support/virtualTime.cts';

// Thousands of items, of which a world would take long.
beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const DONE = done(NOT_BEGUN, []);
const pass = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** An item whose wait begins now. */
function waiting(pollInterval: number, where: 'memory' | 'auto' = 'memory'): Item {
	const options = readWaitOptions(contextOf({ parameters: { options: { pollInterval } } }), 0);
	const run = { baseUrl: '', agentId: 1, runId: 'run' };
	const start = { options, where, lastSeen: { run_id: 'run', status: 'pending' } };
	return beginWait(NOT_BEGUN, run, start, { time: new PassTime(), latestEndOn: Infinity });
}

/** Works through so many items in a loop; gives those that are done in the end. */
async function work(count: number, acts: Partial<Work>) {
	const items = new Map<number, Item>();
	const known = {
		item: (index: number) => items.get(index) ?? NOT_BEGUN,
		note: (index: number, item: Item) => void items.set(index, item),
	};
	const loop = new Loop(
		{
			concurrency: fixedAt(Infinity),
			stopsAtFailure: false,
			checkpointAfterMs: Infinity,
			mayRecall: () => true,
			time: new PassTime(),
			pollsFrom: -Infinity,
			begin: () => Promise.resolve(DONE),
			poll: () => Promise.resolve(DONE),
			idle: ({ dueAt }) => Promise.resolve({ is: 'sleep', wakesAt: dueAt }),
			...acts,
		},
		known,
		count,
	);
	expect(await settle(loop.run())).toEqual({ is: 'worked' });
	expect([...items.values()].filter(({ is }) => is === 'done')).toHaveLength(count);
}

/** An act that takes so long; `most` is how many of them were under way at a time. */
function counted(ms: number, gives: () => Item) {
	const count = { most: 0, underWay: 0 };
	const act = async () => {
		count.most = Math.max(count.most, ++count.underWay);
		await pass(ms);
		count.underWay--;
		return gives();
	};
	return { count, act };
}

test('no more than a hundred items begin at a time, and no more than a thousand are polled', async () => {
	const begins = counted(10, () => waiting(100));
	const polls = counted(1_000, () => DONE);
	await work(3_000, { begin: begins.act, poll: polls.act });
	expect(begins.count.most).toBe(100);
	expect(polls.count.most).toBe(1_000);
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
			const begin = (_item: Item, index: number) => {
				const item = waiting(100 + ((index * 7_919) % count) / 1_000, where) as Item & {
					is: 'waiting';
				};
				const { dueOn } = item.wait;
				Object.defineProperty(item.wait, 'dueOn', { get: () => (looks++, dueOn) });
				return Promise.resolve(item);
			};
			const parking = {
				obstacle: () => Promise.resolve('none'),
				parksFrom: 0,
				hints: new Set<string>(),
			};
			await work(count, { begin, idle: (waits) => whenToPark(parking, waits, clock.now()) });
			return looks / count;
		};
		const few = await looksPerItem(100);
		expect(await looksPerItem(800)).toBeLessThan(2 * few);
	},
);
