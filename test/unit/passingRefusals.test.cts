import { OwnWorld, type Said } from '../support/simulation/ownWorld.cts';
import type { FaultSpec } from '../support/simulation/world/world.cts';

// Refusals that pass, and are no limit: what comes after them is not slowed down.
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const service: Said['service'] = { tripMs: [100, 300] };

/** How long it takes until an execution that begins later has started all of its runs, in ms. */
const startedWithin = (world: OwnWorld, beginsAt: number) =>
	Math.max(...world.runsOf(1).map(({ createdAt }) => createdAt)) - beginsAt;

test.each([20, 60])(
	'three outages of three minutes, with the same polls between them (%d items)',
	async (count) => {
		const period = 5 * MINUTE;
		const beginsAt = 3 * period + 5 * SECOND;
		const world = new OwnWorld({
			count,
			runOf: () => ({ durationMs: 3 * period }),
			options: { timeout: 7_200, pollInterval: 10 },
			service,
			hand: {
				respond: ({ sentAt }) =>
					sentAt < 3 * period && sentAt % period >= 2 * MINUTE ? { statusCode: 429 } : undefined,
			},
			beside: [{ startsAtMs: beginsAt, count: 300, options: { timeout: 7_200 } }],
		});
		await world.execute();
		// Some of it is the pause in which the last outage ends.
		expect(startedWithin(world, beginsAt)).toBeLessThan(60 * SECOND);
	},
);

test.each([30, 55])('a refusal of 20 s that ends while nothing is sent for %d s', async (idleS) => {
	const beginsAt = (30 + idleS) * SECOND;
	const world = new OwnWorld({
		count: 20,
		cancelAtMs: 30 * SECOND,
		runOf: () => ({ durationMs: 2 * MINUTE }),
		service,
		hand: {
			respond: ({ sentAt }) =>
				sentAt >= 10 * SECOND && sentAt < 31 * SECOND ? { statusCode: 429 } : undefined,
		},
		beside: [{ startsAtMs: beginsAt, count: 200 }],
	});
	await world.execute();
	expect(startedWithin(world, beginsAt)).toBeLessThan(20 * SECOND);
});

test.each([20, 40])('one before and one after %d s of lost connections', async (lostS) => {
	const untilMs = (2 + lostS) * SECOND;
	const lost: FaultSpec = {
		kind: 'reset',
		on: 'any',
		share: 1,
		fromMs: 2 * SECOND,
		untilMs,
		isDone: false,
		status: 0,
	};
	const isRefused = [false, false];
	const world = new OwnWorld({
		count: 300,
		seed: 2,
		runOf: () => ({ durationMs: 20 * SECOND }),
		onError: 'continueRegularOutput',
		service: { ...service, faults: [lost] },
		hand: {
			respond: ({ sentAt }) => {
				const which = sentAt >= untilMs ? 1 : 0;
				if (sentAt < 1.9 * SECOND || (which === 0 && sentAt >= 2 * SECOND)) return undefined;
				if (isRefused[which]) return undefined;
				isRefused[which] = true;
				return { statusCode: 429 };
			},
		},
	});
	const { ms } = await world.execute();
	expect(isRefused).toEqual([true, true]);
	expect(ms).toBeLessThan(untilMs + 60 * SECOND);
});
