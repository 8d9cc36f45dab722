import type { IDataObject } from 'n8n-workflow';

import { SimulatedHost, type Simulation } from '../support/simulation/simulatedHost.cts';
import { SimulatedService, type Behaviour } from '../support/simulation/simulatedService.cts';
import { settle } from '../support/virtualTime.cts';

// Where n8n keeps nothing for the node, or would share what it keeps among calls, the node works all the same.
beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const byName = { agentId: { __rl: true, mode: 'name', value: 'Report' } };

function hostOf(simulation: Partial<Simulation> = {}, behaviour: Partial<Behaviour> = {}) {
	const service = new SimulatedService({
		runOf: (item) => ({ durationMs: 400_000 - item * 1_000 }),
		agents: { 7: 'Report' },
		latencyMs: 50,
		...behaviour,
	});
	return new SimulatedHost({ service, count: 1, ...simulation });
}

/** The output of one call. */
async function call(host: SimulatedHost): Promise<IDataObject | undefined> {
	const [output] = (await host.runOnce()) as Array<Array<{ json: IDataObject }>>;
	return output?.[0]?.json;
}

describe('two calls of a tool that runs in the process of its agent', () => {
	/** Calls of an agent of version 2 in one batch: they share run index and context. */
	async function callTwice() {
		const host = hostOf({ toolOf: 'AI Agent' });
		let calls = 0;
		host.parametersOf = () => ({ item: calls++ });
		const outputs = await settle(Promise.all([call(host), call(host)]));
		return { host, outputs };
	}

	test('start a run each, and each gets the result of its own', async () => {
		const { host, outputs } = await callTwice();
		expect(host.simulation.service.created.map(({ item }) => item)).toEqual([0, 1]);
		expect(outputs).toMatchObject([
			{ status: 'succeeded', output: '0' },
			{ status: 'succeeded', output: '1' },
		]);
	});

	test('leave nothing in what they share', async () => {
		const host = hostOf({ toolOf: 'AI Agent' });
		const running = host.runOnce();
		await jest.advanceTimersByTimeAsync(1_000);
		expect(host.simulation.service.created).toHaveLength(1);
		expect(host.context).toEqual({});
		await settle(running);
	});
});

test('a call that is made again after it has failed starts anew', async () => {
	const host = hostOf(
		{ toolOf: 'AI Agent' },
		{ runOf: () => ({ durationMs: 0, status: 'failed' }) },
	);
	expect(await settle(call(host))).toHaveProperty('error');
	await settle(call(host));
	expect(host.simulation.service.created).toHaveLength(2);
});

test('a tool that the engine runs has a memory that n8n keeps', async () => {
	const host = hostOf({ node: { type: 'agentInvocationTool' } });
	void host.runOnce();
	await jest.advanceTimersByTimeAsync(1_000);
	expect(host.context).toHaveProperty('agentInvocation');
	await settle(host.run());
});

describe('without execution data', () => {
	test.each<[string, IDataObject, unknown]>([
		['List', { resource: 'agent', operation: 'list' }, { id: 7, name: 'Report' }],
		['Create a run', {}, { status: 'succeeded', output: '0' }],
		['Create a run, its agent by name', byName, { agent_id: 7, output: '0' }],
		['a dry run', { dryRun: true }, { compiled: true }],
	])('%s works', async (_, parameters, output) => {
		const host = hostOf({ keepsNothing: true, parameters }, { compiled: { compiled: true } });
		expect(await settle(call(host))).toMatchObject(output as object);
	});

	test('Get a run works, and waits', async () => {
		const runId = '11111111-2222-4333-8444-000000000000';
		const parameters = { operation: 'get', runId, waitForCompletion: true };
		const host = hostOf({ keepsNothing: true, parameters });
		const create = { method: 'POST', url: 'https://x/agents/1/runs' } as const;
		const body = { parameter_bindings: [{ name: 'item', value: '0' }] };
		await settle(host.simulation.service.request({ ...create, body }));
		expect(await settle(call(host))).toMatchObject({ status: 'succeeded', output: '0' });
	});

	test('an item that fails is output with what is wrong, or ends the node', async () => {
		const failing = { runOf: () => ({ durationMs: 0, status: 'failed' as const }) };
		const stopping = hostOf({ keepsNothing: true }, failing);
		await expect(settle(stopping.runOnce())).rejects.toThrow(/item 0/);
		const node = { onError: 'continueErrorOutput' } as const;
		const continuing = hostOf({ keepsNothing: true, node }, failing);
		expect(await settle(call(continuing))).toMatchObject({ details: { agent_id: 1 } });
	});

	test('the list of agents is read once for all items', async () => {
		const host = hostOf({ keepsNothing: true, parameters: byName, count: 5 });
		expect(await settle(host.run())).toHaveLength(5);
		expect(host.simulation.service.requests.filter(({ isList }) => isList)).toHaveLength(1);
	});
});
