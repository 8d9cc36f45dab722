import type { Wait } from '../../nodes/AgentInvocation/item.ts';
import { Waits } from '../../nodes/AgentInvocation/items/waits.ts';
import { whenToPark } from '../../nodes/AgentInvocation/items/whenToPark.ts';
import { waitingItem } from './waitingItem.cts';

const SECOND = 1_000;

interface Due {
	dueAt: number;
	changes: Partial<Wait>;
}

const wait = (dueAt: number, changes: Partial<Wait> = {}): Due => ({ dueAt, changes });
const at = (seconds: number) => seconds * SECOND;
function all(waits: Due[]): Waits {
	const all = new Waits();
	for (const [index, { dueAt, changes }] of waits.entries()) {
		all.add(index, waitingItem({ isLong: true, ...changes }), dueAt);
	}
	return all;
}
const noObstacle = () => Promise.resolve(undefined);
const idleAt = async (waits: Due[], now: number, parksFrom: number) =>
	await whenToPark({ obstacle: noObstacle, parksFrom, hints: new Set() }, all(waits), now);

test('parks until the first wait is due, and for 65 s at the least', async () => {
	expect(await idleAt([wait(at(100)), wait(at(300))], 0, 0)).toEqual({
		is: 'park',
		until: at(100),
	});
	expect(await idleAt([wait(at(61))], 0, 0)).toEqual({ is: 'park', until: at(65) });
});

test('polls what is due soon but has a long delay, so that all rest together', async () => {
	expect(await idleAt([wait(at(30)), wait(at(300))], 0, 0)).toEqual({ is: 'poll', dueBy: at(60) });
});

test.each<[string, Partial<Wait>]>([
	['a short delay', { isLong: false }],
	['a temporary failure', { failuresInARow: 1 }],
])('waits in memory for one that is due soon after %s', async (_, changes) => {
	const waits = [wait(at(30), changes), wait(at(300))];
	expect(await idleAt(waits, 0, 0)).toEqual({ is: 'sleep', until: at(30) });
});

test('parks nothing before its time, nor what stays in memory', async () => {
	expect(await idleAt([wait(at(100))], 0, at(60))).toEqual({ is: 'sleep', until: at(60) });
	const staying = [wait(at(100), { where: 'memory' }), wait(at(200))];
	expect(await idleAt(staying, 0, 0)).toEqual({ is: 'sleep', until: at(100) });
});

test('holds for those that are due within a minute, and no longer', async () => {
	const short = { isLong: false };
	expect(await idleAt([wait(at(60), short)], 0, 0)).toEqual({ is: 'sleep', until: at(60) });
	expect(await idleAt([wait(at(60) + 1, short)], 0, 0)).toEqual({ is: 'park', until: at(65) });
	expect(await idleAt([wait(at(100), { failuresInARow: 1 })], 0, 0)).toEqual({
		is: 'park',
		until: at(100),
	});
});

test('sleeps no longer than until the first is due, also where parking begins later', async () => {
	expect(await idleAt([wait(at(100)), wait(at(90))], 0, at(95))).toEqual({
		is: 'sleep',
		until: at(90),
	});
});

describe('an obstacle', () => {
	const obstacle = 'somebody waits';
	const hinting = async (waits: Due[], parksFrom = 0) => {
		const hints = new Set<string>();
		const standing = () => Promise.resolve(obstacle);
		const next = await whenToPark({ obstacle: standing, parksFrom, hints }, all(waits), 0);
		return { next, hints: [...hints] };
	};

	test('keeps all waits in memory, and the hint says why', async () => {
		const { next, hints } = await hinting([wait(at(100)), wait(at(30))]);
		expect(next).toEqual({ is: 'sleep', until: at(30) });
		expect(hints).toEqual([expect.stringContaining(obstacle)]);
	});

	test('is not said where the wait would stay in memory anyway', async () => {
		expect((await hinting([wait(at(30), { isLong: false })])).hints).toEqual([]);
		expect((await hinting([wait(at(100))], at(60))).hints).toEqual([]);
	});
});
