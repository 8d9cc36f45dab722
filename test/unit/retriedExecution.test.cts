import type { EngineRequest, IDataObject } from 'n8n-workflow';

import { SimulatedHost, type Simulation } from '../support/simulation/simulatedHost.cts';
import {
	json,
	SimulatedService,
	type Behaviour,
	type SeenRequest,
} from '../support/simulation/simulatedService.cts';
import { settle } from '../support/virtualTime.cts';

// What n8n's Retry of an execution makes of the runs of before.
const SECOND = 1_000;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

function hostOf(behaviour: Behaviour, simulation: Partial<Simulation>) {
	return new SimulatedHost({ service: new SimulatedService(behaviour), count: 3, ...simulation });
}

const started = (host: SimulatedHost) => host.simulation.service.created.map(({ item }) => item);

/** The error that ends the node. */
async function errorOf(host: SimulatedHost) {
	const outcome = await host.execute().catch((thrown: unknown) => thrown);
	expect(outcome).toBeInstanceOf(Error);
	return outcome as Error & { description: string; context: { runs?: unknown[] } };
}

/** n8n's Retry. */
function retry(host: SimulatedHost, context: IDataObject = host.context): SimulatedHost {
	const executionId = `${Number(host.executionId) + 1}`;
	return Object.assign(host, { context: structuredClone(context), executionId, mode: 'retry' });
}

describe('of an execution that failed', () => {
	/** The first item has its result, the second one's run has failed, and the third one's goes on. */
	async function fail() {
		const failing = [1];
		const host = hostOf(
			{
				runOf: (item) => ({
					durationMs: [10, 20, 60][item]! * SECOND,
					status: failing.includes(item) ? 'failed' : 'succeeded',
				}),
			},
			{},
		);
		await expect(host.execute()).rejects.toThrow('failed: item 1');
		failing.pop();
		return retry(host);
	}

	/** An expression such as `$now` has given the second parameter. */
	const atAnotherTime = (host: SimulatedHost) =>
		Object.assign(host, { parametersOf: (item: number) => ({ item, at: performance.now() }) });

	test('values that have changed by themselves start no finished or running run anew', async () => {
		const host = atAnotherTime(await fail());
		const items = await host.execute();
		expect(items.map(({ json }) => json.output)).toEqual(['0', '1', '2']);
		expect(started(host)).toEqual([0, 1, 2, 1]);
	});

	test('a value that cannot be read any more fails no item that has its run', async () => {
		const host = await fail();
		host.parametersOf = (item) => {
			if (item !== 1) throw new Error('No data');
			return { item };
		};
		expect(await host.execute()).toHaveLength(3);
	});

	test('a longer time limit goes on with the same runs', async () => {
		const host = atAnotherTime(await fail());
		host.simulation.options = { timeout: 7_200 };
		await host.execute();
		expect(started(host)).toEqual([0, 1, 2, 1]);
	});

	test('a node that the user has changed starts those anew that would start something else', async () => {
		const host = await fail();
		host.simulation.parameters = { note: 'changed' };
		host.parametersOf = (item) => (item === 2 ? { item, more: 1 } : { item });
		const items = await host.execute();
		expect(items.map(({ json }) => json.output)).toEqual(['0', '1', '2']);
		expect([...started(host)].sort()).toEqual([0, 1, 1, 2, 2]);
	});

	test('one that reached its time limit too', async () => {
		const options = { timeout: 30 };
		const host = hostOf({ runOf: () => ({ durationMs: 60 * SECOND }) }, { count: 1, options });
		await expect(host.execute()).rejects.toThrow('has not finished');
		host.simulation.parameters = { note: 'changed' };
		host.simulation.options = {};
		atAnotherTime(retry(host));
		expect(await host.execute()).toHaveLength(1);
		expect(started(host)).toEqual([0, 0]);
	});

	test('and so does the Retry of that one', async () => {
		const host = await fail();
		host.simulation.parameters = { note: 'changed' };
		host.cancelling.abort();
		await expect(host.execute()).rejects.toThrow('canceled');
		host.cancelling = new AbortController();
		atAnotherTime(retry(host));
		await host.execute();
		expect(started(host).length).toBe(6);
	});

	test('a credential with another address starts them anew there', async () => {
		const host = await fail();
		host.credential = () =>
			Promise.resolve({ baseUrl: 'https://elsewhere.example.com/api/v1', apiKey: 'k' });
		await host.execute();
		expect([...started(host)].sort()).toEqual([0, 0, 1, 1, 2, 2]);
	});
});

describe('of an execution that was ended', () => {
	/** An execution of so many items, as n8n has stored it when it rested first. */
	async function store(count: number, options: IDataObject, settings = {}) {
		const host = hostOf(
			{ runOf: () => ({ durationMs: 400 * SECOND }) },
			{ count, options: { pollInterval: 65, ...options }, settings },
		);
		const request = await settle(host.runOnce());
		if (!('actions' in request)) throw new Error('It did not rest');
		const context = structuredClone(host.context);
		const rest = request.actions[0]!.input.agentInvocationSuspension as { until?: number };
		return { host, context, until: rest.until };
	}
	const saving = { saveExecutionProgress: true };
	const all = (count: number) => Array.from({ length: count }, (_, item) => item);

	test('runs that are known are waited for before items in doubt are refused', async () => {
		const { host, context, until } = await store(20, {}, saving);
		expect(until).toBeUndefined();
		retry(host, context);
		const began = performance.now();
		const error = await errorOf(host);
		expect(performance.now() - began).toBeGreaterThan(390 * SECOND);
		expect(error.message).toBe(
			'An earlier attempt may have started a run for this item, so this one starts none',
		);
		expect(error.description).toContain("'Retry with currently saved workflow'");
		expect(error.context.runs).toHaveLength(10);
		expect(started(host)).toEqual(all(10));
		// That is what n8n's Retry then gives.
		host.simulation.node = { onError: 'continueRegularOutput' };
		const items = await retry(host).execute();
		expect(items.filter(({ json }) => json.status === 'succeeded')).toHaveLength(10);
		expect(items.filter(({ json }) => 'error' in json)).toHaveLength(10);
		expect(started(host)).toEqual(all(10));
	});

	test('nothing can have begun while it was stored: before its date', async () => {
		const { host, context, until } = await store(6, { maxConcurrency: 2 });
		expect(until).toBeGreaterThan(Date.now() + 60 * SECOND);
		const items = await retry(host, context).execute();
		expect(items.map(({ json }) => json.output)).toEqual(all(6).map(String));
		expect(started(host)).toEqual(all(6));
	});

	test.each([
		['nor where it was stopped before its date', -11, true],
		['something may have where it was stopped close to it', -9, false],
		['something may have where it was stopped after it', 5, false],
	])('%s', async (_, after, isSure) => {
		const { host, context, until } = await store(6, { maxConcurrency: 2 });
		await jest.advanceTimersByTimeAsync(1_000 * SECOND);
		host.stoppedOn = until! + after * SECOND;
		retry(host, context);
		if (isSure) expect(await host.execute()).toHaveLength(6);
		else await errorOf(host);
		expect(started(host)).toEqual(all(isSure ? 6 : 2));
	});

	test('what is in doubt stays so, whatever comes after', async () => {
		const { host, context } = await store(6, { maxConcurrency: 2 });
		await jest.advanceTimersByTimeAsync(1_000 * SECOND);
		await errorOf(retry(host, context));
		host.simulation.parameters = { note: 'changed' };
		host.parametersOf = (item) => ({ item, more: 1 });
		await errorOf(retry(host));
		// The first two would start something else now; nothing new begins beside a refusal.
		expect(started(host).filter((item) => item > 1)).toEqual([]);
	});

	test('a node that the user has changed meanwhile starts those anew that it knows', async () => {
		const { host, context } = await store(12, {}, saving);
		host.simulation.node = { onError: 'continueRegularOutput' };
		host.simulation.parameters = { note: 'changed' };
		host.parametersOf = (item) => ({ item, more: 1 });
		const items = await retry(host, context).execute();
		expect(items.filter(({ json }) => json.status === 'succeeded')).toHaveLength(10);
		expect(started(host)).toEqual([...all(10), ...all(10)]);
	});
});

describe('of a run that cannot be asked for', () => {
	test.each(['..', '../7', ' a b ', 'a'.repeat(500)])(
		'since its ID is %j, starts no other and asks nothing',
		async (runId) => {
			const trouble = ({ isCreate }: SeenRequest) =>
				isCreate ? json(202, { run_id: runId, status: 'pending' }) : undefined;
			const host = hostOf({ runOf: () => ({ durationMs: SECOND }), trouble }, { count: 1 });
			for (let attempt = 0; attempt < 3; attempt++) {
				const { message, description } = await errorOf(host);
				expect(message).toBe(
					`The run was started, but its ID cannot be used in an address (run ${runId} of agent 1)`,
				);
				expect(description).toContain('looked up at the service');
				retry(host);
			}
			expect(host.simulation.service.requests).toHaveLength(1);
		},
	);
});

describe('of an item whose options can no longer be read', () => {
	const behaviour = { runOf: () => ({ durationMs: 1_000 * SECOND }) };
	const wrong = { timeout: 'soon' };
	const message =
		/^'Time Limit \(Seconds\)' must be .*, not 'soon' \(run 11111111-2222-4333-8444-0{12} of agent 1\)$/;

	test('names its run, and keeps it for the next', async () => {
		const host = hostOf(behaviour, { count: 1, options: { timeout: 5 } });
		await errorOf(host);
		retry(host).simulation.options = wrong;
		expect((await errorOf(host)).message).toMatch(message);
		retry(host).simulation.options = {};
		expect(await host.execute()).toHaveLength(1);
		expect(started(host)).toEqual([0]);
	});

	test('but a wait that was stored goes on as it was begun', async () => {
		const host = hostOf(behaviour, { count: 1 });
		const parked = (await settle(host.runOnce())) as EngineRequest;
		await settle(host.rest(parked));
		host.simulation.options = wrong;
		expect(await host.execute()).toHaveLength(1);
	});
});
