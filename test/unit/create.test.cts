import { SimulatedHost, type Simulation } from '../support/simulation/simulatedHost.cts';
import {
	json,
	SimulatedService,
	type Behaviour,
	type SimulatedResponse,
} from '../support/simulation/simulatedService.cts';

// 'Create a run', from its parameters to its items.
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const quick: Behaviour = { runOf: () => ({ durationMs: 2 * SECOND }) };

/** Runs the node to its end, and gives its items, or the error that it threw. */
async function create(behaviour: Behaviour = quick, simulation: Partial<Simulation> = {}) {
	const service = new SimulatedService(behaviour);
	const host = new SimulatedHost({ service, count: 1, ...simulation });
	const beganAt = performance.now();
	const seen = { service, host, jsons: [] as unknown[], thrown: '', ms: 0 };
	try {
		seen.jsons = (await host.execute()).map(({ json }) => json);
	} catch (thrown) {
		seen.thrown = (thrown as Error).message;
	}
	seen.ms = performance.now() - beganAt;
	return seen;
}

/** An answer to each of the first creates in place of the service's own. */
function answering(count: number, response: SimulatedResponse): Behaviour {
	let left = count;
	return {
		...quick,
		trouble: ({ isCreate }) => (isCreate && left-- > 0 ? response : undefined),
	};
}

test('what is not set is as by default: it waits, in text, and starts the run once', async () => {
	const { service, jsons, host } = await create(quick, { parameters: { options: undefined } });
	expect(service.created).toHaveLength(1);
	expect(jsons).toMatchObject([{ status: 'succeeded', agent_id: 1, output: '0' }]);
	expect(host.hints).toEqual([]);
});

test("without waiting, what identifies the run is the node's own, whatever the service says", async () => {
	const behaviour = {
		...quick,
		trouble: () => json(202, { run_id: 'r', agent_id: null, status: 'pending' }),
	};
	const { jsons } = await create(behaviour, { parameters: { waitForCompletion: false } });
	expect(jsons).toEqual([{ agent_id: 1, run_id: 'r', status: 'pending' }]);
});

test.each<[string, Partial<Simulation>, RegExp]>([
	['an agent', { parameters: { agentId: 'one' } }, /agent/i],
	['parameters', { parameters: { parametersJson: '7' } }, /parameter/i],
	['a time limit', { options: { timeout: -1 } }, /Time Limit \(Seconds\)/],
	['an interval', { options: { pollInterval: 86_401 } }, /Poll Interval \(Seconds\)/],
	['a Max Concurrency that is not whole', { options: { maxConcurrency: 1.5 } }, /Max Concurrency/],
	['one below zero', { options: { maxConcurrency: -1 } }, /Max Concurrency/],
	['one above a thousand', { options: { maxConcurrency: 1_001 } }, /Max Concurrency/],
])('%s that cannot be sends nothing', async (_, simulation, says) => {
	const { service, thrown } = await create(quick, simulation);
	expect(thrown).toMatch(says);
	expect(service.requests).toEqual([]);
});

describe('how many items begin at first', () => {
	test.each([
		[0, 10],
		[3, 3],
		['12', 12],
	])('with Max Concurrency %p: %d', async (maxConcurrency, expected) => {
		const long: Behaviour = { runOf: () => ({ durationMs: MINUTE }) };
		const { service } = await create(long, { count: 15, options: { maxConcurrency } });
		const first = service.created[0]!.at;
		expect(service.created.filter(({ at }) => at < first + 3 * SECOND)).toHaveLength(expected);
	});
});

describe('without waiting', () => {
	const simulation = { parameters: { waitForCompletion: false } };

	test('the run is given as it was created, and not polled', async () => {
		const { service, jsons } = await create(quick, simulation);
		expect(jsons).toEqual([
			{ agent_id: 1, run_id: '11111111-2222-4333-8444-000000000000', status: 'pending' },
		]);
		expect(service.requests).toHaveLength(1);
	});

	test('a rate limit is waited out for five minutes', async () => {
		const refusing = answering(Infinity, { statusCode: 429, headers: { 'retry-after': '7' } });
		const { thrown, ms } = await create(refusing, simulation);
		expect(thrown).toMatch(/rate limit/);
		expect(ms).toBeGreaterThan(5 * MINUTE - 8 * SECOND);
		expect(ms).toBeLessThanOrEqual(5 * MINUTE);
	});
});

describe('with waiting, a rate limit is waited out', () => {
	const refusal = { statusCode: 429, headers: { 'retry-after': '7' } };

	test.each([
		[60, 5],
		[600, 10],
	])('with a time limit of %d s for %d minutes', async (timeout, minutes) => {
		const { thrown, ms } = await create(answering(Infinity, refusal), { options: { timeout } });
		expect(thrown).toMatch(/rate limit/);
		expect(ms).toBeGreaterThan(minutes * MINUTE - 8 * SECOND);
		expect(ms).toBeLessThanOrEqual(minutes * MINUTE);
	});

	test('for as long as it takes, where there is none', async () => {
		const { jsons, ms } = await create(answering(100, refusal), { options: { timeout: 0 } });
		expect(jsons).toMatchObject([{ status: 'succeeded' }]);
		expect(ms).toBeGreaterThan(11 * MINUTE);
	});
});

describe('after a server error', () => {
	const failing = () => answering(1, { statusCode: 503 });

	test.each([{}, { retryCreateOnServerError: 'false' }])(
		'nothing is sent again, with %p',
		async (options) => {
			const { service } = await create(failing(), { options });
			expect(service.requests).toHaveLength(1);
		},
	);

	test.each([true, 'true'])(
		'the create is sent again where the user allows it: %p',
		async (allowed) => {
			const options = { retryCreateOnServerError: allowed };
			const { service, jsons } = await create(failing(), { options });
			expect(jsons).toMatchObject([{ status: 'succeeded' }]);
			expect(service.created).toHaveLength(1);
		},
	);

	test('and again, five times in all', async () => {
		const options = { retryCreateOnServerError: true };
		const { service, thrown } = await create(answering(Infinity, { statusCode: 503 }), { options });
		expect(service.requests).toHaveLength(5);
		expect(thrown).toContain('could not process the request');
	});
});

test('a run that has finished when it is created is polled at once, for its output', async () => {
	const behaviour = { runOf: () => ({ durationMs: 0 }), statusAtFirst: 'succeeded' } as const;
	const { jsons, service, ms } = await create(behaviour);
	expect(jsons).toMatchObject([{ status: 'succeeded', output: '0' }]);
	expect(service.polledAt).toHaveLength(1);
	// As soon as the pace allows it.
	expect(ms).toBeLessThan(20);
});

describe('a dry run', () => {
	const simulation = { parameters: { dryRun: true } };

	test.each([
		[{ prompt: 'Do it' }, { prompt: 'Do it' }],
		['Do it', { result: 'Do it' }],
		[[1], { result: [1] }],
		[null, { result: null }],
	])('that gives %j is output as %j, and starts nothing', async (compiled, expected) => {
		const { jsons, service } = await create({ ...quick, compiled }, simulation);
		expect(jsons).toEqual([expected]);
		expect(service.requests).toMatchObject([{ isDryRun: true }]);
		expect(service.created).toEqual([]);
	});

	test('is sent again like a read', async () => {
		const trouble = ({ number }: { number: number }) =>
			number < 2 ? { statusCode: 503 } : undefined;
		const { jsons } = await create({ ...quick, compiled: {}, trouble }, simulation);
		expect(jsons).toEqual([{}]);
	});

	test('that the service refuses fails, with its words and the agent', async () => {
		const error = { code: 'invalid_parameter', message: 'No such city', request_id: 'r1' };
		const refused = { ...quick, trouble: () => json(400, { error }) };
		const { jsons } = await create(refused, {
			...simulation,
			node: { onError: 'continueRegularOutput' },
		});
		expect(jsons).toMatchObject([{ details: { agent_id: 1, request_id: 'r1' } }]);
		expect(JSON.stringify(jsons)).toContain('No such city');
	});

	test('of an agent by its name looks it up, and fails where there is none', async () => {
		const agents = { 4: 'Reporter' };
		const named = (value: string) => ({
			parameters: { dryRun: true, agentId: { __rl: true, mode: 'name', value } },
		});
		const found = await create({ ...quick, agents, compiled: {} }, named('reporter'));
		expect(found.jsons).toEqual([{}]);
		const { thrown, service } = await create({ ...quick, agents }, named('Nobody'));
		expect(thrown).toContain('Nobody');
		expect(service.requests.some(({ isDryRun }) => isDryRun)).toBe(false);
	});
});
