import { mayHaveBegun } from '../../nodes/AgentInvocation/engine/crash.ts';
import type { Suspension } from '../../nodes/AgentInvocation/engine/suspend.ts';
import { contextOf, type Told } from '../support/simulation/world/context.cts';

const CHECKPOINT = { startsRuns: true, beganOn: 1_000_000 } as Suspension;
const PARKED = { ...CHECKPOINT, resumesOn: 1_600_000 };

/** Whether the execution '7' may have begun items after what n8n has stored of it, asked in '8'. */
const asked = (suspension: Suspension | undefined, told: Told) =>
	mayHaveBegun(contextOf({ executionId: '8', ...told }), { executionId: '7', suspension });
const stoppedOn = (timestamp: unknown) => ({ stored: { resultData: { error: { timestamp } } } });

test.each<[string, Suspension, Told, boolean]>([
	['one that was stopped just after it parked', PARKED, stoppedOn(1_000_000), false],
	['one that was stopped while it was parked', PARKED, stoppedOn(1_300_000), false],
	['one that was stopped long before its resume', PARKED, stoppedOn(1_589_999), false],
	// Clocks of n8n's processes may differ by ten seconds.
	['one that was stopped shortly before its resume', PARKED, stoppedOn(1_590_000), true],
	['one that was stopped after its resume', PARKED, stoppedOn(1_700_000), true],
	['one that was stopped before it parked', PARKED, stoppedOn(999_999), true],
	['one that failed without a date', PARKED, stoppedOn('1300000'), true],
	['one that did not fail', PARKED, { stored: { resultData: {} } }, true],
	['one without results', PARKED, { stored: {} }, true],
	['one that n8n does not give', PARKED, { stored: new Error('Gone') }, true],
	// It went on at once.
	['one that was stopped after a checkpoint', CHECKPOINT, stoppedOn(1_000_000), true],
	['one that starts no runs', { ...PARKED, startsRuns: false }, stoppedOn(1_700_000), false],
	['the same one, which goes on', PARKED, { executionId: '7', ...stoppedOn(1_700_000) }, false],
])('%s', async (_, suspension, told, mayHave) => {
	expect(await asked(suspension, told)).toBe(mayHave);
});

test('one that was never suspended', async () => {
	expect(await asked(undefined, stoppedOn(1_700_000))).toBe(false);
});

test('one whose ID is told, where that of this one is not', async () => {
	expect(await asked(PARKED, { executionId: undefined, ...stoppedOn(1_700_000) })).toBe(true);
});
