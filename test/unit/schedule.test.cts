import fc from 'fast-check';

import { seeRun, thisSchedule } from '../support/schedule.cts';
import { randomFrom } from '../support/simulation/world/random.cts';
import { Durations, durationsOf } from '../../nodes/AgentInvocation/waiting/durations.ts';
import {
	storableDelayAfterFailure,
	delayBeforeNextPoll,
} from '../../nodes/AgentInvocation/waiting/schedule.ts';

// All by arithmetic: no time passes here.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** What n8n stores at the least. */
const STORED = 65 * SECOND;
const ROUNDING = 1e-3;

let runs = 0;

/** A run that took as long. */
const runOf = (ms: number) => ({
	run_id: `run ${++runs}`,
	status: 'succeeded',
	created_at: new Date(0).toISOString(),
	completed_at: new Date(ms).toISOString(),
});

function knowing(durationsMs: number[]) {
	const schedule = thisSchedule();
	for (const ms of durationsMs) schedule.learn(ms);
	return schedule;
}

function endsOf(durationsMs: number[]): readonly number[] {
	const durations = new Durations();
	for (const ms of durationsMs) durations.learn(runOf(ms));
	return durations.endsMs;
}

const plain = { delay: (waitedMs: number) => delayBeforeNextPoll({ waitedMs, pollIntervalMs: 0 }) };
const fifthOf = (ms: number) => Math.max(ms / 5, SECOND);

// By magnitude, since durations of a second matter as much as those of hours.
const anyMs = fc.double({ min: 0, max: Math.log(10 * HOUR), noNaN: true }).map(Math.exp);
const anyDuration = anyMs.map(Math.round);
const anyCluster = fc
	.tuple(anyDuration, fc.array(fc.double({ min: 0.9, max: 1.1, noNaN: true }), { maxLength: 60 }))
	.map(([ms, factors]) => [ms, ...factors.map((factor) => Math.round(ms * factor))]);
const anyKnown = fc.oneof(
	fc.array(anyDuration, { minLength: 1, maxLength: 60 }),
	anyCluster,
	fc.tuple(anyCluster, anyCluster).map((clusters) => clusters.flat()),
);

test('dates of clocks or time zones that differ count for no more than what was seen', () => {
	const [real, far] = [new Durations(), new Durations()];
	real.learn(runOf(3 * SECOND));
	far.learn(runOf(2 * HOUR), 3 * SECOND);
	expect(far.endsMs).toEqual(real.endsMs);
});

describe('without knowledge', () => {
	test.each([
		[0, 300],
		[100, 200],
		[300, SECOND],
		[5 * SECOND, SECOND],
		[10 * SECOND, 2 * SECOND],
		[30 * MINUTE, 6 * MINUTE],
		[10 * HOUR, 10 * MINUTE],
	])('after %d ms the next poll is %d ms later', (waitedMs, ms) => {
		expect(plain.delay(waitedMs)).toBe(ms);
	});
});

describe('with knowledge, whatever it is', () => {
	test('the next poll is at most 65 s away, or 20 % of the time waited', () => {
		fc.assert(
			fc.property(anyKnown, anyMs, (known, waitedMs) => {
				const delay = knowing(known).delay(waitedMs);
				expect(delay).toBeGreaterThan(0);
				expect(delay).toBeLessThanOrEqual(Math.max(STORED, waitedMs / 5) + ROUNDING);
			}),
			{ numRuns: 1_000 },
		);
	});

	test('a run no shorter than the shortest known is seen as soon as without knowledge: at most 20 % late, or 1 s', () => {
		fc.assert(
			fc.property(anyKnown, anyMs, (known, ms) => {
				const durationMs = Math.max(ms, Math.min(...known.slice(-50)), 1);
				const { lateMs } = seeRun(durationMs, knowing(known), 0);
				expect(lateMs).toBeLessThanOrEqual(fifthOf(durationMs) + ROUNDING);
			}),
			{ numRuns: 1_000 },
		);
	});

	test.each([
		['as short as the one that was short', 1, 10 * SECOND],
		['between those that are short and those that are long', 35, 15 * SECOND],
	])('also a run that is %s', (_name, short, durationMs) => {
		const known = Array.from({ length: 50 }, (_, run) => (run < short ? 10 * SECOND : HOUR));
		const { lateMs } = seeRun(durationMs, knowing(known), 0);
		expect(lateMs).toBeLessThanOrEqual(fifthOf(durationMs) + ROUNDING);
	});

	test('a run that is shorter than any before is seen at most 65 s late, or 20 %', () => {
		fc.assert(
			fc.property(anyKnown, anyMs, (known, durationMs) => {
				const { lateMs } = seeRun(durationMs, knowing(known), 0);
				expect(lateMs).toBeLessThanOrEqual(Math.max(STORED, durationMs / 5) + ROUNDING);
			}),
			{ numRuns: 1_000 },
		);
	});

	test('a run that outlasts all that is known is polled as if nothing were', () => {
		fc.assert(
			fc.property(anyKnown, fc.double({ min: 1, max: 10, noNaN: true }), (known, factor) => {
				const waitedMs = (endsOf(known).at(-1) ?? 0) * factor;
				const expected = Math.min(fifthOf(waitedMs), 10 * MINUTE);
				expect(knowing(known).delay(waitedMs)).toBe(expected);
			}),
		);
	});

	test('polls are apart by 0.9 % of the time waited, or 9 ms', () => {
		fc.assert(
			fc.property(anyKnown, anyMs, (known, waitedMs) => {
				const least = 0.009 * Math.max(waitedMs, SECOND);
				expect(knowing(known).delay(waitedMs)).toBeGreaterThanOrEqual(least - ROUNDING);
			}),
			{ numRuns: 1_000 },
		);
	});

	test('a run takes at most a few requests more than without knowledge', () => {
		fc.assert(
			fc.property(anyKnown, anyMs, (known, durationMs) => {
				const { requests } = seeRun(durationMs, knowing(known), 0);
				expect(requests).toBeLessThanOrEqual(1.5 * seeRun(durationMs, plain, 0).requests + 12);
			}),
			{ numRuns: 1_000 },
		);
	});

	test('a poll interval of the user’s and the shortest stored delay are kept to', () => {
		const endsMs = endsOf([MINUTE, MINUTE, MINUTE]);
		const delay = (more: object) =>
			delayBeforeNextPoll({ waitedMs: 59.9 * SECOND, pollIntervalMs: 0, endsMs, ...more });
		expect(delay({})).toBeLessThan(SECOND);
		expect(delay({ pollIntervalMs: 7 * SECOND })).toBe(7 * SECOND);
	});
});

describe('runs of one length, give or take 10 %', () => {
	/** The sixth run, of many agents. */
	function sixthRuns(ms: number) {
		const random = randomFrom(7);
		const next = () => Math.round(ms * (0.9 + 0.2 * random()));
		const seen = Array.from({ length: 1_500 }, () => {
			const schedule = knowing(Array.from({ length: 5 }, next));
			const durationMs = next();
			const { lateMs, requests } = seeRun(durationMs, schedule, 0);
			return { late: lateMs / durationMs, requests };
		});
		const mean = (values: number[]) => values.reduce((sum, value) => sum + value) / values.length;
		return {
			late: mean(seen.map(({ late }) => late)),
			requests: mean(seen.map(({ requests }) => requests)),
			most: Math.max(...seen.map(({ requests }) => requests)),
		};
	}

	test.each([2, 10, 60])('of %d s are seen some 3 %% late, with 8 requests at the most', (s) => {
		const { late, requests, most } = sixthRuns(s * SECOND);
		expect(late).toBeLessThan(0.033);
		expect(requests).toBeLessThan(4);
		expect(most).toBeLessThanOrEqual(8);
	});

	test.each([
		[5 * MINUTE, 6],
		[HOUR, 19],
		[8 * HOUR, 31],
	])('of %d ms take two requests more than the bound asks for, which is %d', (ms, least) => {
		const { late, requests } = sixthRuns(ms);
		expect(late).toBeLessThan(0.033);
		expect(requests).toBeLessThan(least + 2);
	});

	test('that are known to take minutes are not polled before a delay that n8n stores', () => {
		expect(knowing([5 * MINUTE]).delay(0)).toBe(STORED);
	});
});

describe('what is known', () => {
	test('is the latest 50', () => {
		const durations = new Durations();
		const learn = (count: number, ms: number) => {
			for (let run = 0; run < count; run++) durations.learn(runOf(ms));
		};
		learn(50, HOUR);
		learn(49, 10 * SECOND);
		expect(durations.endsMs.at(-1)).toBeGreaterThan(HOUR);
		learn(1, 10 * SECOND);
		expect(durations.endsMs.at(-1)).toBeLessThan(11 * SECOND);
	});

	test.each([
		{},
		{ completed_at: null },
		{ created_at: 'soon', completed_at: 'later' },
		{ created_at: '2026-01-01', completed_at: '2025-01-01' },
		{ created_at: '0001-01-01T00:00:00Z', completed_at: '2026-01-01T00:00:00Z' },
		{ created_at: '1970-01-01T00:00:00Z', completed_at: '2026-01-01T00:00:00Z' },
	])('is not changed by a run with the times %j', (times) => {
		const durations = new Durations();
		const learn = () => durations.learn({ run_id: '', status: 'succeeded', ...times });
		learn();
		expect(durations.endsMs).toEqual([]);
		durations.learn(runOf(MINUTE));
		const known = durations.endsMs;
		learn();
		expect(durations.endsMs).toEqual(known);
	});

	test.each([
		[0, true],
		[365 * DAY, true],
		[365 * DAY + 1, false],
	])('has the duration of a run of %d ms: %s', (ms, isKnown) => {
		expect(endsOf([ms]).length > 0).toBe(isKnown);
	});

	test('stands for durations around it, of equal likelihood', () => {
		const around = [-3 / 8, -1 / 8, 1 / 8, 3 / 8];
		expect(endsOf([MINUTE])).toEqual(
			around.map((by) => expect.closeTo(MINUTE * Math.exp(by), 3) as number),
		);
		// One of 0 ms counts as 1 ms.
		expect(endsOf([0])).toEqual(endsOf([1]));
	});

	test('stands for those in between as well, in whatever order it came', () => {
		const [from, to] = [Math.log(MINUTE), Math.log(2 * MINUTE)];
		const beyond = (2 * (to - from)) / Math.sqrt(2);
		const ends = [
			...[5, 7].map((eighths) => from - beyond + (beyond * eighths) / 8),
			...[1, 3, 5, 7].map((eighths) => from + ((to - from) * eighths) / 8),
			...[1, 3].map((eighths) => to + (beyond * eighths) / 8),
		];
		const expected = ends.map((end) => expect.closeTo(Math.exp(end), 3) as number);
		expect(endsOf([MINUTE, 2 * MINUTE])).toEqual(expected);
		expect(endsOf([2 * MINUTE, MINUTE])).toEqual(expected);
	});

	test('leaves the more room, the less it is', () => {
		const width = (count: number) => {
			const ends = endsOf(new Array<number>(count).fill(MINUTE));
			return ends.at(-1)! / ends[0]!;
		};
		expect(width(1)).toBeGreaterThan(2);
		expect(width(2)).toBeLessThan(width(1));
		expect(width(5)).toBeLessThan(width(2));
		expect(width(50)).toBeLessThan(1.05);
	});

	test('leaves the more room, the more durations differ', () => {
		const earliest = (spread: number) =>
			endsOf([1, 2, 3, 4, 5].map((step) => MINUTE * (1 + spread * step)))[0]! / (1 + spread);
		expect(earliest(0.5)).toBeLessThan(0.9 * earliest(0.01));
	});

	test('is apart for each service and agent, and one for all who ask', () => {
		const url = 'https://durations.example.com/api/v1';
		durationsOf({ baseUrl: url, agentId: 1 }).learn(runOf(MINUTE));
		expect(durationsOf({ baseUrl: url, agentId: 1 }).endsMs).not.toEqual([]);
		expect(durationsOf({ baseUrl: url, agentId: 2 }).endsMs).toEqual([]);
		expect(durationsOf({ baseUrl: 'https://other.example.com/api/v1', agentId: 1 }).endsMs).toEqual(
			[],
		);
	});
});

describe('after trouble', () => {
	test.each([
		['a short delay is as long as attempts are apart', 1, STORED - 1, 700],
		['also when there was much', 9, STORED - 1, 700],
		['a long one is as short as n8n stores', 1, HOUR, STORED],
		['then twice as long', 2, HOUR, 2 * STORED],
		['and twice again', 3, HOUR, 4 * STORED],
		['but never longer than without trouble', 3, 3 * STORED, 3 * STORED],
		['nor shorter than n8n stores', 1, STORED, STORED],
	])('%s', (_, troubles, scheduledMs, ms) => {
		expect(storableDelayAfterFailure(troubles, scheduledMs, 700)).toBe(ms);
	});
});
