import fc from 'fast-check';

import { clock } from '../../nodes/AgentInvocation/clock.ts';
import { hostStart } from '../../nodes/AgentInvocation/engine/parkingRules.ts';
import { SimulatedHost, type Simulation } from '../support/simulation/simulatedHost.cts';
import {
	json,
	lostConnection,
	SimulatedService,
	type Behaviour,
	type SimulatedResponse,
} from '../support/simulation/simulatedService.cts';
import { settle } from '../support/virtualTime.cts';

// The node as it ships, on virtual time, in a host that stores its memory as JSON at every rest.
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

beforeEach(() => jest.useFakeTimers());
afterEach(() => {
	jest.restoreAllMocks();
	jest.useRealTimers();
});

function hostOf(behaviour: Behaviour, simulation: Partial<Simulation> = {}): SimulatedHost {
	return new SimulatedHost({ service: new SimulatedService(behaviour), count: 1, ...simulation });
}

async function execute(behaviour: Behaviour, simulation: Partial<Simulation> = {}) {
	const host = hostOf(behaviour, simulation);
	const began = Date.now();
	const items = await host.execute();
	const { service } = host.simulation;
	return { host, service, items, ms: Date.now() - began, jsons: items.map((item) => item.json) };
}

const lasting = (ms: number): Behaviour => ({ runOf: () => ({ durationMs: ms }) });

describe('a wait that is stored', () => {
	test.each([
		[400, 0],
		[600, 0],
		[3_600, 0],
		[24 * 3_600, 0],
		[330, 450],
		[400, 500],
		[500, 650],
	])(
		'sees the end of a run of %d s at most 20 %% late, with a time limit of %d s',
		async (s, limit) => {
			const options = { timeout: limit };
			const { jsons, ms, service, host } = await execute(lasting(s * SECOND), { options });
			expect(jsons).toMatchObject([{ status: 'succeeded', output: '0' }]);
			expect(service.created).toHaveLength(1);
			if (limit === 0) expect(host.rests.length).toBeGreaterThan(0);
			expect(ms - s * SECOND).toBeGreaterThanOrEqual(0);
			expect(ms - s * SECOND).toBeLessThanOrEqual(s * SECOND * 0.2 + 1);
		},
	);

	const answering =
		(statusCode: number, body = '<html>') =>
		() => ({ statusCode, body });
	test.each<[string, () => SimulatedResponse | Error]>([
		['503', answering(503)],
		['a lost connection', lostConnection],
		["a proxy's page", answering(200)],
		['429', answering(429)],
	])('goes on through an hour of %s, and is stored all the while', async (_, trouble) => {
		const { jsons, host } = await execute(
			{
				...lasting(2 * HOUR),
				trouble: ({ at, isCreate }) => {
					const age = at - began;
					return !isCreate && age > 400 * SECOND && age < HOUR ? trouble() : undefined;
				},
			},
			{ options: { timeout: 0 } },
		);
		expect(jsons).toMatchObject([{ output: '0' }]);
		expect(Math.min(...delaysOf(host))).toBeGreaterThanOrEqual(65 * SECOND);
		expect(delaysOf(host).length).toBeGreaterThan(10);
	});

	let began: number;
	beforeEach(() => (began = performance.now()));

	test('a Retry-After longer than the delay is waited out, whatever the answer', async () => {
		for (const statusCode of [429, 503]) {
			let asked = 0;
			const { service } = await execute(
				{
					...lasting(HOUR),
					trouble({ isCreate, at }) {
						if (isCreate || asked > 0 || at - began < 400 * SECOND) return undefined;
						asked = at;
						return { statusCode, headers: { 'retry-after': '900' } };
					},
				},
				{ options: { timeout: 0 } },
			);
			const next = service.requests.find(({ at }) => at > asked)!;
			expect(next.at - asked).toBeGreaterThanOrEqual(900 * SECOND);
			began = performance.now();
		}
	});

	test('a run whose answer asks clients to back off is not polled meanwhile', async () => {
		const { service } = await execute({
			...lasting(100 * SECOND),
			trouble: ({ number }) =>
				number === 1
					? { ...json(200, { status: 'running' }), headers: { 'retry-after': '50' } }
					: undefined,
		});
		const [first = 0, second = 0] = service.polledAt;
		expect(second - first).toBeGreaterThanOrEqual(50 * SECOND);
	});

	test('polls at delays that grow from 65 s to ten minutes, some six times an hour later on', async () => {
		const { host, service } = await execute(lasting(12 * HOUR), { options: { timeout: 0 } });
		const delays = delaysOf(host);
		expect(delays[0]).toBeGreaterThanOrEqual(65 * SECOND);
		expect(delays[0]).toBeLessThan(75 * SECOND);
		expect(delays.at(-1)).toBe(600 * SECOND);
		expect(service.polledAt.length).toBeLessThan(115);
	});

	test('a poll after a rest may take ten seconds, and no more', async () => {
		const { service, host } = await execute(lasting(HOUR), { options: { timeout: 0 } });
		expect(service.requests.slice(-host.rests.length).map(({ timeoutMs }) => timeoutMs)).toEqual(
			host.rests.map(() => 10_000),
		);
	});

	test('ends at the time limit, with a last poll at it and none after it', async () => {
		await fc.assert(
			fc.asyncProperty(
				fc.integer({ min: 1, max: 20_000 }),
				fc.integer({ min: 66, max: 20_000 }),
				fc.constantFrom(0, 30, 65, 90, 1_000),
				fc.constantFrom('auto', 'stored', 'memory'),
				async (duration, timeout, pollInterval, whereToWait) => {
					const { jsons, service } = await execute(lasting(duration * SECOND), {
						options: { timeout, pollInterval, whereToWait },
						node: { onError: 'continueRegularOutput' },
					});
					const last = service.polledAt.at(-1)!;
					// n8n stores no less than 65 s, and what is due 5 s sooner rests along.
					expect(last).toBeLessThanOrEqual(timeout * SECOND + 5 * SECOND);
					if (duration <= timeout) expect(jsons).toMatchObject([{ output: '0' }]);
					else expect(jsons[0]?.error).toContain('has not finished within');
					if (duration > timeout) expect(last).toBeGreaterThanOrEqual(timeout * SECOND);
				},
			),
			{ numRuns: 60 },
		);
	});

	test('an execution that is resumed after the time limit still has its last poll', async () => {
		const { jsons } = await execute(lasting(600 * SECOND), { resumesLateMs: 48 * HOUR });
		expect(jsons).toMatchObject([{ output: '0' }]);
	});

	test('resumed when n8n has just started, it stays in memory for a minute', async () => {
		const options = { pollInterval: 65 };
		const host = hostOf(lasting(300 * SECOND), { options, resumesLateMs: 20 * SECOND });
		// n8n starts with each resume.
		const rest = host.rest.bind(host);
		host.rest = async (request) => {
			await rest(request);
			jest.replaceProperty(hostStart, 'loadedAt', clock.now());
			jest.replaceProperty(hostStart, 'resumedAt', Infinity);
		};
		await host.execute();
		const { polledAt } = host.simulation.service;
		const gaps = polledAt.map((at, index, all) => at - (all[index - 1] ?? 0));
		// 65 s, the delay of the resume and 30 s for n8n's recovery; after a minute in memory all is polled
		// that is due soon.
		expect(gaps.slice(0, 4).map((ms) => Math.round(ms / SECOND))).toEqual([115, 30, 115, 30]);
		expect(host.rests).toHaveLength(3);
	});

	test('resumed late, when n8n has long been up, it is polled and stored again at once', async () => {
		const options = { pollInterval: 65 };
		const { host, service } = await execute(lasting(300 * SECOND), {
			options,
			resumesLateMs: 20 * SECOND,
		});
		const at = service.polledAt.map((ms) => Math.round(ms / SECOND));
		expect(at).toEqual([85, 170, 255, 340]);
		expect(host.rests).toHaveLength(4);
	});
});

test("n8n's engine v2 is asked for nothing, neither for a checkpoint nor to store a wait", async () => {
	const settings = { engineType: 'v2', saveExecutionProgress: true };
	const { jsons, host } = await execute(lasting(HOUR / 2), { settings });
	expect(jsons).toMatchObject([{ status: 'succeeded' }]);
	expect(host.rests).toEqual([]);
	expect(host.hints).toEqual([expect.stringContaining('engine v2')]);
});

describe('a tool that outputs a run which has not finished', () => {
	const options = { timeout: 50, onTimeout: 'output' };
	const advice = expect.stringMatching(/Do not start another one/) as string;

	test.each([
		['at its time limit', { options }],
		['without waiting', { parameters: { waitForCompletion: false } }],
	])('gives advice: %s', async (_, simulation) => {
		const asTool = { ...simulation, toolOf: 'AI Agent' };
		const { jsons, service } = await execute(lasting(HOUR), asTool);
		expect(jsons).toMatchObject([{ run_id: expect.any(String) as string, advice }]);
		expect(service.created).toHaveLength(1);
		const [plain] = (await execute(lasting(HOUR), simulation)).jsons;
		expect(plain).toHaveProperty('run_id');
		expect(plain).not.toHaveProperty('advice');
	});

	test('and none once it has finished', async () => {
		const { jsons } = await execute(lasting(SECOND), { options, toolOf: 'AI Agent' });
		expect(jsons).toMatchObject([{ status: 'succeeded' }]);
		expect(jsons[0]).not.toHaveProperty('advice');
	});
});

describe('many items', () => {
	test('those that are not begun keep no others from being stored, and begin when their turn comes', async () => {
		const { jsons, host, service } = await execute(lasting(20 * 60 * SECOND), {
			count: 25,
			options: { maxConcurrency: 5 },
		});
		expect(jsons.map(({ output }) => output)).toEqual(Array.from({ length: 25 }, (_, n) => `${n}`));
		expect(service.created.map(({ item }) => item)).toEqual([...Array(25).keys()]);
		const items = (memory: object) => Object.keys(itemsIn(memory)).length;
		expect(items(host.rests[0]!.memory)).toBe(5);
		expect(host.rests.some(({ memory }) => items(memory) === 10)).toBe(true);
	});

	test('waits of different ages rest together', async () => {
		const { host } = await execute(
			{ runOf: (item) => ({ durationMs: (1_000 + 40 * item) * SECOND }), latencyMs: 2_000 },
			{ count: 30, options: { maxConcurrency: 30 } },
		);
		for (const delay of delaysOf(host)) expect(delay).toBeGreaterThanOrEqual(65 * SECOND);
		// Had each its own time, they would hardly ever rest.
		const rested = delaysOf(host).reduce((sum, delay) => sum + delay, 0);
		expect(rested).toBeGreaterThan(0.5 * 1_000 * SECOND);
	});
});

describe('the memory', () => {
	test('has at most 500 bytes an item besides the outputs, and nothing more for each poll', async () => {
		const { host } = await execute(
			{ runOf: (item) => ({ durationMs: item < 10 ? 100 * SECOND : HOUR }) },
			{ count: 50, options: { maxConcurrency: 50, timeout: 0 } },
		);
		const sizes = host.rests.map(({ memory }) => JSON.stringify(memory).length);
		expect(sizes.length).toBeGreaterThan(5);
		expect(Math.max(...sizes)).toBeLessThan(500 * 50);
		expect(sizes.at(-1)! / sizes[0]!).toBeLessThan(1.05);
	});

	test('is empty once the node has succeeded', async () => {
		const { host } = await execute(lasting(HOUR / 2), { count: 3 });
		expect(host.rests.length).toBeGreaterThan(0);
		expect(host.context).toEqual({});
	});

	test('of another format starts nothing, and its runs are named', async () => {
		const host = hostOf(lasting(SECOND));
		host.context = { agentInvocation: { format: 2, items: [{ runId: 'run-of-another-format' }] } };
		await expect(host.run()).rejects.toMatchObject({
			message: expect.stringContaining('Another version of this package') as string,
			description: expect.stringContaining('run-of-another-format') as string,
		});
		expect(host.simulation.service.created).toEqual([]);
	});
});

describe('what goes on while the execution is stored', () => {
	/** Parks a run, changes something, and goes on. */
	async function parkAnd(
		change: (host: SimulatedHost) => void,
		behaviour = lasting(HOUR),
		timeout = 2_000,
	) {
		const host = hostOf(behaviour, { options: { pollInterval: 65, timeout } });
		const request = await settle(host.runOnce());
		expect('actions' in request).toBe(true);
		await settle(host.rest(request as never));
		change(host);
		return host;
	}
	const runId = '11111111-2222-4333-8444-000000000000';

	test('a credential that cannot be read is a temporary failure, until the time limit', async () => {
		const away = () => Promise.reject(new Error('The secret store does not answer'));
		for (const [backAfterMs, says] of [
			[600 * SECOND, undefined],
			[HOUR, 'did not tell'],
		] as const) {
			const host = await parkAnd(
				(changed) => {
					const { credential } = changed;
					changed.credential = away;
					setTimeout(() => (changed.credential = credential), backAfterMs);
				},
				lasting(1_000 * SECOND),
			);
			const ended = settle(host.run());
			if (says === undefined) expect((await ended)[0]?.json).toMatchObject({ output: '0' });
			else await expect(ended).rejects.toThrow(says);
		}
	});

	test('a credential that is gone, or has another address, ends the wait and names the run', async () => {
		const gone = () =>
			Promise.reject(
				new Error('Credential with ID "1" does not exist for type "agentInvocationApi".'),
			);
		const elsewhere = () =>
			Promise.resolve({ baseUrl: 'https://elsewhere.example.com/api/v1', apiKey: 'k' });
		for (const credential of [gone, elsewhere]) {
			const host = await parkAnd((changed) => (changed.credential = credential));
			const sent = host.simulation.service.requests.length;
			await expect(settle(host.run())).rejects.toThrow(runId);
			expect(host.simulation.service.requests).toHaveLength(sent);
		}
	});

	test.each([
		['back', -HOUR],
		['ahead', 24 * HOUR],
	])('a clock that is set %s: never more than one delay late', async (_, changeMs) => {
		const host = await parkAnd(
			() => jest.setSystemTime(Date.now() + changeMs),
			lasting(90 * SECOND),
			0,
		);
		const resumedAt = performance.now();
		const [item] = await settle(host.run());
		expect(item?.json).toMatchObject({ output: '0' });
		expect(performance.now() - resumedAt).toBeLessThanOrEqual(130 * SECOND);
	});

	test("n8n's Retry of a crashed execution waits for the runs, and starts none that may have begun", async () => {
		const behaviour = { runOf: () => ({ durationMs: 1_000 * SECOND }) };
		const host = hostOf(behaviour, {
			count: 3,
			options: { pollInterval: 65, maxConcurrency: 2 },
			node: { onError: 'continueRegularOutput' },
		});
		await settle(host.rest((await settle(host.runOnce())) as never));
		const stored = structuredClone(host.context);
		await settle(host.run());
		expect(host.simulation.service.created).toHaveLength(3);
		// What was stored is older than the third run.
		Object.assign(host, { context: stored, executionId: '2', mode: 'retry' });
		const began = performance.now();
		const items = await settle(host.run());
		expect(host.simulation.service.created).toHaveLength(3);
		expect(items.map(({ json: { output, error } }) => output ?? error)).toEqual([
			'0',
			'1',
			expect.stringContaining('may have started a run'),
		]);
		// n8n's recovery is over when somebody retries.
		expect(performance.now() - began).toBeLessThan(SECOND);
	});
});

describe('a retry', () => {
	test('keeps the results, waits for the runs that go on, and starts anew those that failed', async () => {
		const ends = ['succeeded', 'failed', 'succeeded'] as const;
		let failing = true;
		const host = hostOf(
			{
				runOf: (item) => ({
					durationMs: [10, 400, 900][item]! * SECOND,
					status: failing ? ends[item]! : 'succeeded',
				}),
			},
			{ count: 3, options: { pollInterval: 65 } },
		);
		await expect(settle(host.run())).rejects.toThrow('failed: item 1');
		expect(host.rests.length).toBeGreaterThan(0);
		failing = false;
		host.executionId = '2';
		const { requests } = host.simulation.service;
		const before = requests.length;
		const items = await settle(host.run());
		expect(items.map((item) => item.json.output)).toEqual(['0', '1', '2']);
		expect(host.simulation.service.created.map(({ item }) => item)).toEqual([0, 1, 2, 1]);
		// The first item's result was known.
		const polled = requests.slice(before).filter(({ isCreate }) => !isCreate);
		expect(polled.length).toBeGreaterThan(0);
		expect(host.context).toEqual({});
	});
});

describe('Retry On Fail', () => {
	test('of an output that n8n takes for a failed attempt starts no run twice', async () => {
		const host = hostOf(
			{ runOf: (item) => ({ durationMs: SECOND, status: item === 0 ? 'failed' : 'succeeded' }) },
			{ count: 3, options: { onUnsuccessfulRun: 'output' }, node: { retryOnFail: true } },
		);
		const first = await host.execute();
		expect(first[0]?.json).toMatchObject({ status: 'failed', error: 'item 0' });
		expect(await host.execute()).toEqual(first);
		expect(host.simulation.service.created).toHaveLength(3);
	});

	test('parks also where n8n passes no response to the second attempt', async () => {
		const host = hostOf(
			{ runOf: (item) => ({ durationMs: (item === 0 ? 100 : 1_000) * SECOND, status: 'failed' }) },
			{
				options: { pollInterval: 65 },
				node: { retryOnFail: true, onError: 'continueRegularOutput' },
			},
		);
		await host.execute();
		const rests = host.rests.length;
		host.simulation.parks = false;
		await host.execute();
		expect(host.rests.length).toBeGreaterThan(rests);
		expect(host.hints).toEqual([]);
	});

	test.each([0, 65])(
		'makes as many attempts as it allows and no more (interval: %d)',
		async (pollInterval) => {
			const host = hostOf(
				{
					runOf: (item) => ({
						durationMs: (100 + item) * SECOND,
						status: item === 0 ? 'failed' : 'succeeded',
					}),
				},
				{ count: 2, options: { pollInterval }, node: { retryOnFail: true, maxTries: 3 } },
			);
			await expect(settle(host.runWithRetries(3))).rejects.toThrow('failed: item 0');
			// The failed run is started anew by each attempt, the other one once.
			expect(host.simulation.service.created.map(({ item }) => item)).toEqual([0, 1, 0, 0]);
			host.executionId = '2';
			await expect(settle(host.runWithRetries(3))).rejects.toThrow('failed: item 0');
			expect(host.simulation.service.created).toHaveLength(7);
		},
	);

	test("within a workflow's timeout, every attempt ends before it and names the run", async () => {
		const host = hostOf(lasting(HOUR), {
			settings: { executionTimeout: 300 },
			options: { pollInterval: 65 },
			node: { retryOnFail: true },
		});
		const began = Date.now();
		const ending = settle(host.runWithRetries(3));
		await expect(ending).rejects.toThrow(
			/has not finished within \d+ s \(run [0-9a-f-]+ of agent 1\)$/,
		);
		expect(Date.now() - began).toBeLessThan(290 * SECOND);
		expect(host.simulation.service.created).toHaveLength(1);
	});

	test('a run that was not waited for, and whose item had its output, is waited for now', async () => {
		let refuses = true;
		const host = hostOf(
			{
				...lasting(10 * SECOND),
				trouble: ({ number }) =>
					number === 1 && refuses
						? json(400, { error: { code: 'odd', message: 'rejected', request_id: 'r' } })
						: undefined,
			},
			{ count: 2, options: { maxConcurrency: 1 }, parameters: { waitForCompletion: false } },
		);
		await expect(host.execute()).rejects.toThrow('rejected');
		refuses = false;
		host.executionId = '2';
		host.simulation.parameters = {};
		const items = await host.execute();
		expect(items.map((item) => item.json)).toMatchObject([{ output: '0' }, { output: '1' }]);
		expect(host.simulation.service.created.map(({ item }) => item)).toEqual([0, 1]);
	});

	test('a value that changes by itself starts no second run within an execution', async () => {
		let asked = 0;
		const host = hostOf(lasting(10 * SECOND), {
			options: { timeout: 5 },
			node: { retryOnFail: true },
		});
		host.parametersOf = () => ({ item: 0, at: ++asked });
		await expect(settle(host.runWithRetries(3))).resolves.toHaveLength(1);
		expect(asked).toBe(1);
		expect(host.simulation.service.created).toHaveLength(1);
	});

	test('what is in doubt stays so, whatever the values are, and is said when another item fails', async () => {
		const host = hostOf(
			{
				...lasting(SECOND),
				trouble: ({ number }) =>
					number === 0
						? { statusCode: 500 }
						: number === 1
							? json(400, { error: { code: 'odd', message: 'rejected', request_id: 'r' } })
							: undefined,
			},
			{ count: 2 },
		);
		const error = await host.execute().catch((thrown: Error & { description: string }) => thrown);
		const said = JSON.stringify(error) + String((error as Error).message);
		expect(said).toContain('may have been started');
		expect(host.simulation.service.created).toEqual([]);
		host.executionId = '2';
		host.parametersOf = (index) => ({ item: index, more: 'other' });
		await expect(host.execute()).rejects.toThrow('may have started a run');
		expect(host.simulation.service.created.map(({ item }) => item)).not.toContain(0);
	});

	test("a workflow's timeout is counted anew by n8n's Retry", async () => {
		const settings = { executionTimeout: 300 };
		const host = hostOf(lasting(400 * SECOND), { settings, options: { pollInterval: 65 } });
		await expect(host.execute()).rejects.toThrow('has not finished within 270 s');
		host.executionId = '2';
		expect((await host.execute())[0]?.json).toMatchObject({ output: '0' });
		expect(host.simulation.service.created).toHaveLength(1);
	});
});

function delaysOf({ rests }: SimulatedHost): number[] {
	return rests.flatMap(({ forMs }) => (forMs === null ? [] : [forMs]));
}

function itemsIn(memory: object): Record<string, unknown> {
	const { agentInvocation } = memory as {
		agentInvocation: { byRunIndex: Record<string, { items: Record<string, unknown> }> };
	};
	return agentInvocation.byRunIndex['0']!.items;
}
