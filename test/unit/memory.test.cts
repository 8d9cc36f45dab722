import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import type { Service } from '../../nodes/AgentInvocation/api/service.ts';
import { systemClock as clock } from '../../nodes/AgentInvocation/waiting/clock.ts';
import { Durations } from '../../nodes/AgentInvocation/waiting/durations.ts';
import { Gate } from '../../nodes/AgentInvocation/waiting/gate.ts';
import { waitForRun } from '../../nodes/AgentInvocation/waiting/waitForRun.ts';
import { RUN_ID } from './simulatedRun.cts';
import { settle } from './virtualTime.cts';

setFlagsFromString('--expose_gc');
const collectGarbage = runInNewContext('gc') as () => void;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

function heapUsed(): number {
	collectGarbage();
	return process.memoryUsage().heapUsed;
}

test('a wait takes no more memory after a hundred thousand looks than after ten thousand', async () => {
	let looks = 0;
	let before = 0;
	const service = {
		gate: new Gate(clock),
		baseUrl: '',
		send() {
			looks++;
			if (looks === 10_000) before = heapUsed();
			const status = looks === 100_000 ? 'succeeded' : 'running';
			return Promise.resolve({ kind: 'ok', status: 200, body: { run_id: RUN_ID, status } });
		},
	} as unknown as Service;
	const wait = {
		agentId: 1,
		runId: RUN_ID,
		lastSeen: { run_id: RUN_ID, status: 'pending' },
		startedAt: clock.now(),
		timeoutMs: 0,
		pollIntervalMs: 1_000,
	};
	const end = await settle(waitForRun(service, wait, { clock, durations: new Durations() }));
	expect(end).toMatchObject({ why: 'finished' });
	expect(looks).toBe(100_000);
	// A single number kept of each look would make 720 kB.
	expect(heapUsed() - before).toBeLessThan(300_000);
});
