import { SimulatedHost } from '../support/simulation/simulatedHost.cts';
import { SimulatedService, type Behaviour } from '../support/simulation/simulatedService.cts';
import { settle } from '../support/virtualTime.cts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

function serviceOf(behaviour: Partial<Behaviour>) {
	return new SimulatedService({
		runOf: () => ({ durationMs: SECOND }),
		saysRetryAfter: true,
		latencyMs: 50,
		...behaviour,
	});
}

test('500 stored waits of runs that have finished have their results, though n8n was away past the time limit', async () => {
	const service = serviceOf({ runOf: () => ({ durationMs: 600 * SECOND }), limit: 50 });
	const host = new SimulatedHost({ service, count: 500, resumesLateMs: 2 * HOUR });
	const outputs = await host.execute();
	expect(outputs.map(({ json }) => json.output)).toEqual(outputs.map((_, item) => String(item)));
	expect(outputs).toHaveLength(500);
});

test('300 waits at their time limit do not keep a create of another execution waiting', async () => {
	const service = serviceOf({ runOf: () => ({ durationMs: 3 * HOUR }), limit: 5 });
	const options = { onTimeout: 'output' };
	// Stored, and resumed when the time of all is over.
	const many = new SimulatedHost({ service, count: 300, options, resumesLateMs: HOUR });
	const one = new SimulatedHost({ service, count: 1, parameters: { waitForCompletion: false } });
	one.apiKey = many.apiKey;
	const all = many.run();
	while (many.rests.length === 0) await jest.advanceTimersByTimeAsync(SECOND);
	const parked = service.requests.length;
	while (service.requests.length === parked) await jest.advanceTimersByTimeAsync(SECOND);
	const from = service.requests.length;
	const began = performance.now();
	await settle(one.run());
	const create = service.requests.slice(from).find(({ isCreate, refused }) => isCreate && !refused);
	expect((create?.at ?? Infinity) - began).toBeLessThan(2 * SECOND);
	const outputs = await settle(all);
	expect(outputs.map(({ json }) => json.status)).toEqual(Array(300).fill('running'));
});

test('items that are begun one after the other under a limit per minute are all begun', async () => {
	const service = serviceOf({ limit: 60, windowMs: 60 * SECOND });
	const host = new SimulatedHost({ service, count: 150, options: { timeout: 60 } });
	const outputs = await host.execute();
	expect(outputs.map(({ json }) => json.output)).toEqual(outputs.map((_, item) => String(item)));
	expect(service.created).toHaveLength(150);
});

test('a run whose polls alone are refused for ever does not keep the others from their end', async () => {
	const service = serviceOf({
		trouble: ({ isCreate, url }) =>
			!isCreate && url.endsWith('000000000001') ? { statusCode: 429 } : undefined,
		// The last one goes on for longer than a minute, so that others are carried all the time.
		runOf: (item) => ({ durationMs: item === 2 ? HOUR : SECOND }),
	});
	const options = { timeout: 60, pollInterval: 5 };
	const host = new SimulatedHost({
		service,
		count: 2,
		options,
		node: { onError: 'continueRegularOutput' },
	});
	const other = new SimulatedHost({ service, count: 1, options: { timeout: 0, pollInterval: 5 } });
	other.apiKey = host.apiKey;
	other.parametersOf = () => ({ item: 2 });
	const began = performance.now();
	const timed = host.run().then((outputs) => ({ outputs, ms: performance.now() - began }));
	const [{ outputs, ms }] = await settle(Promise.all([timed, other.run()]));
	expect(ms).toBeLessThan(HOUR / 2);
	expect(outputs.map(({ json }) => json.output ?? json.error)).toEqual([
		'0',
		expect.stringContaining('did not tell whether') as string,
	]);
});

test('waits that pauses put off again and again at their time limit have their results, refused only now and then', async () => {
	let isBack = false;
	const service = serviceOf({
		runOf: () => ({ durationMs: 600 * SECOND }),
		// Somebody else uses the key as well.
		trouble: ({ isCreate, number }) =>
			isBack && !isCreate && number % 2 === 0
				? { statusCode: 429, headers: { 'retry-after': '15' } }
				: undefined,
	});
	const host = new SimulatedHost({ service, count: 40, resumesLateMs: 2 * HOUR });
	setTimeout(() => (isBack = true), HOUR);
	const outputs = await host.execute();
	expect(outputs.map(({ json }) => json.output)).toEqual(outputs.map((_, item) => String(item)));
	expect(outputs).toHaveLength(40);
});
