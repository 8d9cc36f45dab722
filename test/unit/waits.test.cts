import fc from 'fast-check';

import type { Wait } from '../../nodes/AgentInvocation/itemState.ts';
import { Waits } from '../../nodes/AgentInvocation/items/waits.ts';

const anyWait = fc.record({
	dueAt: fc.nat(50),
	isLong: fc.boolean(),
	troubles: fc.nat(1),
	where: fc.constantFrom('auto', 'memory'),
});
/** A wait is added, or taken if it is due by then. */
const anyStep = fc.oneof(anyWait, fc.nat(60));

test('the first is taken that is due, and of those that are due together the one that was added first', () => {
	fc.assert(
		fc.property(fc.array(anyStep, { maxLength: 200 }), (steps) => {
			const waits = new Waits();
			let model: Array<{ index: number; wait: Wait }> = [];
			const first = (of = model) =>
				of.reduce((least, { wait }) => Math.min(least, wait.dueAt), Infinity);
			for (const [index, step] of steps.entries()) {
				if (typeof step === 'number') {
					const due = model.find(({ wait }) => wait.dueAt <= step && wait.dueAt === first());
					const taken = waits.take(step);
					expect(taken && { index: taken.index, wait: taken.wait }).toEqual(due);
					model = model.filter((one) => one !== due);
				} else {
					const wait = step as Wait;
					waits.add(index, wait);
					model.push({ index, wait });
				}
				const { size, dueAt, shortDueAt, stayInMemory } = waits;
				const short = model.filter(({ wait }) => !wait.isLong || wait.troubles > 0);
				expect({ size, dueAt, shortDueAt, stayInMemory }).toEqual({
					size: model.length,
					dueAt: first(),
					shortDueAt: first(short),
					stayInMemory: model.some(({ wait }) => wait.where === 'memory'),
				});
			}
		}),
	);
});
