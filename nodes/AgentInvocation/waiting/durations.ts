import type { KnownRun } from '../item';
import { shareByKey } from '../service/shareByKey';
import type { Run } from '../service/types';
import { TIMEOUT_RANGE_S } from './options';

/** How many durations are remembered for an agent: the latest ones. */
const REMEMBERED = 50;

/** The longest plausible duration, in ms: the longest time limit. A longer one comes from a wrong or empty date. */
const LONGEST_MS = TIMEOUT_RANGE_S.maxValue * 1_000;

/** How long an agent's finished runs took, as far as this process has seen them. */
export class Durations {
	/** When the next run may end, in ms after its creation: equally likely times, ascending. */
	endsMs: readonly number[] = [];

	/** By run. */
	private known = new Map<string, number>();

	/**
	 * Takes a finished run's duration from the service's own times; a run without plausible ones is passed over, and
	 * so is one that is known, since several items may get it.
	 *
	 * @param mostMs how long it can have lasted, as far as that was seen: the service's two dates may be of clocks or
	 * time zones that differ
	 */
	learn({ run_id: id, created_at: from, completed_at: to }: Run, mostMs = Infinity): void {
		if (typeof from !== 'string' || typeof to !== 'string' || this.known.has(String(id))) return;
		const ms = Math.min(Date.parse(to) - Date.parse(from), mostMs);
		if (!(ms >= 0 && ms <= LONGEST_MS)) return;
		this.known.set(String(id), ms);
		const [oldest = ''] = this.known.keys();
		if (this.known.size > REMEMBERED) this.known.delete(oldest);
		this.endsMs = likelyEnds([...this.known.values()]);
	}
}

/**
 * Interpolates quantiles between the known durations, on a log scale: runs of minutes differ by more than
 * runs of seconds. One duration is added beyond either end. It is further away the fewer are known, and the
 * more they differ.
 */
function likelyEnds(durations: number[]): number[] {
	const known = durations.map((ms) => Math.log(Math.max(ms, 1))).sort((a, b) => a - b);
	const [shortest = 0, longest = 0] = [known[0], known.at(-1)];
	const beyond = Math.max((2 * (longest - shortest)) / Math.sqrt(known.length), 1 / known.length);
	const steps = [shortest - beyond, ...known, longest + beyond];
	const ends = steps.slice(1).flatMap((to, index) => {
		const from = steps[index] ?? to;
		return [1, 3, 5, 7].map((eighths) => Math.exp(from + ((to - from) * eighths) / 8));
	});
	// Without the outer half of the two steps that were added.
	return ends.slice(2, -2);
}

// Kept even if unused for long: a workflow may run only once a day.
const byAgent = shareByKey(() => new Durations(), Infinity);

/** The durations of an agent's runs at a service. */
export function durationsOf({ baseUrl, agentId }: Omit<KnownRun, 'runId'>): Durations {
	return byAgent(JSON.stringify([baseUrl, agentId]));
}
