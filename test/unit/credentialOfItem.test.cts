import { SimulatedHost } from '../support/simulation/simulatedHost.cts';
import { SimulatedService } from '../support/simulation/simulatedService.cts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** A node whose credential has an expression: even items have another organization's than odd ones. */
function hostOf(count: number, durationMs: number) {
	const service = new SimulatedService({ runOf: () => ({ durationMs }) });
	const host = new SimulatedHost({ service, count });
	host.credential = (index) =>
		Promise.resolve({
			baseUrl: `https://${index % 2}.example.com`,
			apiKey: `key-of-organization-${index % 2}`,
		});
	return { service, host };
}

test.each([
	['in memory', 2_000],
	['parked', 1_000_000],
])("every request of an item has the item's own credential: %s", async (_, durationMs) => {
	const { service, host } = hostOf(4, durationMs);
	const outputs = await host.execute();
	expect(outputs.map(({ json }) => json.output)).toEqual(['0', '1', '2', '3']);
	const seen = service.requests.map(({ url, apiKey }) => `${new URL(url).host} ${apiKey}`);
	expect(new Set(seen)).toEqual(
		new Set(['0.example.com key-of-organization-0', '1.example.com key-of-organization-1']),
	);
});

test('an item whose credential cannot be read fails alone', async () => {
	const { service, host } = hostOf(3, 2_000);
	host.simulation.node = { onError: 'continueRegularOutput' };
	const { credential } = host;
	host.credential = (index) =>
		index === 1 ? Promise.reject(new Error('No such organization')) : credential(index);
	const outputs = await host.execute();
	expect(outputs.map(({ json }) => json.output ?? json.error)).toEqual([
		'0',
		"This node's credential cannot be used",
		'2',
	]);
	expect(service.created).toHaveLength(2);
});
