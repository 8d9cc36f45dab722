import { idle } from '../../nodes/AgentInvocation/items/whenToPark.ts';
import type { Wait } from '../../nodes/AgentInvocation/itemState.ts';
import { Waits } from '../../nodes/AgentInvocation/items/waits.ts';

const SECOND = 1_000;

const wait = (dueAt: number, changes: Partial<Wait> = {}) =>
	({ dueAt, isLong: true, troubles: 0, where: 'auto', ...changes }) as Wait;
const at = (seconds: number) => seconds * SECOND;
function all(waits: Wait[]): Waits {
	const all = new Waits();
	for (const [index, wait] of waits.entries()) all.add(index, wait);
	return all;
}
const idleAt = (waits: Wait[], now: number, parksFrom: number) =>
	idle({ obstacle: undefined, parksFrom, hints: new Set() }, all(waits), now);

test('parks until the first wait is due, and for 65 s at the least', () => {
	expect(idleAt([wait(at(100)), wait(at(300))], 0, 0)).toEqual({ is: 'park', until: at(100) });
	expect(idleAt([wait(at(61))], 0, 0)).toEqual({ is: 'park', until: at(65) });
});

test('polls what is due soon but has a long delay, so that all rest together', () => {
	expect(idleAt([wait(at(30)), wait(at(300))], 0, 0)).toEqual({ is: 'poll', dueBy: at(60) });
});

test.each<[string, Partial<Wait>]>([
	['a short delay', { isLong: false }],
	['trouble', { troubles: 1 }],
])('waits in memory for one that is due soon after %s', (_, changes) => {
	const waits = [wait(at(30), changes), wait(at(300))];
	expect(idleAt(waits, 0, 0)).toEqual({ is: 'sleep', until: at(30) });
});

test('parks nothing before its time, nor what stays in memory', () => {
	expect(idleAt([wait(at(100))], 0, at(60))).toEqual({ is: 'sleep', until: at(60) });
	const staying = [wait(at(100), { where: 'memory' }), wait(at(200))];
	expect(idleAt(staying, 0, 0)).toEqual({ is: 'sleep', until: at(100) });
});

test('holds for those that are due within a minute, and no longer', () => {
	const short = { isLong: false };
	expect(idleAt([wait(at(60), short)], 0, 0)).toEqual({ is: 'sleep', until: at(60) });
	expect(idleAt([wait(at(60) + 1, short)], 0, 0)).toEqual({ is: 'park', until: at(65) });
	expect(idleAt([wait(at(100), { troubles: 1 })], 0, 0)).toEqual({ is: 'park', until: at(100) });
});

test('sleeps no longer than until the first is due, also where parking begins later', () => {
	expect(idleAt([wait(at(100)), wait(at(90))], 0, at(95))).toEqual({ is: 'sleep', until: at(90) });
});

describe('an obstacle', () => {
	const obstacle = 'somebody waits';
	const hinting = (waits: Wait[], parksFrom = 0) => {
		const hints = new Set<string>();
		return { next: idle({ obstacle, parksFrom, hints }, all(waits), 0), hints: [...hints] };
	};

	test('keeps all waits in memory, and the hint says why', () => {
		const { next, hints } = hinting([wait(at(100)), wait(at(30))]);
		expect(next).toEqual({ is: 'sleep', until: at(30) });
		expect(hints).toEqual([expect.stringContaining(obstacle)]);
	});

	test('is not said where the wait would stay in memory anyway', () => {
		expect(hinting([wait(at(30), { isLong: false })]).hints).toEqual([]);
		expect(hinting([wait(at(100))], at(60)).hints).toEqual([]);
	});
});
