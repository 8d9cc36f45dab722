import { execute, OwnWorld } from '../support/simulation/ownWorld.cts';
import { json } from '../support/simulation/world/answers.cts';
import type { Hand } from '../support/simulation/world/hand.cts';

const SECOND = 1_000;

describe("where a proxy drops 'dry_run' from the address", () => {
	function starting(status = 'pending'): { started: string[]; hand: Hand } {
		const started: string[] = [];
		const respond = () => {
			started.push(`run-${started.length}`);
			return json(202, { run_id: started.at(-1), status });
		};
		return { started, hand: { respond } };
	}

	test.each([
		['Stop', 'stopWorkflow', 0],
		['Continue', 'continueRegularOutput', 0],
		['Continue, and the user wants many at a time', 'continueRegularOutput', 10],
	] as const)('one run is started, and no more: %s', async (_, onError, maxConcurrency) => {
		const { started, hand } = starting();
		const options = { maxConcurrency };
		const { jsons, error } = await execute({
			operation: 'dryRun',
			count: 20,
			onError,
			hand,
			options,
		});
		expect(started).toEqual(['run-0']);
		const messages = error ? [error.message] : jsons.map((one) => one.error);
		expect(new Set(messages)).toEqual(
			new Set(['The service started a run instead of a dry run (run run-0 of agent 1)']),
		);
		expect(messages).toHaveLength(error ? 1 : 20);
	});

	test("also if the run's status is written in another way", async () => {
		const { started, hand } = starting(' Pending');
		const { error } = await execute({ operation: 'dryRun', count: 20, hand });
		expect(started).toEqual(['run-0']);
		expect(error?.message).toContain('instead of a dry run (run run-0 of agent 1)');
	});

	test('the attempts of Retry On Fail start no other one', async () => {
		const { started, hand } = starting();
		const { jsons } = await execute({
			operation: 'dryRun',
			count: 5,
			onError: 'continueRegularOutput',
			maxTries: 4,
			hand,
		});
		expect(started).toEqual(['run-0']);
		expect(jsons.map(({ error }) => error)).toEqual(
			Array(5).fill('The service started a run instead of a dry run (run run-0 of agent 1)'),
		);
	});
});

test('where one of several items is a dry run, and starts a run, those of the others are gone on with', async () => {
	const world = new OwnWorld({
		count: 4,
		onError: 'stopWorkflow',
		runOf: () => ({ durationMs: 60 * SECOND }),
		service: { tripMs: [100, 300] },
		hand: {
			parameters: (item) => ({ dryRun: item === 3 }),
			respond: ({ kind }) =>
				kind === 'dryRun' ? json(202, { run_id: 'run-0', status: 'pending' }) : undefined,
		},
	});
	await world.execute();
	expect(world.started).toHaveLength(3);
	const before = world.requests.length;
	const { error } = await world.retry();
	expect(error?.message).toContain('instead of a dry run (run run-0 of agent 1)');
	const polled = world.requests.slice(before).map(({ runId }) => runId);
	expect(new Set(polled)).toEqual(new Set(world.runs.map(({ id }) => id)));
});

test('a dry run in which n8n was killed is carried out by the Retry, since it starts nothing', async () => {
	const world = new OwnWorld({
		operation: 'dryRun',
		count: 6,
		savesProgress: true,
		service: { tripMs: [2 * SECOND, 2 * SECOND] },
		kills: [{ atMs: 3 * SECOND, awayMs: SECOND }],
	});
	expect((await world.execute()).attempt.status).toBe('crashed');
	const { error, jsons } = await world.retry();
	expect(error).toBeUndefined();
	expect(jsons).toHaveLength(6);
});
