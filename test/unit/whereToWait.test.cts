import { execute, OwnWorld, type Said } from '../support/simulation/ownWorld.cts';
import type { OptionsSpec } from '../support/simulation/world/world.cts';

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

test.each<[string, number, Said]>([
	['is short', 325, {}],
	['could not be stored in any case', 1_800, { host: 'oldHost' }],
])('but not of one that %s', async (_, seconds, said) => {
	const options = { pollInterval: 25 };
	const { hints } = await lasting(seconds * SECOND, { options, ...said });
	expect(hints).toEqual([]);
});

test.each([
	[330, 1],
	[200, 0],
])('an item that the service does not let begin for %d s: %d hints', async (seconds, count) => {
	const { hints, jsons } = await execute({
		count: 2,
		runOf: () => ({ durationMs: seconds * SECOND }),
		service: { quota: { runs: 1 } },
		options: { maxConcurrency: 2 },
	});
	expect(jsons).toHaveLength(2);
	expect(hints).toEqual(
		Array(count).fill(expect.stringContaining('more than five minutes to begin an item')),
	);
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

test('somebody who waits for the result keeps it in memory, and a hint says so', async () => {
	const { parks, hints } = await lasting(HOUR / 2, { starter: 'evaluation' });
	expect(parks).toEqual([]);
	expect(hints).toEqual([expect.stringContaining('waits for its result')]);
});

test('what n8n has deleted since its restart stays in memory, and a hint says so', async () => {
	const world = new OwnWorld({
		count: 2,
		forgetsFailed: true,
		options: { whereToWait: 'stored' },
		runOf: () => ({ durationMs: 600 * SECOND }),
	});
	world.killAfter(30 * SECOND, 60 * SECOND);
	const { parks, hints, jsons } = await world.execute();
	expect(parks).toHaveLength(1);
	expect(jsons).toMatchObject([{ status: 'succeeded' }, { status: 'succeeded' }]);
	expect(hints).toEqual([expect.stringContaining('n8n no longer stores this execution')]);
});

describe('several waits', () => {
	/** Each with options of its own, and a run that takes so many seconds. */
	const several = (waits: Array<[seconds: number, options: OptionsSpec]>, said: Said = {}) =>
		execute({
			count: waits.length,
			runOf: (item) => ({ durationMs: waits[item]![0] * SECOND }),
			...said,
			hand: { parameters: (item) => ({ options: { ...waits[item]![1] } }), ...said.hand },
		});
	const pollsOf = ({ requests, runs, started }: OwnWorld, item: number) => {
		const { id } = runs[started.indexOf(item)]!;
		return inSeconds(requests.filter(({ runId }) => runId === id).map(({ sentAt }) => sentAt));
	};

	test.each<[string, OptionsSpec]>([
		['that is polled often', {}],
		['that is to stay there', { whereToWait: 'memory', pollInterval: 100 }],
	])('stay in memory with one %s', async (_, options) => {
		const { parks } = await several([
			[300, options],
			[600, { pollInterval: 100 }],
		]);
		expect(parks[0]!.at).toBeGreaterThanOrEqual(300 * SECOND);
	});

	test('that are due soon are polled early, so that all are stored together', async () => {
		const { world, parks } = await several([
			[250, { pollInterval: 100 }],
			[250, { pollInterval: 160 }],
			[250, { pollInterval: 161 }],
		]);
		expect([0, 1, 2].map((item) => pollsOf(world, item).slice(0, 2))).toEqual([
			[100, 165],
			[100, 260],
			[165, 326],
		]);
		// At 100 s the third one is due in more than a minute, and n8n stores none for less than 65 s.
		expect(inSeconds(parks.map(({ until }) => until)).slice(0, 2)).toEqual([100, 165]);
	});

	test('one that meets failures is not polled sooner for the sake of storing others', async () => {
		const { world } = await several(
			[
				[2_000, { pollInterval: 1_000 }],
				[2_000, { pollInterval: 200 }],
			],
			{
				hand: {
					respond: ({ runId, sentAt }) =>
						runId?.endsWith('000000000000') && sentAt < 1_300 * SECOND
							? { statusCode: 503 }
							: undefined,
				},
			},
		);
		// It is put off by 65, 130 and 260 s. The other one is polled a minute before the end of that.
		expect(pollsOf(world, 0).slice(0, 4)).toEqual([1_000, 1_065, 1_195, 1_455]);
		expect(pollsOf(world, 1)).toContain(1_395);
	});
});

test.each([
	[60, [], 60],
	[61, [65], 65],
])('with a time limit of %d s, it is parked until %j', async (timeout, untils, polledAt) => {
	const options = { timeout, pollInterval: 100, onTimeout: 'output' } as const;
	const { parks, world } = await lasting(HOUR, { options });
	expect(inSeconds(parks.map(({ until }) => until))).toEqual(untils);
	expect(inSeconds(world.polledAt)).toEqual([polledAt]);
});

test('no hint speaks of what would not have been stored anyway', async () => {
	expect((await lasting(20 * SECOND, { host: 'oldHost' })).hints).toEqual([]);
});
