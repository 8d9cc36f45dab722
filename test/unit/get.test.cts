import { SimulatedHost, type Simulation } from '../support/simulation/simulatedHost.cts';
import { json, SimulatedService, type Behaviour } from '../support/simulation/simulatedService.cts';
import { settle } from '../support/virtualTime.cts';

// 'Get a run', from its parameters to its items.
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const RUN_ID = '11111111-2222-4333-8444-000000000000';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** Gets the run that was just started at the service; gives what the node gave, or threw. */
async function get(
	parameters: object = {},
	{ behaviour = {}, ...simulation }: Partial<Simulation> & { behaviour?: Partial<Behaviour> } = {},
) {
	const service = new SimulatedService({ runOf: () => ({ durationMs: MINUTE }), ...behaviour });
	const at = performance.now();
	service.created.push({ agentId: 7, item: 0, at, date: Date.now() });
	const host = new SimulatedHost({
		service,
		count: 1,
		...simulation,
		parameters: { operation: 'get', agentId: 7, runId: RUN_ID, ...parameters },
	});
	const seen = { service, host, jsons: [] as unknown[], thrown: '', ms: 0 };
	try {
		seen.jsons = (await host.execute()).map((item) => item.json);
	} catch (thrown) {
		seen.thrown = (thrown as Error).message;
	}
	seen.ms = performance.now() - at;
	return seen;
}

test('gives the run as it is now', async () => {
	const { jsons, service, host } = await get();
	expect(jsons).toMatchObject([{ status: 'running', run_id: RUN_ID, agent_id: 7 }]);
	expect(service.requests).toHaveLength(1);
	expect(host.context).toEqual({});
});

test('with waiting, gives it once it has finished, and polls at once', async () => {
	const { jsons, service } = await get({ waitForCompletion: true });
	expect(jsons).toMatchObject([{ status: 'succeeded', output: '0', agent_id: 7 }]);
	expect(service.polledAt[0]).toBeLessThan(SECOND);
	expect(service.created).toHaveLength(1);
});

test.each([
	['an agent', { agentId: 'seven' }, /'Agent' is not a whole number: seven/],
	['a run ID', { runId: '../x' }, /'Run ID' is not a run ID: \.\.\/x/],
	['no run ID', { runId: '' }, /'Run ID' is empty/],
	['a run ID that is nothing', { runId: null }, /'Run ID' is empty/],
	['a run ID that is no number', { runId: NaN }, /'Run ID' is not a run ID: NaN/],
	['half a character', { runId: '\ud83dabc' }, /'Run ID' is not a run ID/],
	['a list for an agent', { agentId: [7] }, /'Agent' is not a whole number: an array/],
	[
		'a list for a name',
		{ agentId: { mode: 'name', value: ['Report'] } },
		/'Agent' must be a text, not 'an array'/,
	],
	['a time limit', { options: { timeout: -1 } }, /Time Limit \(Seconds\)/],
])('%s that cannot be sends nothing', async (_, parameters, says) => {
	const { thrown, service } = await get(parameters);
	expect(thrown).toMatch(says);
	expect(service.requests).toEqual([]);
});

test('an agent by its name is looked up', async () => {
	const named = (value: string) => ({ agentId: { __rl: true, mode: 'name', value } });
	const behaviour = { agents: { 7: 'Reporter' } };
	expect((await get(named('reporter'), { behaviour })).jsons).toMatchObject([{ agent_id: 7 }]);
	expect((await get(named('Nobody'), { behaviour })).thrown).toContain("'Nobody'");
});

test('without waiting, trouble is met with five attempts, and named', async () => {
	const behaviour = { trouble: () => ({ statusCode: 503 }) };
	const { thrown, service } = await get({}, { behaviour });
	expect(thrown).toContain(`(run ${RUN_ID} of agent 7)`);
	expect(service.requests).toHaveLength(5);
});

test('a run that has failed is a failed item, and never started anew', async () => {
	const behaviour = { runOf: () => ({ durationMs: 0, status: 'failed' as const }) };
	for (const waitForCompletion of [true, false]) {
		const { thrown, service, host } = await get(
			{ waitForCompletion },
			{ behaviour, node: { retryOnFail: true, maxTries: 2 } },
		);
		expect(thrown).toContain('failed: item 0');
		expect(host.context).toMatchObject({
			agentInvocation: { byRunIndex: { 0: { items: { 0: { is: 'failed' } } } } },
		});
		expect(service.created).toHaveLength(1);
	}
});

test.each([true, false])('all items are asked for at a time, with waiting: %p', async (waits) => {
	const behaviour = { latencyMs: 5 * SECOND };
	const { service } = await get({ waitForCompletion: waits }, { behaviour, count: 15 });
	const [first] = service.requests;
	expect(service.requests.filter(({ at }) => at < first!.at + SECOND)).toHaveLength(15);
});

test('a run that is waited for is remembered, and named where the execution is cancelled', async () => {
	const service = new SimulatedService({ runOf: () => ({ durationMs: MINUTE }) });
	service.created.push({ agentId: 7, item: 0, at: performance.now(), date: Date.now() });
	const host = new SimulatedHost({
		service,
		count: 1,
		parameters: { operation: 'get', agentId: 7, runId: RUN_ID, waitForCompletion: true },
	});
	setTimeout(() => host.cancelling.abort(), 100);
	const context = { runs: [{ agentId: 7, runId: RUN_ID, itemIndex: 0 }] };
	await expect(host.execute()).rejects.toMatchObject({ context });
	expect(JSON.stringify(host.context)).toContain(RUN_ID);
});

test('an execution that is cancelled meanwhile asks no more', async () => {
	for (const waitForCompletion of [true, false]) {
		const service = new SimulatedService({
			runOf: () => ({ durationMs: MINUTE }),
			trouble: () => json(503, {}),
		});
		const host = new SimulatedHost({
			service,
			count: 1,
			parameters: { operation: 'get', agentId: 7, runId: RUN_ID, waitForCompletion },
		});
		setTimeout(() => host.cancelling.abort(), 100);
		await expect(host.execute()).rejects.toThrow(/cancel/i);
		expect(service.requests).toHaveLength(1);
	}
});

test('a retry outputs the result again, without asking for it', async () => {
	const service = new SimulatedService({
		runOf: (item) => ({ durationMs: item === 0 ? SECOND : MINUTE }),
		trouble({ url, at }) {
			if (url.endsWith('000000000000')) return at > 5 * SECOND ? { statusCode: 503 } : undefined;
			return at > 5 * SECOND && at < 6.5 * SECOND ? refused : undefined;
		},
	});
	const refused = json(401, { error: { code: 'invalid_api_key', message: 'No', request_id: 'r' } });
	for (const item of [0, 1]) {
		service.created.push({ agentId: 7, item, at: performance.now(), date: Date.now() });
	}
	const runIds = [RUN_ID, RUN_ID.replace(/0$/, '1')];
	const host = new SimulatedHost({
		service,
		count: 2,
		node: { retryOnFail: true, maxTries: 5, waitBetweenTries: 5_000 },
		parameters: { operation: 'get', agentId: 7, waitForCompletion: true, options: {} },
	});
	const functions = host.functions.bind(host);
	host.functions = () => {
		const given = functions();
		const read = given.getNodeParameter.bind(given) as (
			name: string,
			...rest: unknown[]
		) => unknown;
		return Object.assign(given, {
			getNodeParameter: (name: string, item: number, fallback: unknown) =>
				name === 'runId' ? runIds[item] : read(name, item, fallback),
		});
	};
	const outputs = await settle(host.runWithRetries(5));
	expect(outputs.map(({ json: { output } }) => output)).toEqual(['0', '1']);
});
