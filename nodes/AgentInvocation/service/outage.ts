import type { Answer } from './answer';
import { leavesDoubt } from './answerKinds';
import { backoffRange, isUnavailable } from './retryPolicy';

/** Once polls have failed for this long, in ms, one create is sent to try. Less than READ_PATIENCE_MS, so none gives up before. */
const LONGEST_OUTAGE_MS = 120_000;

/** How many runs are remembered whose polls fail for reasons of their own. */
const MOST_FAILING = 1_000;

/**
 * Holds back creates while the service seems to be away: if the polls of two runs in a row got no answer of its own, a
 * create would leave its item in doubt. Once something is carried, the two no longer count. As they may have failed for
 * reasons of their own, one create is tried after a while. Moments are those of the clock, in ms.
 */
export class Outage {
	/** The paths of two runs whose polls failed, if nothing was carried since. */
	private readonly unanswered = new Set<string>();

	/** When the second of them failed, or a create after that. */
	private since = -Infinity;

	/** Until when creates wait for something to be carried. */
	createsWaitUntil = -Infinity;

	/** The paths of those that failed although others were carried. */
	private readonly failing = new Set<string>();

	get isOn(): boolean {
		return this.unanswered.size === 2;
	}

	/**
	 * Learns from the answer to a poll of a run.
	 *
	 * @param path of the request
	 */
	learn(answer: Answer, path: string, now: number): void {
		if (!isUnavailable(answer) && answer.kind !== 'rateLimited') {
			this.end();
			this.failing.delete(path);
		}
		if (!isUnavailable(answer) || !leavesDoubt(answer) || this.failing.has(path)) return;
		if (!this.isOn) {
			this.unanswered.add(path);
			this.since = now;
		}
		if (now <= this.since + LONGEST_OUTAGE_MS) this.holdCreates(now);
	}

	/** Notes that the service did not answer a create either. */
	noteCreate(now: number): void {
		this.since = now;
		this.holdCreates(now);
	}

	/** Ends it, since something was carried. */
	end(): void {
		if (this.failing.size > MOST_FAILING) this.failing.clear();
		for (const path of this.unanswered) this.failing.add(path);
		this.unanswered.clear();
		this.createsWaitUntil = -Infinity;
	}

	private holdCreates(now: number): void {
		if (this.isOn) this.createsWaitUntil = now + backoffRange.longest;
	}
}
