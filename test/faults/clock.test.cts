import { Durations } from '../../nodes/AgentInvocation/waiting/durations.ts';
import { systemClock as clock } from '../../nodes/AgentInvocation/waiting/clock.ts';
import { waitForRun } from '../../nodes/AgentInvocation/waiting/waitForRun.ts';
import { RUN_ID, simulateRun } from '../unit/simulatedRun.cts';
import { settle } from '../unit/virtualTime.cts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const DAY_MS = 86_400_000;

/** Waits for a run of a minute, during which the machine's clock is set anew. */
async function waitWhile(changeMs: number, timeoutMs: number) {
	const { service, askedAt } = simulateRun(60_000);
	const wait = {
		agentId: 1,
		runId: RUN_ID,
		lastSeen: { run_id: RUN_ID, status: 'running' },
		startedAt: clock.now(),
		timeoutMs,
		pollIntervalMs: 0,
	};
	setTimeout(() => jest.setSystemTime(Date.now() + changeMs), 30_000);
	const end = await settle(waitForRun(service, wait, { clock, durations: new Durations() }));
	return { why: end.why, askedAt };
}

test.each([
	['a day ahead', DAY_MS],
	['a day back', -DAY_MS],
])('a clock that is set %s does not change when a run is looked at', async (_name, changeMs) => {
	for (const timeoutMs of [0, 45_000, 120_000]) {
		const undisturbed = await waitWhile(0, timeoutMs);
		expect(await waitWhile(changeMs, timeoutMs)).toEqual(undisturbed);
		expect(undisturbed.why).toBe(timeoutMs === 45_000 ? 'timeLimit' : 'finished');
	}
});
