import type * as N8nWorkflow from 'n8n-workflow';

import { clock } from '../../nodes/AgentInvocation/clock.ts';
import { settle } from '../support/virtualTime.cts';

// As in n8n 1: it takes no signal.
jest.mock('n8n-workflow', () => ({
	...jest.requireActual<typeof N8nWorkflow>('n8n-workflow'),
	sleep: async (ms: number) => await new Promise((resolve) => setTimeout(resolve, ms)),
}));

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('timers do not outlive aborted sleeps by more than a second', async () => {
	const aborting = Array.from({ length: 100 }, () => new AbortController());
	const sleeping = aborting.map(async ({ signal }) => await clock.sleep(60_000, signal));
	await jest.advanceTimersByTimeAsync(10_000);
	for (const controller of aborting) controller.abort();
	await Promise.all(sleeping);
	await jest.advanceTimersByTimeAsync(1_000);
	expect(jest.getTimerCount()).toBe(0);
});

test('a sleep lasts as long as it is to', async () => {
	const began = clock.now();
	await settle(clock.sleep(90_500));
	expect(clock.now() - began).toBe(90_500);
});
