import { execute, type Said } from '../support/simulation/ownWorld.cts';

// Whether n8n stores a wait, and what the output panel says where it does not.
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

const lasting = (durationMs: number, said: Said = {}) =>
	execute({ runOf: () => ({ durationMs }), ...said });
const inSeconds = (times: number[]) => times.map((ms) => Math.round(ms / SECOND));

test('in memory first: nothing is stored before a delay is 65 s long', async () => {
	expect((await lasting(300 * SECOND)).parks).toEqual([]);
});

test('stored from the start: first polled after 65 s, and stored all the while', async () => {
	const { parks, world } = await lasting(20 * SECOND, { options: { whereToWait: 'stored' } });
	expect(inSeconds(world.polledAt)).toEqual([65]);
	expect(parks).toHaveLength(1);
});

test.each([0, 30, 100])('in memory only: nothing is ever stored (%d s)', async (pollInterval) => {
	const options = { whereToWait: 'memory', pollInterval } as const;
	const { parks, hints } = await lasting(HOUR / 2, { options });
	expect(parks).toEqual([]);
	expect(hints).toEqual([]);
});

test('a poll interval under 65 s keeps the wait in memory, and a hint says so', async () => {
	const { parks, hints } = await lasting(HOUR / 2, { options: { pollInterval: 30 } });
	expect(parks).toEqual([]);
	expect(hints).toEqual([expect.stringContaining("'Poll Interval (Seconds)' is under 65")]);
});

test('stored from the start with such an interval polls each 65 s, and a hint says so', async () => {
	const { world, hints } = await lasting(100 * SECOND, {
		options: { pollInterval: 30, whereToWait: 'stored' },
	});
	expect(inSeconds(world.polledAt)).toEqual([65, 130]);
	expect(hints).toEqual([expect.stringContaining('polled every 65 seconds')]);
});

test.each(['auto', 'stored'] as const)(
	'where the host cannot store it the wait stays in memory, and a hint says so (%s)',
	async (whereToWait) => {
		const said: Said = { host: 'oldHost', options: { whereToWait } };
		const { jsons, parks, hints, world } = await lasting(HOUR / 2, said);
		expect(jsons).toMatchObject([{ output: '0' }]);
		expect(parks).toEqual([]);
		expect(hints).toEqual([expect.stringContaining('too old to store it')]);
		expect(world.polledAt[0]).toBeLessThan(SECOND);
	},
);
