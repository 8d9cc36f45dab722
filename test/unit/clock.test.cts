import { simulateRun, waitForRun } from '../support/simulation/simulatedRun.cts';
import { settle } from '../support/virtualTime.cts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const DAY_MS = 86_400_000;

/** Waits for a run of a minute, during which the machine's clock is set anew. */
async function waitWhile(changeMs: number, timeoutMs: number) {
	const { service, askedAt } = simulateRun(60_000);
	setTimeout(() => jest.setSystemTime(Date.now() + changeMs), 30_000);
	const end = await settle(waitForRun(service, { timeoutMs }));
	return { is: end?.is, askedAt };
}

test.each([
	['a day ahead', DAY_MS],
	['a day back', -DAY_MS],
])('a clock that is set %s does not change when a run is polled', async (_name, changeMs) => {
	for (const timeoutMs of [0, 45_000, 120_000]) {
		const undisturbed = await waitWhile(0, timeoutMs);
		expect(await waitWhile(changeMs, timeoutMs)).toEqual(undisturbed);
		expect(undisturbed.is).toBe(timeoutMs === 45_000 ? 'failed' : 'done');
	}
});
