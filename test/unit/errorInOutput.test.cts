import type { IDataObject } from 'n8n-workflow';

import { isFinished } from '../../nodes/AgentInvocation/service/runStatus.ts';
import { SimulatedHost } from '../support/simulation/simulatedHost.cts';
import { SimulatedService, type SimulatedRun } from '../support/simulation/simulatedService.cts';
import { settle } from '../support/virtualTime.cts';

// With Retry On Fail, n8n takes an output whose first item has an `error` in its json for a failed attempt.
beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** Executes a node of three items with Retry On Fail; the second run fails. */
async function execute(first: Partial<SimulatedRun>, options: IDataObject, continues = true) {
	const failing = { durationMs: 2_000, status: 'failed' as const };
	const service = new SimulatedService({
		runOf: (item) => (item === 1 ? failing : { durationMs: 1_000, ...(item === 0 && first) }),
	});
	const onError = continues ? ('continueRegularOutput' as const) : undefined;
	const node = { retryOnFail: true, maxTries: 4, ...(onError && { onError }) };
	const host = new SimulatedHost({ service, count: 3, node, options });
	const items = await settle(host.runWithRetries(4));
	const { created, requests } = service;
	return { items, host, created: created.length, requests: requests.length };
}

test('an empty error of a run that has succeeded is not output, so n8n does not retry the node', async () => {
	const { items, host } = await execute({ shown: { error: '' } }, {});
	expect(items[0]?.json).toMatchObject({ status: 'succeeded', output: '0' });
	expect(items[0]?.json).not.toHaveProperty('error');
	expect(host.attempts).toBe(1);
});

test('an attempt that is made for a run that is output though it has failed asks for nothing', async () => {
	const options = { onUnsuccessfulRun: 'output' };
	const { items, host, created, requests } = await execute({ status: 'failed' }, options, false);
	expect(items.map(({ json }) => json.status)).toEqual(['failed', 'failed', 'succeeded']);
	expect(items[0]?.json).toMatchObject({ error: 'item 0' });
	expect(host.attempts).toBe(4);
	expect(created).toBe(3);
	// Those of the first attempt.
	const once = await execute({ status: 'cancelled' }, options, false);
	expect(once.host.attempts).toBe(1);
	expect(requests).toBe(once.requests);
});

test('nor does one for a run that has succeeded with something to say', async () => {
	const { items, host, created } = await execute({ shown: { error: 'slow' } }, {});
	expect(items.map(({ json }) => json.error)).toEqual([
		'slow',
		expect.stringContaining('item 1') as string,
		undefined,
	]);
	expect([host.attempts, created]).toEqual([4, 3]);
});

test('an attempt that follows a failed item starts its run anew', async () => {
	const { created } = await execute({ status: 'failed' }, {});
	// The first two items in four attempts, and the third once.
	expect(created).toBe(9);
});

describe('a run of an unknown status', () => {
	test.each([
		['2026-01-01T00:00:00Z', true],
		['at noon', true],
		['', false],
		[' ', false],
		['0001-01-01T00:00:00Z', false],
		['1970-01-01T00:00:00Z', false],
		[null, false],
		[1_767_225_600, true],
		[0, false],
		[undefined, false],
	])('that says it was completed at %j has finished: %s', (completedAt, finished) => {
		const run = { run_id: 'run', status: 'archived', completed_at: completedAt as string };
		expect(isFinished(run)).toBe(finished);
	});
});
