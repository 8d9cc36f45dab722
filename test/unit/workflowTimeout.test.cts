import { execute, OwnWorld, type Said } from '../support/simulation/ownWorld.cts';
import type { Hand } from '../support/simulation/world/hand.cts';
import { itemNumberOf } from '../support/simulation/world/history.cts';

// The workflow's own timeout: a wait ends before n8n ends the execution.
const SECOND = 1_000;

/** Waits without a time limit for a run that takes so long. */
const waiting = (workflowTimeoutS: number, said: Said = {}) =>
	execute({
		runOf: () => ({ durationMs: 3_600 * SECOND }),
		workflowTimeoutS,
		...said,
		options: { timeout: 0, ...said.options },
	});

test.each([90, 100, 600])('of %d s ends it half a minute before', async (s) => {
	const { error, ms } = await waiting(s);
	expect(error?.message).toContain(`has not finished within ${s - 30} s`);
	expect(Math.round(ms / SECOND)).toBe(s - 30);
});

describe("n8n's own, which the workflow's settings do not have,", () => {
	const ofN8n = (s: number, said: Said = {}) => waiting(s, { isTimeoutOfN8n: true, ...said });

	test('ends it as well', async () => {
		const { error, ms } = await ofN8n(100);
		expect(error?.message).toContain('has not finished within 70 s');
		expect(Math.round(ms / SECOND)).toBe(70);
	});

	test('counts from the beginning where the execution was stored', async () => {
		const { error, ms, parks } = await ofN8n(600, { options: { pollInterval: 110 } });
		expect(parks).toHaveLength(5);
		expect(error?.message).toContain('has not finished within 570 s');
		expect(Math.round(ms / SECOND)).toBe(570);
	});

	test('counts from the beginning in each turn of a loop', async () => {
		const { attempt } = await ofN8n(600, {
			turns: 3,
			runOf: () => ({ durationMs: 220 * SECOND }),
			options: { pollInterval: 110 },
		});
		expect(attempt.parks.length).toBeGreaterThan(2);
		expect(attempt.timedOutAt).toBeUndefined();
		expect(attempt.error?.message).toContain('has not finished within 1');
	});

	test('may be shorter than that of the workflow', async () => {
		const hand: Hand = { settings: { executionTimeout: 7_200 } };
		const { error } = await ofN8n(100, { hand });
		expect(error?.message).toContain('has not finished within 70 s');
	});
});

test('items that are left by then start no run, and say so', async () => {
	const { jsons, world } = await execute({
		count: 40,
		options: { maxConcurrency: 1 },
		onError: 'continueRegularOutput',
		workflowTimeoutS: 200,
		runOf: () => ({ durationMs: 100 * SECOND }),
	});
	expect(world.started).toEqual([0, 1]);
	const errors = jsons.slice(2).map(({ error }) => error);
	expect(errors).toEqual(
		Array(38).fill(
			"The run was not started, since the workflow's own timeout leaves no time to wait for it",
		),
	);
});

test('nor do those whose creates the service refuses until then', async () => {
	const { world } = await execute({
		count: 30,
		onError: 'continueRegularOutput',
		workflowTimeoutS: 200,
		runOf: () => ({ durationMs: 5 * SECOND }),
		hand: {
			respond: ({ kind, sentAt }) =>
				kind === 'create' && sentAt < 175 * SECOND ? { statusCode: 429 } : undefined,
		},
	});
	expect(world.runs).toEqual([]);
});

test.each<[string, Hand['respond']]>([
	['the service is slow', () => undefined],
	[
		'the service refuses',
		({ kind, sentAt }) =>
			kind === 'dryRun' && sentAt > 60 * SECOND ? { statusCode: 429 } : undefined,
	],
])('nor is anything checked for them then, where %s', async (_, respond) => {
	const { error, ms, world } = await execute({
		count: 40,
		options: { checkFirst: true, maxConcurrency: 1 },
		workflowTimeoutS: 200,
		service: { tripMs: [20_000, 20_000] },
		hand: { respond },
	});
	const checked = world.requests.filter(({ kind }) => kind === 'dryRun');
	expect(checked.length).toBeGreaterThan(2);
	expect(checked.every(({ sentAt }) => sentAt < 170 * SECOND)).toBe(true);
	expect(ms).toBeLessThan(200 * SECOND);
	expect(error?.message).toContain(
		"could not be checked: The run was not started, since the workflow's own timeout",
	);
	expect(world.requests).toHaveLength(checked.length);
});

describe('a pause that the service asks for beyond it', () => {
	const pausing = { statusCode: 503, headers: { 'retry-after': '200' } };

	test('gives up a create at once, and loses no other run', async () => {
		const { jsons, attempt } = await execute({
			count: 10,
			options: { retryCreateOnServerError: true },
			onError: 'continueRegularOutput',
			workflowTimeoutS: 120,
			hand: {
				respond: ({ kind, tag }) =>
					kind === 'create' && itemNumberOf(tag!) === 9 ? pausing : undefined,
			},
		});
		expect(attempt.timedOutAt).toBeUndefined();
		expect(jsons.slice(0, 9).map(({ status }) => status)).toEqual(Array(9).fill('succeeded'));
		expect(jsons[9]!.error).toContain('could not process the request');
	});

	test('gives up a check at once', async () => {
		const { error, attempt } = await execute({
			count: 3,
			options: { checkFirst: true },
			workflowTimeoutS: 120,
			hand: { respond: ({ kind }) => (kind === 'dryRun' ? pausing : undefined) },
		});
		expect(attempt.timedOutAt).toBeUndefined();
		expect(error?.message).toContain('could not be checked');
	});

	test.each([429, 503])('gives up the search for an agent at once (%d)', async (statusCode) => {
		const { jsons, attempt } = await execute({
			count: 2,
			onError: 'continueRegularOutput',
			workflowTimeoutS: 120,
			hand: {
				parameters: (item) => (item === 0 ? {} : { agentId: { mode: 'name', value: 'Reporter' } }),
				respond: ({ kind }) => (kind === 'list' ? { ...pausing, statusCode } : undefined),
			},
		});
		expect(attempt.timedOutAt).toBeUndefined();
		expect(jsons).toHaveLength(2);
		expect(jsons[1]!.error).toMatch(/rate limit|could not process/);
	});
});

test.each<[string, Said, unknown]>([
	['a dry run', { operation: 'dryRun' }, { prompt: 'of e0t0i14' }],
	['a run that is not waited for', { waits: false }, { status: 'pending' }],
	[
		'a run that is waited for',
		{},
		{ error: "The workflow's own timeout leaves no time to find the agent" },
	],
])('the search for the agent of %s is not what fails then', async (_, said, last) => {
	const { jsons } = await execute({
		count: 15,
		options: { maxConcurrency: 1 },
		onError: 'continueRegularOutput',
		workflowTimeoutS: 200,
		service: { tripMs: [12_200, 12_200] },
		hand: {
			parameters: (item) => (item < 14 ? {} : { agentId: { mode: 'name', value: 'Reporter' } }),
		},
		...said,
	});
	expect(jsons[14]).toMatchObject(last as object);
});

test('a search that is under way then fails only what there is no time for', async () => {
	const agentId = { mode: 'name', value: 'Reporter' };
	const ofItem = [{ agentId }, { agentId, waitForCompletion: false }];
	const { jsons } = await execute({
		count: 16,
		options: { maxConcurrency: 2 },
		onError: 'continueRegularOutput',
		workflowTimeoutS: 200,
		service: { tripMs: [11_000, 11_000] },
		hand: { parameters: (item) => ofItem[item - 14] ?? {} },
	});
	expect(jsons.slice(14)).toMatchObject([
		{ error: "The workflow's own timeout leaves no time to find the agent" },
		{ status: 'pending' },
	]);
});

test('a dry run is not waited for, so it is sent also then', async () => {
	const { jsons, world } = await execute({
		count: 12,
		operation: 'dryRun',
		options: { maxConcurrency: 1 },
		workflowTimeoutS: 200,
		service: { tripMs: [16_000, 16_000] },
	});
	expect(jsons).toHaveLength(12);
	expect(world.requests.at(-1)!.sentAt).toBeGreaterThan(170 * SECOND);
});

test('nor does Retry On Fail, once a run has failed then', async () => {
	const { jsons, world } = await execute({
		maxTries: 3,
		onError: 'continueRegularOutput',
		workflowTimeoutS: 200,
		options: { timeout: 0, pollInterval: 5 },
		runOf: () => ({ durationMs: 169 * SECOND, end: 'failed', shown: { error: 'x' } }),
	});
	expect(world.started).toEqual([0]);
	expect(jsons[0]?.error).toContain('The run was not started');
});

test('a create that is under way then is awaited', async () => {
	const { jsons, world } = await execute({
		count: 2,
		onError: 'continueRegularOutput',
		workflowTimeoutS: 200,
		options: { timeout: 0, maxConcurrency: 1, pollInterval: 1 },
		service: { tripMs: [5_000, 5_000] },
		runOf: () => ({ durationMs: 160 * SECOND }),
	});
	expect(world.started).toEqual([0, 1]);
	const [, run] = world.runs;
	expect(run!.request!.sentAt).toBeLessThan(170 * SECOND);
	expect(run!.request!.answeredAt).toBeGreaterThan(170 * SECOND);
	expect(jsons[1]?.error).toContain(
		`before the workflow's own timeout (run ${run!.id} of agent 1)`,
	);
});

test('of less than a minute and a half leaves no time for that, and n8n ends the execution', async () => {
	const { attempt } = await waiting(89);
	expect(attempt.timedOutAt).toBe(89 * SECOND);
});

test.each([0, -1])('of %d is none', async (executionTimeout) => {
	const { jsons, hints } = await waiting(0, { hand: { settings: { executionTimeout } } });
	expect(jsons).toMatchObject([{ status: 'succeeded' }]);
	expect(hints).toEqual([]);
});

test('counts from when the execution began, or the node where the host does not tell', async () => {
	// The second turn begins after 100 s.
	const runOf = () => ({ durationMs: 100 * SECOND });
	const { attempt } = await waiting(210, { turns: 2, runOf, options: { pollInterval: 5 } });
	expect(attempt.error?.message).toContain('has not finished within 80 s');
	const bare = await waiting(120, { host: 'bare' });
	expect(bare.error?.message).toContain('has not finished within 90 s');
});

test("is counted again in n8n's Retry", async () => {
	const world = new OwnWorld({
		count: 2,
		runOf: (item) => (item === 0 ? { durationMs: 3_600 * SECOND } : { end: 'failed', shown: {} }),
		options: { timeout: 0 },
		workflowTimeoutS: 300,
	});
	expect((await world.execute()).error?.message).toContain('failed');
	Object.assign(world.runOf(1), { end: 'succeeded' });
	const { error } = await world.retry({ afterMs: 100 * SECOND });
	expect(error?.message).toContain('has not finished within 270 s');
	expect(world.started).toEqual([0, 1, 1]);
});

test("n8n's Retry counts it from its own beginning in each turn of a loop", async () => {
	const world = new OwnWorld({
		turns: 2,
		runOf: () => ({ durationMs: 100 * SECOND }),
		options: { timeout: 0, pollInterval: 5 },
		cancelAtMs: 50 * SECOND,
		savesProgress: true,
	});
	expect((await world.execute()).attempt.status).toBe('canceled');
	world.world.executions[0]!.workflowTimeoutS = 160;
	// The second turn begins after 50 s.
	const { attempt } = await world.retry();
	expect(attempt.error?.message).toContain('has not finished within 80 s');
});

test('that is near keeps the wait in memory, and a hint says so', async () => {
	const options = { pollInterval: 110 };
	// 130 s are left after the poll at 440.
	const inTime = await waiting(600, { options, onError: 'continueRegularOutput' });
	expect(inTime.parks).toHaveLength(5);
	const near = await waiting(599, { options, onError: 'continueRegularOutput' });
	expect(near.parks).toHaveLength(4);
	expect(near.hints).toEqual([expect.stringMatching(/own timeout, or n8n's .* is near/)]);
});
