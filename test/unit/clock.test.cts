import { OwnWorld } from '../support/simulation/ownWorld.cts';

const DAY_MS = 86_400_000;

/** Waits for a run of a minute, during which the machine's clock is set again. */
async function waitWhile(changeMs: number, timeout: number) {
	const world = new OwnWorld({
		runOf: () => ({ durationMs: 60_000 }),
		options: { timeout },
		onError: 'continueRegularOutput',
	});
	world.later(30_000, () => world.setClock(changeMs));
	const { jsons } = await world.execute();
	return { hasOutput: 'output' in jsons[0]!, polledAt: world.polledAt };
}

test.each([
	['a day ahead', DAY_MS],
	['a day back', -DAY_MS],
])('a clock that is set %s does not change when a run is polled', async (_name, changeMs) => {
	for (const timeout of [0, 45, 120]) {
		const undisturbed = await waitWhile(0, timeout);
		expect(await waitWhile(changeMs, timeout)).toEqual(undisturbed);
		expect(undisturbed.hasOutput).toBe(timeout !== 45);
	}
});
