import fc from 'fast-check';

import type { Waiting } from '../../nodes/AgentInvocation/item.ts';
import { Waits } from '../../nodes/AgentInvocation/items/waits.ts';
import { waitingItem } from './waitingItem.cts';

const anyWait = fc.record({
	dueAt: fc.nat(50),
	isLong: fc.boolean(),
	failuresInARow: fc.nat(1),
	where: fc.constantFrom('auto', 'memory'),
});
/** A wait is added, or taken if it is due by then. */
const anyStep = fc.oneof(anyWait, fc.nat(60));

test('the first is taken that is due, and of those that are due together the one that was added first', () => {
	fc.assert(
		fc.property(fc.array(anyStep, { maxLength: 200 }), (steps) => {
			const waits = new Waits();
			let model: Array<{ index: number; item: Waiting; dueAt: number }> = [];
			const first = (of = model) =>
				of.reduce((least, { dueAt }) => Math.min(least, dueAt), Infinity);
			for (const [index, step] of steps.entries()) {
				if (typeof step === 'number') {
					const due = model.find(({ dueAt }) => dueAt <= step && dueAt === first());
					expect(waits.take(step)).toEqual(due && expect.objectContaining(due));
					model = model.filter((one) => one !== due);
				} else {
					const { dueAt, ...changes } = step;
					const item = waitingItem(changes);
					waits.add(index, item, dueAt);
					model.push({ index, item, dueAt });
				}
				const { size, dueAt, shortDueAt, stayInMemory } = waits;
				const short = model.filter(({ item: { wait } }) => !wait.isLong || wait.failuresInARow > 0);
				expect({ size, dueAt, shortDueAt, stayInMemory }).toEqual({
					size: model.length,
					dueAt: first(),
					shortDueAt: first(short),
					stayInMemory: model.some(({ item }) => item.wait.where === 'memory'),
				});
			}
		}),
	);
});
