import { Outage } from '../../nodes/AgentInvocation/service/outage.ts';

// Two runs whose polls fail show that the service is away, until something is carried.
const away = { kind: 'serverError' as const, status: 503 };
const carried = { kind: 'ok' as const, status: 200 };

function polled(...polls: Array<[path: string, answer: typeof away | typeof carried]>): Outage {
	const outage = new Outage();
	for (const [path, answer] of polls) outage.learn(answer, path, 0);
	return outage;
}

test('it is on once polls of two runs have failed in a row', () => {
	expect(polled(['a', away], ['a', away]).isOn).toBe(false);
	expect(polled(['a', away], ['c', carried], ['b', away]).isOn).toBe(false);
	const outage = polled(['a', away], ['b', away]);
	expect(outage.isOn).toBe(true);
	expect(outage.createsWaitUntil).toBeGreaterThan(0);
});

test('it ends with whatever is carried', () => {
	const outage = polled(['a', away], ['b', away], ['c', carried]);
	expect(outage.isOn).toBe(false);
	expect(outage.createsWaitUntil).toBe(-Infinity);
});

test('those that fail while others are carried do not count until they are carried', () => {
	const failing = [
		['a', away],
		['b', away],
		['c', carried],
	] as Array<[string, typeof away | typeof carried]>;
	expect(polled(...failing, ['a', away], ['b', away], ['d', away]).isOn).toBe(false);
	expect(polled(...failing, ['d', away], ['e', away]).isOn).toBe(true);
	expect(polled(...failing, ['a', carried], ['a', away], ['d', away]).isOn).toBe(true);
});

test('a refusal neither begins nor ends it', () => {
	const refused = { kind: 'rateLimited' as const, status: 429 };
	const outage = polled(['a', away], ['b', away]);
	outage.learn(refused, 'c', 0);
	expect(outage.isOn).toBe(true);
});
