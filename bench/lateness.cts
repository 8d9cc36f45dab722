import { delayBeforeNextPoll } from '../nodes/AgentInvocation/waiting/schedule.ts';
import { distributions, LATENCY_MS } from './policies.cts';
import { seeRun, thisSchedule, type Knowledge } from '../test/support/schedule.cts';
import { randomFrom } from '../test/support/simulation/world/random.cts';

// The schedule alone, by arithmetic: many runs, each polled with what is known of those before it.

/** The one before it: a poll that would pass over the median of the latest 25 came forward to it. */
function medianSchedule(): Knowledge {
	let known: number[] = [];
	return {
		learn: (ms) => (known = [...known, ms].slice(-25)),
		delay(waitedMs) {
			const median = [...known].sort((a, b) => a - b)[Math.floor(known.length / 2)];
			if (median === undefined) return delayBeforeNextPoll({ waitedMs, pollIntervalMs: 0 });
			const delay = Math.min(Math.max(waitedMs / 5, 1_000), 600_000);
			return median + 50 > waitedMs ? Math.min(delay, median + 50 - waitedMs) : delay;
		},
	};
}

const LENGTHS_S = [1, 2, 10, 60, 300, 3_600, 8 * 3_600];
const SPREADS: Record<string, (random: () => number) => number> = {
	'uniform ±10%': (random) => 0.9 + 0.2 * random(),
	'normal, sigma 5%': (random) =>
		1 + 0.05 * Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()),
};

export const knownHeads = [
	'Length',
	'Spread',
	'Mean lateness',
	'Requests',
	'Most',
	'With 8 at the most',
	`Lateness at ${LATENCY_MS} ms`,
	'Least the bound allows',
];

/** Runs of a known length: the sixth of each agent, by length, spread and how many are known. */
export function knownLengths(samples: number): Array<Array<string | number>> {
	const rows = [];
	for (const seconds of LENGTHS_S) {
		for (const [spread, factor] of Object.entries(SPREADS)) {
			const random = randomFrom(7);
			const cells = [0, LATENCY_MS].flatMap((latencyMs) => {
				const seen = Array.from({ length: samples }, () => {
					const knowledge = thisSchedule();
					for (let run = 0; run < 5; run++) knowledge.learn(seconds * 1_000 * factor(random));
					const durationMs = seconds * 1_000 * factor(random);
					return { durationMs, ...seeRun(durationMs, knowledge, latencyMs) };
				});
				const requests = seen.map((run) => run.requests).sort((a, b) => a - b);
				const within8 = requests.filter((count) => count <= 8).length / samples;
				const late = mean(seen.map(({ lateMs, durationMs }) => lateMs / durationMs));
				return latencyMs > 0
					? [percent(late)]
					: [percent(late), mean(requests).toFixed(1), requests.at(-1)!, percent(within8)];
			});
			rows.push([`${seconds} s`, spread, ...cells, leastRequests(seconds * 900)]);
		}
	}
	return rows;
}

/** Means over runs of one length. */
interface Means {
	/** How late they are seen to end, as a share of their length. */
	share: number;
	requests: number;
}

/** Ways to poll, and what comes of each with runs of so many seconds and a spread of 10 %. */
export const waysToPoll: Record<string, (seconds: number) => Means> = {
	'This node, five runs known': (seconds) => meansOf(seconds, 5, thisSchedule),
	'This node, no run known': (seconds) => meansOf(seconds, 0, thisSchedule),
	'A poll each second': (seconds) => meansOf(seconds, 0, () => fixedSchedule(1_000)),
	'A poll each 5 s': (seconds) => meansOf(seconds, 0, () => fixedSchedule(5_000)),
};

function fixedSchedule(intervalMs: number): Knowledge {
	return { learn: () => {}, delay: () => intervalMs };
}

function meansOf(seconds: number, known: number, open: () => Knowledge): Means {
	const random = randomFrom(7);
	const durationMs = () => seconds * 1_000 * (0.9 + 0.2 * random());
	const seen = Array.from({ length: 300 }, () => {
		const knowledge = open();
		for (let run = 0; run < known; run++) knowledge.learn(durationMs());
		const ms = durationMs();
		return { ms, ...seeRun(ms, knowledge, LATENCY_MS) };
	});
	return {
		share: mean(seen.map(({ ms, lateMs }) => lateMs / ms)),
		requests: mean(seen.map(({ requests }) => requests)),
	};
}

/** A create, the polls that the bound of 65 s or 20 % asks for before a run's earliest end, and one more. */
function leastRequests(earliestEndMs: number): number {
	let [polls, waitedMs] = [1, 0];
	for (; waitedMs < earliestEndMs; polls++) waitedMs += Math.max(65_000, waitedMs / 5);
	return polls + (waitedMs > 1.05 * earliestEndMs ? 0 : 1);
}

export const anyHeads = [
	'Durations',
	'Schedule',
	'Mean lateness',
	'Of a second at least',
	'Mean (s)',
	'Requests',
];

/** Runs one after the other, whose durations differ: the schedule before and this one. */
export function anyLengths(runs: number): Array<Array<string | number>> {
	const rows = [];
	for (const [name, make] of Object.entries({ ...distributions, ...moreDistributions })) {
		const durations = make(runs);
		for (const [schedule, open] of Object.entries({ before: medianSchedule, now: thisSchedule })) {
			const knowledge = open();
			const seen = durations.map((ms) => {
				const run = seeRun(ms, knowledge, LATENCY_MS);
				knowledge.learn(ms);
				return { ...run, share: run.lateMs / ms, shareOfSecond: run.lateMs / Math.max(ms, 1_000) };
			});
			rows.push([
				name,
				schedule,
				percent(mean(seen.map(({ share }) => share))),
				percent(mean(seen.map(({ shareOfSecond }) => shareOfSecond))),
				(mean(seen.map(({ lateMs }) => lateMs)) / 1_000).toFixed(2),
				mean(seen.map(({ requests }) => requests)).toFixed(2),
			]);
		}
	}
	return rows;
}

const moreDistributions: typeof distributions = {
	'bimodal, 3 s or 5 min, each ±10%': (count) => {
		const random = randomFrom(11);
		const length = () => (random() < 0.7 ? 3_000 : 300_000);
		return Array.from({ length: count }, () => length() * (0.9 + 0.2 * random()));
	},
};

function mean(values: number[]): number {
	return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function percent(share: number): string {
	return `${(share * 100).toFixed(2)}%`;
}
