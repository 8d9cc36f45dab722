import { RequestsUnderWay } from '../../nodes/AgentInvocation/service/requestsUnderWay.ts';

// How many requests may be under way while the service takes long for each.
const SECOND = 1_000;
const carried = { kind: 'ok', status: 200 } as const;

/** Sends requests until no more may be under way, and has all of them answered so much later. */
function round(underWay: RequestsUnderWay, now: number, afterMs: number): number {
	while (underWay.opensAt <= now) underWay.add(now);
	const { count } = underWay;
	for (let n = 0; n < count; n++) underWay.learn(carried, now, now + afterMs);
	return count;
}

test('more may be under way slowly while all take long, and soon once they are quick', () => {
	const underWay = new RequestsUnderWay();
	const slow = [0, 1, 2, 3, 4, 5].map((n) => round(underWay, n * 60 * SECOND, 20 * SECOND));
	expect(slow[0]).toBe(50);
	expect(slow.at(-1)).toBeGreaterThan(50);
	expect(slow.at(-1)).toBeLessThan(55);
	round(underWay, 400 * SECOND, SECOND);
	expect(round(underWay, 460 * SECOND, SECOND)).toBeGreaterThan(60);
});
