import { isFinished } from '../../nodes/AgentInvocation/service/runStatus.ts';
import { execute, type Said } from '../support/simulation/ownWorld.cts';
import type { Hand } from '../support/simulation/world/hand.cts';
import type { RunSpec } from '../support/simulation/world/world.cts';

// With Retry On Fail, n8n takes an output whose first item has an `error` in its json for a failed attempt.

/** Executes a node of three items with Retry On Fail; the second run fails. */
async function executeThree(first: Partial<RunSpec>, said: Said = {}) {
	const failing = { durationMs: 2_000, end: 'failed' as const, shown: { error: 'item 1' } };
	const { world, jsons, attempt } = await execute({
		count: 3,
		runOf: (item) => (item === 1 ? failing : { durationMs: 1_000, ...(item === 0 && first) }),
		maxTries: 4,
		onError: 'continueRegularOutput',
		...said,
	});
	const { runs, requests } = world;
	const [, second = { at: Infinity }] = attempt.calls;
	const later = requests.filter(({ sentAt }) => sentAt >= second.at).length;
	return { jsons, attempts: attempt.calls.length, created: runs.length, later };
}

test('an empty error of a run that has succeeded is not output, so n8n does not retry the node', async () => {
	const { jsons, attempts } = await executeThree({ shown: { output: '0', error: '' } });
	expect(jsons[0]).toMatchObject({ status: 'succeeded', output: '0' });
	expect(jsons[0]).not.toHaveProperty('error');
	expect(attempts).toBe(1);
});

test('an attempt that is made for a run that is output though it has failed asks for nothing', async () => {
	const said: Said = { options: { onUnsuccessfulRun: 'output' }, onError: 'stopWorkflow' };
	const failed = { end: 'failed', shown: { error: 'item 0' } } as const;
	const { jsons, attempts, created, later } = await executeThree(failed, said);
	expect(jsons.map(({ status }) => status)).toEqual(['failed', 'failed', 'succeeded']);
	expect(jsons[0]).toMatchObject({ error: 'item 0' });
	expect(attempts).toBe(4);
	expect([created, later]).toEqual([3, 0]);
});

test('nor does one for a run that has succeeded with something to say', async () => {
	const { jsons, attempts, created } = await executeThree({ shown: { error: 'slow' } });
	expect(jsons.map(({ error }) => error)).toEqual([
		'slow',
		expect.stringContaining('item 1') as string,
		undefined,
	]);
	expect([attempts, created]).toEqual([4, 3]);
});

test('an attempt that follows a failed item starts its run again', async () => {
	const { created } = await executeThree({ end: 'failed', shown: {} });
	// The first two items in four attempts, and the third once.
	expect(created).toBe(9);
});

describe('a run of an unknown status', () => {
	test.each([
		['2026-01-01T00:00:00Z', true],
		['29.11.26, 12h', true],
		['', false],
		[' ', false],
		['None', false],
		[' null ', false],
		['-', false],
		['0', false],
		['0000-00-00 00:00:00', false],
		['NaT', false],
		['Invalid date', false],
		['never', false],
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

// n8n 1 takes any `error` for a failed attempt, also null (docs/n8n.md, Errors).
describe.each([true, false])(
	'an error that says nothing is not output, with waiting %p',
	(waits) => {
		test.each([null, '', false])('%j', async (error) => {
			const hand: Hand = {
				respond: ({ kind }, own) => {
					const answer = own();
					if (kind === 'list') return answer;
					return { ...answer, body: JSON.stringify({ ...JSON.parse(answer.body), error }) };
				},
			};
			const { jsons } = await execute({ hand, waits, maxTries: 3 });
			expect(jsons[0]).toMatchObject({ run_id: expect.anything() as string });
			expect(jsons[0]).not.toHaveProperty('error');
		});
	},
);
