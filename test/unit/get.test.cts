import type { IDataObject } from 'n8n-workflow';

import { execute, OwnWorld, type Said } from '../support/simulation/ownWorld.cts';
import { json } from '../support/simulation/world/answers.cts';

// 'Get a run', from its parameters to its items.
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** What n8n makes of 'Get a run' of runs that were just started at the service, without waiting. */
const USUAL: Said = { operation: 'get', waits: false, runOf: () => ({ durationMs: MINUTE }) };

const get = (said: Said = {}) => execute({ ...USUAL, ...said });
const having = (parameters: object): Said => ({
	hand: { parameters: () => parameters as IDataObject },
});

test('gives the run as it is now', async () => {
	const { jsons, world, attempt } = await get();
	expect(jsons).toMatchObject([{ status: 'running', run_id: world.runs[0]?.id, agent_id: 1 }]);
	expect(world.requests).toHaveLength(1);
	expect(attempt.saves.at(-1)?.memory).toBe('{}');
});

test('with waiting, gives it once it has finished, and polls at once', async () => {
	const { jsons, world } = await get({ waits: true });
	expect(jsons).toMatchObject([{ status: 'succeeded', output: '0', agent_id: 1 }]);
	expect(world.polledAt[0]).toBeLessThan(SECOND);
	expect(world.requests.map(({ kind }) => kind)).not.toContain('create');
});

test.each([
	['an agent', { agentId: 'seven' }, /'Agent' is not an agent ID: seven/],
	['a run ID', { runId: '../x' }, /'Run ID' is not a run ID: \.\.\/x/],
	['no run ID', { runId: '' }, /'Run ID' is empty/],
	['a run ID that is nothing', { runId: null }, /'Run ID' is empty/],
	['a run ID that is no number', { runId: NaN }, /'Run ID' is not a run ID: NaN/],
	['half a character', { runId: '\ud83dabc' }, /'Run ID' is not a run ID/],
	['a list for an agent', { agentId: [7] }, /'Agent' is not an agent ID: an array/],
	[
		'a list for a name',
		{ agentId: { mode: 'name', value: ['Report'] } },
		/'Agent' must be a text, not 'an array'/,
	],
	['a time limit', { options: { timeout: -1 } }, /Time Limit \(Seconds\)/],
])('%s that cannot be sends nothing', async (_, parameters, says) => {
	const { error, world } = await get(having(parameters));
	expect(error?.message).toMatch(says);
	expect(world.requests).toEqual([]);
});

test('an agent by its name is looked up', async () => {
	const named = (value: string) => having({ agentId: { __rl: true, mode: 'name', value } });
	expect((await get(named('reporter'))).jsons).toMatchObject([{ agent_id: 1 }]);
	expect((await get(named('Nobody'))).error?.message).toContain("'Nobody'");
});

test('without waiting, trouble is met with five attempts, and named', async () => {
	const { error, world } = await get({ hand: { respond: () => ({ statusCode: 503 }) } });
	expect(error?.message).toContain(`(run ${world.runs[0]?.id} of agent 1)`);
	expect(world.requests).toHaveLength(5);
});

test.each([true, false])(
	'a run that has failed is a failed item, and never started again, with waiting: %p',
	async (waits) => {
		const shown = { error: 'item 0' };
		const runOf = () => ({ durationMs: 0, end: 'failed' as const, shown });
		const { error, world, attempt } = await get({ waits, runOf, maxTries: 2 });
		expect(error?.message).toContain('failed: item 0');
		expect(attempt.calls).toHaveLength(2);
		expect(world.requests.map(({ kind }) => kind)).not.toContain('create');
	},
);

test.each([true, false])('all items are asked for at a time, with waiting: %p', async (waits) => {
	const service = { tripMs: [5 * SECOND, 5 * SECOND] as [number, number] };
	const { world } = await get({ waits, service, count: 15 });
	expect(world.requests.filter(({ sentAt }) => sentAt < SECOND)).toHaveLength(15);
});

test('a run that is waited for is named where the execution is cancelled', async () => {
	const { error, world } = await get({ waits: true, cancelAtMs: 100 });
	expect(error?.context).toMatchObject({
		runs: [{ agentId: 1, runId: world.runs[0]?.id, itemIndex: 0 }],
	});
});

test.each([true, false])(
	'an execution that is cancelled meanwhile asks no more, with waiting: %p',
	async (waits) => {
		const respond = () => json(503, {});
		const { error, world } = await get({ waits, hand: { respond }, cancelAtMs: 100 });
		expect(error?.message).toMatch(/cancel/i);
		expect(world.requests).toHaveLength(1);
	},
);

test('a retry outputs the result again, without asking for it', async () => {
	const refused = json(401, { error: { code: 'invalid_api_key', message: 'No', request_id: 'r' } });
	const world = new OwnWorld({
		...USUAL,
		waits: true,
		count: 2,
		runOf: (item) => ({ durationMs: item === 0 ? SECOND : MINUTE }),
		maxTries: 5,
		waitBetweenMs: 5_000,
		hand: {
			respond({ runId, sentAt }) {
				const isLate = sentAt > 5 * SECOND;
				if (runId === world.runs[0]?.id) return isLate ? { statusCode: 503 } : undefined;
				return isLate && sentAt < 6.5 * SECOND ? refused : undefined;
			},
		},
	});
	const { jsons, attempt } = await world.execute();
	expect(jsons.map(({ output }) => output)).toEqual(['0', '1']);
	expect(attempt.calls).toHaveLength(2);
});

describe('a UUID in another form names the same run', () => {
	const UUID = '123e4567-e89b-12d3-a456-426614174000';
	const finished = () => json(200, { run_id: UUID, status: 'succeeded', output: 'Done' });

	test.each([UUID.toUpperCase(), UUID.replaceAll('-', ''), `{${UUID}}`, `urn:uuid:${UUID}`])(
		'%s',
		async (runId) => {
			for (const waits of [false, true]) {
				const hand = { parameters: () => ({ runId }), respond: finished };
				const { jsons } = await execute({ operation: 'get', waits, hand });
				expect(jsons).toMatchObject([{ status: 'succeeded', output: 'Done' }]);
			}
		},
	);

	test('also where the create gives one form and the status another', async () => {
		const { jsons } = await execute({
			hand: {
				respond: ({ kind }) =>
					kind === 'create'
						? json(202, { run_id: UUID.replaceAll('-', ''), status: 'pending' })
						: finished(),
			},
		});
		expect(jsons).toMatchObject([{ output: 'Done' }]);
	});
});

test('one old run that many items get counts once for when the next runs are polled', async () => {
	const HOUR = 60 * MINUTE;
	const OLD = '99999999-2222-4333-8444-555555555555';
	const shown = json(200, {
		run_id: OLD,
		status: 'succeeded',
		created_at: '2025-12-01T00:00:00Z',
		completed_at: '2025-12-01T02:00:00Z',
	});
	const runOf = () => ({ durationMs: 20 * SECOND });
	/** How late the last of 51 runs of 20 s is noticed, after so many items have got an old one. */
	const latenessAfter = async (count: number) => {
		const world = new OwnWorld({
			count: 50,
			runOf,
			hand: {
				respond: ({ runId }) => (runId === OLD ? shown : undefined),
				parameters: () => ({ runId: OLD }),
			},
			beside: [
				{ startsAtMs: HOUR, operation: 'get', waits: true, count },
				{ startsAtMs: 2 * HOUR, runOf },
			],
		});
		await world.execute();
		const last = world.runs.at(-1)!;
		const seen = world.requests.find(({ runId, said }) => runId === last.id && said === 'finished');
		return seen!.answeredAt - last.endsAt;
	};
	expect(await latenessAfter(60)).toBe(await latenessAfter(1));
});
