import { SimulatedHost, type Simulation } from '../support/simulation/simulatedHost.cts';
import { SimulatedService, type Behaviour } from '../support/simulation/simulatedService.cts';
import { settle } from '../support/virtualTime.cts';

// What becomes of items whose agent was given by its name when names change, or cannot be looked up.
const SECOND = 1_000;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const named = (value: string) => ({ agentId: { __rl: true, mode: 'name', value } });
const byId = (value: number) => ({ agentId: { __rl: true, mode: 'id', value } });

function hostOf(behaviour: Behaviour, simulation: Partial<Simulation> = {}): SimulatedHost {
	const service = new SimulatedService(behaviour);
	const options = { pollInterval: 65 };
	return new SimulatedHost({
		service,
		count: 3,
		options,
		parameters: named('Report'),
		...simulation,
	});
}

const lists = ({ simulation }: SimulatedHost) =>
	simulation.service.requests.filter(({ isList }) => isList).length;
const started = ({ simulation }: SimulatedHost) =>
	simulation.service.created.map(({ agentId, item }) => [agentId, item]);

/** Runs of 100 s and more, of which those of some items fail. */
function behaviourOf(agents: Record<number, string>, failing: number[] = []) {
	return {
		agents,
		failing,
		runOf(item: number) {
			const isFailing = this.failing.includes(item);
			const durationMs = (isFailing ? 400 : 100 + item * 400) * SECOND;
			return { durationMs, status: isFailing ? ('failed' as const) : ('succeeded' as const) };
		},
	};
}

test('an execution that was stored goes on without the list of agents', async () => {
	const behaviour: Behaviour = behaviourOf({ 7: 'Report' });
	const host = hostOf(behaviour);
	await settle(host.rest((await settle(host.runOnce())) as never));
	delete behaviour.agents;
	const items = await host.execute();
	expect(items.map(({ json }) => json.output)).toEqual(['0', '1', '2']);
	expect(host.rests.length).toBeGreaterThan(1);
	expect([started(host).length, lists(host)]).toEqual([3, 1]);
});

test('items that begin after a rest are looked up then, and fail alone where that is not possible', async () => {
	const behaviour: Behaviour = behaviourOf({ 7: 'Report' });
	const host = hostOf(behaviour, {
		options: { pollInterval: 65, maxConcurrency: 2 },
		node: { onError: 'continueRegularOutput' },
	});
	await settle(host.rest((await settle(host.runOnce())) as never));
	delete behaviour.agents;
	const items = await host.execute();
	expect(items.map(({ json: { output, error } }) => output ?? error)).toEqual([
		'0',
		'1',
		expect.stringContaining('could not process the request'),
	]);
	expect(started(host)).toEqual([
		[7, 0],
		[7, 1],
	]);
});

describe("n8n's Retry", () => {
	/** An execution whose second item has failed while the third one's run goes on. */
	async function fail(): Promise<{
		host: SimulatedHost;
		behaviour: ReturnType<typeof behaviourOf>;
	}> {
		const behaviour = behaviourOf({ 7: 'Report' }, [1]);
		const host = hostOf(behaviour);
		await expect(settle(host.run())).rejects.toThrow('failed: item 1');
		behaviour.failing = [];
		host.executionId = '2';
		return { host, behaviour };
	}

	test('keeps finished runs, waits for those that go on, and looks up the name for new ones alone', async () => {
		const { host, behaviour } = await fail();
		behaviour.agents = { 7: 'Old report', 8: 'Report' };
		const items = await host.execute();
		expect(items.map(({ json }) => [json.output, json.agent_id])).toEqual([
			['0', 7],
			['1', 8],
			['2', 7],
		]);
		expect(started(host)).toEqual([
			[7, 0],
			[7, 1],
			[7, 2],
			[8, 1],
		]);
	});

	test.each([
		['by its ID', byId(7), 4],
		['by its name in other letters', named(' REPORT'), 4],
		['another one', byId(8), 6],
	])('where the agent is given %s meanwhile', async (_, parameters, runs) => {
		const { host } = await fail();
		host.simulation.parameters = parameters;
		expect(await host.execute()).toHaveLength(3);
		expect(started(host)).toHaveLength(runs);
	});

	test('where it was given by its ID, and now is by its name', async () => {
		const behaviour = behaviourOf({ 7: 'Report' }, [1]);
		const host = hostOf(behaviour, { parameters: byId(7) });
		await expect(settle(host.run())).rejects.toThrow('failed: item 1');
		behaviour.failing = [];
		Object.assign(host, { executionId: '2' });
		host.simulation.parameters = named('Report');
		expect(await host.execute()).toHaveLength(3);
		expect(started(host)).toHaveLength(4);
	});

	test('starts none for what is in doubt, whoever has the name', async () => {
		const behaviour: Behaviour = {
			...behaviourOf({ 7: 'Report' }),
			trouble: ({ isCreate }) => (isCreate ? { statusCode: 500 } : undefined),
		};
		const host = hostOf(behaviour, { count: 1 });
		await expect(host.execute()).rejects.toThrow('may have been started');
		delete behaviour.trouble;
		delete behaviour.agents;
		host.executionId = '2';
		await expect(host.execute()).rejects.toThrow('may have started a run of agent 7 ');
		expect(started(host)).toEqual([]);
	});
});
