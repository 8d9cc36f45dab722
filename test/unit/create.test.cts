import { execute, type Said } from '../support/simulation/ownWorld.cts';
import { json, type Answered } from '../support/simulation/world/answers.cts';
import type { Hand } from '../support/simulation/world/hand.cts';

// 'Create a run', from its parameters to its items.
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** With parameters of the node in place of the usual ones. */
const having = (parameters: object): Said => ({
	hand: { parameters: () => parameters as Record<string, string> },
});

/** An answer to each of the first creates in place of the service's own. */
function answering(count: number, answer: Partial<Answered>): Hand {
	let left = count;
	return { respond: ({ kind }) => (kind === 'create' && left-- > 0 ? answer : undefined) };
}

test('what is not set is as by default: it waits, in text, and starts the run once', async () => {
	const { world, jsons, hints } = await execute(
		having({ options: undefined, waitForCompletion: undefined }),
	);
	expect(world.runs).toHaveLength(1);
	expect(jsons).toMatchObject([{ status: 'succeeded', agent_id: 1, output: '0' }]);
	expect(hints).toEqual([]);
});

test.each<[string, Said, RegExp[]]>([
	['runs that go on', { waits: false }, [/^These runs continue at the service/]],
	['a dry run', { operation: 'dryRun' }, [/^This was a dry run/]],
	['no run', { waits: false, hand: { respond: () => ({ statusCode: 401 }) } }, []],
	[
		'what an expression has joined',
		having({ parametersJson: { a: 'of [object Object]' } }),
		[/^The value of parameter 'a' contains/],
	],
	[
		'one with a name that n8n would take for HTML',
		having({ parametersJson: { '<b>&': 'of [object Object]' } }),
		[/^The value of parameter '&lt;b&gt;&amp;' contains/],
	],
])('there is a hint at %s', async (_, said, says) => {
	const { hints } = await execute({ onError: 'continueRegularOutput', ...said });
	expect(hints).toEqual(says.map((one) => expect.stringMatching(one) as string));
});

test.each([undefined, null, ''])(
	'a run whose creation shows the status %j counts as pending',
	async (status) => {
		const { jsons } = await execute({
			waits: false,
			hand: {
				node: { type: 'agentInvocationTool' },
				respond: () => json(202, { run_id: 'r', status }),
			},
		});
		expect(jsons).toMatchObject([{ status: 'pending', advice: expect.any(String) as string }]);
	},
);

test('a model whose call lacks a required value is told to give it', async () => {
	const parameters = {
		mappingMode: 'defineBelow',
		value: {},
		schema: [{ id: 'a', required: true }],
	};
	const said = having({ specifyParameters: 'fields', parameters });
	const node = { type: 'agentInvocationTool' };
	const { jsons } = await execute({ ...said, hand: { ...said.hand, node } });
	expect(jsons).toMatchObject([
		{
			error: "Parameter 'a' is required and has no value",
			advice: 'Call this tool again with a value for this parameter.',
		},
	]);
});

test("without waiting, what identifies the run is the node's own, whatever the service says", async () => {
	const respond = () => json(202, { run_id: 'r', agent_id: null });
	const { jsons } = await execute({ waits: false, hand: { respond } });
	expect(jsons).toEqual([{ agent_id: 1, run_id: 'r', status: 'pending' }]);
});

test.each<[string, Said, RegExp]>([
	['an agent', having({ agentId: 'one' }), /agent/i],
	['parameters', having({ parametersJson: '7' }), /parameter/i],
	['a time limit', { options: { timeout: -1 } }, /Time Limit \(Seconds\)/],
	['an interval', { options: { pollInterval: 86_401 } }, /Poll Interval \(Seconds\)/],
	['a Max Concurrency that is not whole', { options: { maxConcurrency: 1.5 } }, /Max Concurrency/],
	['one below zero', { options: { maxConcurrency: -1 } }, /Max Concurrency/],
	['one above a thousand', { options: { maxConcurrency: 1_001 } }, /Max Concurrency/],
])('%s that cannot be sends nothing', async (_, said, says) => {
	const { world, error } = await execute(said);
	expect(error?.message).toMatch(says);
	expect(world.requests).toEqual([]);
});

describe('how many items begin at first', () => {
	test.each([
		[0, 10],
		[3, 3],
		['12', 12],
	])('with Max Concurrency %p: %d', async (maxConcurrency, expected) => {
		const runOf = () => ({ durationMs: MINUTE });
		const { world } = await execute({ count: 15, runOf, options: { maxConcurrency } });
		const atFirst = world.runs.filter(({ createdAt }) => createdAt < 3 * SECOND);
		expect(atFirst).toHaveLength(expected);
	});
});

describe('without waiting', () => {
	test('the run is given as it was created, and not polled', async () => {
		const { world, jsons } = await execute({ waits: false });
		expect(jsons).toEqual([{ agent_id: 1, run_id: world.runs[0]?.id, status: 'pending' }]);
		expect(world.requests).toHaveLength(1);
	});

	test('a rate limit is waited out for five minutes', async () => {
		const hand = answering(Infinity, { statusCode: 429, headers: { 'retry-after': '7' } });
		const { error, ms } = await execute({ waits: false, hand });
		expect(error?.message).toMatch(/rate limit/);
		expect(ms).toBeGreaterThan(5 * MINUTE - 30 * SECOND);
		expect(ms).toBeLessThanOrEqual(5 * MINUTE);
	});
});

describe('with waiting, a rate limit is waited out', () => {
	const refusal = { statusCode: 429, headers: { 'retry-after': '7' } };

	test.each([
		[60, 5],
		[600, 10],
	])('with a time limit of %d s for %d minutes', async (timeout, minutes) => {
		const hand = answering(Infinity, refusal);
		const { error, ms } = await execute({ options: { timeout }, hand });
		expect(error?.message).toMatch(/rate limit/);
		expect(ms).toBeGreaterThan(minutes * MINUTE - 30 * SECOND);
		expect(ms).toBeLessThanOrEqual(minutes * MINUTE);
	});

	test('for as long as it takes, where there is none', async () => {
		const hand = answering(100, refusal);
		const { jsons, ms } = await execute({ options: { timeout: 0 }, hand });
		expect(jsons).toMatchObject([{ status: 'succeeded' }]);
		expect(ms).toBeGreaterThan(11 * MINUTE);
	});
});

describe('after a server error', () => {
	const failing = () => answering(1, { statusCode: 503 });

	test.each([{}, { retryCreateOnServerError: 'false' }])(
		'nothing is sent again, with %p',
		async (options) => {
			const { world } = await execute({ hand: failing(), options });
			expect(world.requests).toHaveLength(1);
		},
	);

	test.each([true, 'true'])(
		'the create is sent again where the user allows it: %p',
		async (allowed) => {
			const options = { retryCreateOnServerError: allowed };
			const { world, jsons } = await execute({ hand: failing(), options });
			expect(jsons).toMatchObject([{ status: 'succeeded' }]);
			expect(world.runs).toHaveLength(1);
		},
	);

	test('and again, five times in all', async () => {
		const options = { retryCreateOnServerError: true };
		const hand = answering(Infinity, { statusCode: 503 });
		const { world, error } = await execute({ hand, options });
		expect(world.requests).toHaveLength(5);
		expect(error?.message).toContain('could not process the request');
	});
});

test('a run that has finished when it is created is polled at once, for its output', async () => {
	const respond: Hand['respond'] = (_, own) => {
		const answer = own();
		return { ...answer, body: answer.body.replace('pending', 'succeeded') };
	};
	const { jsons, world, ms } = await execute({
		runOf: () => ({ durationMs: 0 }),
		hand: { respond },
	});
	expect(jsons).toMatchObject([{ status: 'succeeded', output: '0' }]);
	expect(world.polledAt).toHaveLength(1);
	// As soon as the pace allows it.
	expect(ms).toBeLessThan(20);
});

describe('a dry run', () => {
	const operation = 'dryRun';

	test.each([
		[{ prompt: 'Do it' }, { prompt: 'Do it' }],
		['Do it', { result: 'Do it' }],
		[[1], { result: [1] }],
		[null, { result: null }],
	])('that gives %j is output as %j, and starts nothing', async (compiled, expected) => {
		const respond = () => json(200, compiled);
		const { jsons, world } = await execute({ operation, hand: { respond } });
		expect(jsons).toEqual([expected]);
		expect(world.requests).toMatchObject([{ kind: 'dryRun' }]);
	});

	test('is sent again like a read', async () => {
		const respond: Hand['respond'] = ({ number }) =>
			number < 2 ? { statusCode: 503 } : json(200, {});
		const { jsons } = await execute({ operation, hand: { respond } });
		expect(jsons).toEqual([{}]);
	});

	test('that the service refuses fails, with its words and the agent', async () => {
		const error = { code: 'invalid_parameter', message: 'No such city', request_id: 'r1' };
		const { jsons } = await execute({
			operation,
			onError: 'continueRegularOutput',
			hand: { respond: () => json(400, { error }) },
		});
		expect(jsons).toMatchObject([{ details: { agent_id: 1, request_id: 'r1' } }]);
		expect(JSON.stringify(jsons)).toContain('No such city');
	});

	test('of an agent by its name looks it up, and fails where there is none', async () => {
		const named = (value: string): Said => ({
			...having({ agentId: { __rl: true, mode: 'name', value } }),
			operation,
		});
		expect((await execute(named('reporter'))).jsons).toHaveLength(1);
		const { error, world } = await execute(named('Nobody'));
		expect(error?.message).toContain('Nobody');
		expect(world.requests.map(({ kind }) => kind)).not.toContain('dryRun');
	});
});
