import { slidingWindow } from '../support/simulation/world/limiters.cts';
import { isWithinTarget, simulateCell, type Cell } from '../../bench/simulation.cts';
import { onVirtualTime } from '../../bench/virtualTime.cts';
import { RateLimiter } from '../../nodes/AgentInvocation/service/rateLimiter.ts';
import { SimulatedHost } from '../support/simulation/simulatedHost.cts';
import { json, SimulatedService, type Behaviour } from '../support/simulation/simulatedService.cts';

// Several executions of the node as it ships, with one key, on virtual time.

const cell: Cell = {
	limiter: 'sliding window',
	rate: 20,
	saysRetryAfter: true,
	roundTripMs: 50,
	items: 100,
	executions: 1,
};

/** A service with runs of 2 s, and executions that use one key of it. */
function executions(counts: number[], behaviour: Partial<Behaviour>) {
	const service = new SimulatedService({
		runOf: () => ({ durationMs: 2_000 }),
		latencyMs: 50,
		saysRetryAfter: true,
		...behaviour,
	});
	const options = { timeout: 0, maxConcurrency: 1_000 };
	const hosts = counts.map((count) => new SimulatedHost({ service, count, options }));
	for (const host of hosts) host.apiKey = hosts[0]!.apiKey;
	return { service, hosts };
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test.each<Partial<Cell>>([
	{ rate: 5 },
	{ rate: 5, limiter: 'token bucket, 0.1 s', saysRetryAfter: false },
	{ limiter: 'fixed window, begun 0.3 s before' },
	{ limiter: 'token bucket, 1 s', roundTripMs: 200 },
	{ rate: 100, items: 1_000 },
	{ rate: 100, items: 100, executions: 20, limiter: 'token bucket, 0.1 s' },
])('%j: at most 1.3 times the least time, and at most 5 %% or 25 refused', async (difference) => {
	const result = await simulateCell({ ...cell, ...difference });
	expect(isWithinTarget(result)).toBe(true);
});

test('twenty executions of ten items: all succeed, and at most 5 % are refused', async () => {
	const result = await simulateCell({ ...cell, items: 10, executions: 20 });
	expect(result.refusedShare).toBeLessThanOrEqual(0.05);
});

describe('where the service has no limit', () => {
	test.each([
		[300, 1_000, 5_000],
		[1_000, 2_000, 12_000],
	])('%d items of %d ms end within %d ms', async (count, durationMs, mostMs) => {
		const { hosts } = executions([count], { runOf: () => ({ durationMs }), latencyMs: 20 });
		const { ms } = await onVirtualTime(() => hosts[0]!.run());
		expect(ms).toBeLessThan(mostMs);
	});

	test('100 items take at most 1.5 times as long as one', async () => {
		const one = await onVirtualTime(() => executions([1], {}).hosts[0]!.run());
		const many = await onVirtualTime(() => executions([100], {}).hosts[0]!.run());
		expect(many.ms).toBeLessThan(1.5 * one.ms);
	});
});

test('a request takes its place in the queue once, however long the queue', async () => {
	const admit = jest.spyOn(RateLimiter.prototype, 'admit');
	const { service, hosts } = executions([300], { limiter: slidingWindow(5) });
	await onVirtualTime(() => hosts[0]!.run());
	expect(admit).toHaveBeenCalledTimes(service.requests.length);
	admit.mockRestore();
});

test('one item beside an execution of 500 has its run within a second', async () => {
	const { service, hosts } = executions([500, 1], { limiter: slidingWindow(20) });
	const [many, one] = [hosts[0]!, hosts[1]!];
	one.parametersOf = () => ({ item: 9_999 });
	await onVirtualTime(async () => {
		const working = many.run();
		await sleep(10_000);
		await one.run();
		await working;
	});
	const created = service.created.find(({ item }) => item === 9_999)!;
	expect(created.at - 10_000).toBeLessThan(1_000);
	expect(service.created).toHaveLength(501);
});

test('a service that carries ten runs at a time gets all of a hundred, one after the other', async () => {
	const { service, hosts } = executions([100], {
		trouble({ isCreate, at }) {
			const underWay = service.created.filter((run) => at - run.at < 2_000).length;
			if (isCreate && underWay >= 10) return { statusCode: 429, headers: { 'retry-after': '1' } };
			return undefined;
		},
	});
	const { result, ms } = await onVirtualTime(() => hosts[0]!.run());
	expect(result.filter(({ json: { status } }) => status === 'succeeded')).toHaveLength(100);
	expect(service.created).toHaveLength(100);
	// The least is 20 s.
	expect(ms).toBeLessThan(60_000);
});

test('an execution that is cancelled sends nothing more, and the other goes on', async () => {
	const { service, hosts } = executions([500, 50], { limiter: slidingWindow(20) });
	const [cancelled, other] = [hosts[0]!, hosts[1]!];
	other.parametersOf = (item) => ({ item: 1_000 + item });
	let endedAt = Infinity;
	const { result, ms } = await onVirtualTime(async () => {
		const ending = cancelled.run().catch((error: Error) => {
			endedAt = performance.now();
			return error.message;
		});
		const working = other.run();
		await sleep(5_000);
		cancelled.cancelling.abort();
		return await Promise.all([ending, working]);
	});
	expect(result[0]).toMatch(/cancel/i);
	expect(result[1]).toHaveLength(50);
	expect(endedAt).toBeLessThan(5_100);
	expect(service.created.filter(({ item, at }) => item < 1_000 && at > 5_100)).toEqual([]);
	// Some 100 requests at 20 a second, half of them while it shared them.
	expect(ms).toBeLessThan(12_000);
});

test('a key that is revoked ends all thirty executions that share it, each with the reason', async () => {
	const envelope = { code: 'invalid_api_key', message: 'revoked', request_id: 'r' };
	const { hosts } = executions(new Array<number>(30).fill(20), {
		limiter: slidingWindow(20),
		trouble: ({ at }) => (at > 5_000 ? json(401, { error: envelope }) : undefined),
	});
	const messages: string[] = [];
	const { ms } = await onVirtualTime(() => {
		const ends = hosts.map((host) =>
			host.run().catch((error: Error) => void messages.push(error.message)),
		);
		return Promise.race([Promise.all(ends), sleep(60_000)]);
	});
	expect(messages).toHaveLength(30);
	for (const message of messages) expect(message).toMatch(/key/i);
	// Each needs one answer, in turn, at 20 a second.
	expect(ms).toBeLessThan(5_000 + 3_500);
});

test('when the package is updated, executions of the old one go on beside those of the new one', async () => {
	const { service, hosts } = executions([40], { limiter: slidingWindow(20) });
	const { result } = await onVirtualTime(async () => {
		const before = hosts[0]!.run();
		await sleep(1_000);
		jest.resetModules();
		const updated = await import('../support/simulation/simulatedHost.cts');
		expect(updated.SimulatedHost).not.toBe(SimulatedHost);
		const after = new updated.SimulatedHost({ service, count: 40, options: { timeout: 0 } });
		after.apiKey = hosts[0]!.apiKey;
		after.parametersOf = (item) => ({ item: 1_000 + item });
		return await Promise.all([before, after.run()]);
	});
	expect(result.map((items) => items.length)).toEqual([40, 40]);
	expect(service.created).toHaveLength(80);
});
