import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import type { Service } from '../../nodes/AgentInvocation/service/service.ts';
import { RateLimiter } from '../../nodes/AgentInvocation/service/rateLimiter.ts';
import { RUN_ID, waitForRun } from '../support/simulation/simulatedRun.cts';
import { settle } from '../support/virtualTime.cts';

setFlagsFromString('--expose_gc');
const collectGarbage = runInNewContext('gc') as () => void;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

function heapUsed(): number {
	collectGarbage();
	return process.memoryUsage().heapUsed;
}

test('a wait takes no more memory after a hundred thousand polls than after ten thousand', async () => {
	let polls = 0;
	let before = 0;
	const service = {
		limiter: new RateLimiter(),
		baseUrl: '',
		send() {
			polls++;
			if (polls === 10_000) before = heapUsed();
			const status = polls === 100_000 ? 'succeeded' : 'running';
			return Promise.resolve({ kind: 'ok', status: 200, body: { run_id: RUN_ID, status } });
		},
	} as unknown as Service;
	const end = await settle(waitForRun(service, { pollIntervalMs: 1_000 }));
	expect(end).toMatchObject({ is: 'done' });
	expect(polls).toBe(100_000);
	// A single number kept of each poll would make 720 kB.
	expect(heapUsed() - before).toBeLessThan(300_000);
});
