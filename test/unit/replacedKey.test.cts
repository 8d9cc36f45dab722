import { OwnWorld } from '../support/simulation/ownWorld.cts';

// What becomes of requests that wait for their turn while their API key is replaced.
const SECOND = 1_000;

test('they wait no longer under the one before, whose pace was found for it', async () => {
	const world = new OwnWorld({
		count: 60,
		waits: false,
		// Ten requests a minute, until the limit is gone with the new key.
		service: {
			limiter: {
				kind: 'sliding',
				limit: 10,
				windowMs: 60 * SECOND,
				retryAfter: 'seconds',
				changesAtMs: 150 * SECOND,
				limitAfter: 10_000,
			},
		},
		newKeyAtMs: 150 * SECOND,
	});
	const { jsons } = await world.execute();
	expect(jsons).toHaveLength(60);
	const sent = world.requests.filter(({ kind }) => kind === 'create');
	const after = sent.filter(({ sentAt }) => sentAt > 150 * SECOND);
	expect(after.length).toBeGreaterThan(20);
	const [first] = after;
	expect(after.at(-1)!.sentAt - first!.sentAt).toBeLessThan(5 * SECOND);
	expect(world.started.length).toBe(60);
});
