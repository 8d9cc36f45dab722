import fc from 'fast-check';

import { PassTime } from '../../nodes/AgentInvocation/clock.ts';
import { NOT_BEGUN, type Waiting } from '../../nodes/AgentInvocation/item.ts';
import { Waits } from '../../nodes/AgentInvocation/items/waits.ts';
import { readWaitOptions } from '../../nodes/AgentInvocation/waiting/options.ts';
import { beginWait } from '../../nodes/AgentInvocation/waiting/wait.ts';
import { contextOf } from '../support/simulation/world/context.cts';

/** A wait that is polled this often, in s. */
function waitingItem(pollInterval: number, where: 'auto' | 'memory'): Waiting {
	const options = readWaitOptions(contextOf({ parameters: { options: { pollInterval } } }), 0);
	const start = { options, where, lastSeen: { run_id: 'run', status: 'pending' } };
	const run = { baseUrl: '', agentId: 1, runId: 'run' };
	return beginWait(NOT_BEGUN, run, start, { time: new PassTime(), latestEndOn: Infinity });
}

const anyWait = fc.record({
	dueAt: fc.nat(20),
	mayBeEarly: fc.boolean(),
	where: fc.constantFrom('auto', 'memory'),
});
/** A wait is added, or taken if it is due by then. */
const anyStep = fc.oneof(anyWait, anyWait, fc.nat(24));

test('the first is taken that is due, and of those that are due together the one that was added first', () => {
	fc.assert(
		fc.property(fc.array(anyStep, { minLength: 50, maxLength: 200 }), (steps) => {
			const waits = new Waits();
			let model: Array<{ index: number; dueAt: number; mayBeEarly: boolean; where: string }> = [];
			const first = (of = model) => Math.min(Infinity, ...of.map(({ dueAt }) => dueAt));
			for (const [index, step] of steps.entries()) {
				if (typeof step === 'number') {
					const due = model.find(({ dueAt }) => dueAt <= step && dueAt === first());
					expect(waits.take(step)?.index).toBe(due?.index);
					model = model.filter((one) => one !== due);
				} else {
					waits.add(index, waitingItem(step.mayBeEarly ? 65 : 64, step.where), step.dueAt);
					model.push({ index, ...step });
				}
				const { size, dueAt, fixedDueAt, stayInMemory } = waits;
				expect({ size, dueAt, fixedDueAt, stayInMemory }).toEqual({
					size: model.length,
					dueAt: first(),
					fixedDueAt: first(model.filter(({ mayBeEarly }) => !mayBeEarly)),
					stayInMemory: model.some(({ where }) => where === 'memory'),
				});
			}
		}),
	);
});
