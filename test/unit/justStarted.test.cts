import { execute, type Said } from '../support/simulation/ownWorld.cts';

// n8n's recovery, just after its start, marks executions as crashed that are running: one that n8n has resumed
// by itself may neither end nor be stored again for some time.
const SECOND = 1_000;

const inSeconds = (times: number[]) => times.map((ms) => Math.round(ms / SECOND));

/** A run that is polled this often; n8n is killed while it is stored, and back after so long. */
const killed = (pollInterval: number, atS: number, awayS: number, said: Said = {}) =>
	execute({
		runOf: () => ({ durationMs: 1_000 * SECOND }),
		kills: [{ atMs: atS * SECOND, awayMs: awayS * SECOND }],
		...said,
		options: { pollInterval, ...said.options },
	});

test.each([
	[25.001, 130],
	[25, 100],
])(
	'a wait that was stored before n8n was up for 65 s, which it was %d s later, is first polled at %d s',
	async (awayS, at) => {
		const { world } = await killed(100, 10, awayS);
		expect(inSeconds(world.polledAt)[0]).toBe(at);
	},
);

test('those that are resumed later wait no longer than the first one', async () => {
	const { world } = await killed(65, 60, 25, {
		beside: [
			{
				startsAtMs: 40 * SECOND,
				options: { pollInterval: 65 },
				runOf: () => ({ durationMs: 1_000 * SECOND }),
			},
		],
	});
	const [first, second] = [0, 1].map((execution) => {
		const polls = world.requestsOf(execution).filter(({ kind }) => kind === 'poll');
		return inSeconds(polls.map(({ sentAt }) => sentAt))[0];
	});
	expect([first, second]).toEqual([115, 115]);
	// Neither is stored before the minute is over.
	for (const execution of [0, 1]) {
		const { parks } = world.seen(execution);
		expect(parks[1]!.at).toBeGreaterThanOrEqual(145 * SECOND);
	}
});

test("a wait is polled at the latest when it has to end, before the workflow's own timeout", async () => {
	const { world, error } = await killed(120, 60, 61, { workflowTimeoutS: 170 });
	expect(inSeconds(world.polledAt)).toEqual([140]);
	expect(error?.message).toContain('has not finished within 140 s');
});

test('an execution that begins only then is stored at once', async () => {
	const { parks } = await killed(65, 0, 1, { startsAtMs: 2 * SECOND });
	expect(inSeconds(parks.slice(0, 2).map(({ at }) => at))).toEqual([2, 67]);
});
