import { execute, OwnWorld } from '../support/simulation/ownWorld.cts';
import type { Hand } from '../support/simulation/world/hand.cts';
import { itemNumberOf } from '../support/simulation/world/history.cts';
import { apiKeyOf } from '../support/simulation/world/answers.cts';

/** A node whose credential has an expression: even items have another organization's than odd ones. */
function executeItems(count: number, durationMs: number, failing?: number) {
	const addresses: string[] = [];
	const credential = (item: number) =>
		item === failing
			? Promise.reject(new Error('No such organization'))
			: Promise.resolve({
					baseUrl: `https://${item % 2}.example.com`,
					apiKey: apiKeyOf(item % 2),
				});
	return execute({
		count,
		runOf: () => ({ durationMs }),
		onError: 'continueRegularOutput',
		hand: {
			credential,
			// Each organization has its own agents.
			parameters: (item) => ({ agentId: String(1 + 1_000 * (item % 2)) }),
			respond({ key, url }) {
				addresses.push(`${new URL(url).host} ${key}`);
				return undefined;
			},
		},
	}).then((seen) => ({ ...seen, addresses: new Set(addresses) }));
}

test.each([
	['in memory', 2_000],
	['parked', 1_000_000],
])("every request of an item has the item's own credential: %s", async (_, durationMs) => {
	const { jsons, parks, addresses } = await executeItems(4, durationMs);
	expect(jsons.map(({ output }) => output)).toEqual(['0', '1', '2', '3']);
	expect(addresses).toEqual(new Set(['0.example.com 0', '1.example.com 1']));
	expect(parks.length > 0).toBe(durationMs > 2_000);
});

test('an item whose credential cannot be read fails alone', async () => {
	const { jsons, world } = await executeItems(3, 2_000, 1);
	expect(jsons.map(({ output, error }) => output ?? error)).toEqual([
		'0',
		"This node's credential cannot be used",
		'2',
	]);
	expect(world.runs).toHaveLength(2);
});

test.each([undefined, 90_000])(
	'n8n never gives the credential of one item, once: the wait ends all the same (cancelled at %p ms)',
	async (cancelAtMs) => {
		let readings = 0;
		const { jsons, ms } = await execute({
			count: 2,
			options: { timeout: 60 },
			onError: 'continueRegularOutput',
			runOf: () => ({ durationMs: 30_000 }),
			...(cancelAtMs && { cancelAtMs }),
			hand: {
				credential: async (item) => {
					if (item === 1 && ++readings === 4) await new Promise(() => {});
					return {
						baseUrl: 'https://hanging.example.com',
						apiKey: apiKeyOf(0),
					};
				},
			},
		});
		expect(jsons).toMatchObject([{ output: '0' }, { output: '1' }]);
		expect(ms).toBeLessThan(90_000);
	},
);

test.each([false, true])(
	'the node stops at once while a credential cannot be read; checking first: %s',
	async (checkFirst) => {
		const hand: Hand = { credential: () => new Promise(() => {}) };
		const world = new OwnWorld({ count: 2, hand, options: { checkFirst } });
		world.later(2_000, () => world.stop());
		const { attempt } = await world.execute();
		expect(attempt.endedAt! - attempt.beganAt).toBe(2_000);
	},
);

test.each(['failure', 'stop'])(
	'no run is started once the node has to end, while n8n is slow to give the credential: %s',
	async (how) => {
		let readings = 0;
		let refuses = true;
		const hand: Hand = {
			credential: async (item) => {
				const isSlow = item === 1 && ++readings > 1;
				if (isSlow) await new Promise<void>((resolve) => world.later(10_000, resolve));
				return { baseUrl: `https://slow-${how}.example.com`, apiKey: apiKeyOf(0) };
			},
			respond: ({ kind, tag }) => {
				if (kind !== 'create') return undefined;
				if (refuses) {
					world.later(1_000, () => (refuses = false));
					return { statusCode: 429, headers: { 'retry-after': '3' } };
				}
				const isWrong = how === 'failure' && itemNumberOf(tag!) === 0;
				return isWrong ? { statusCode: 401 } : undefined;
			},
		};
		const world = new OwnWorld({ count: 2, hand });
		if (how === 'stop') world.later(8_000, () => world.stop());
		const { attempt } = await world.execute();
		expect(world.started).not.toContain(1);
		expect(attempt.endedAt! - attempt.beganAt).toBeLessThan(10_000);
	},
);
