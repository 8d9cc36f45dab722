import { Durations } from '../../nodes/AgentInvocation/waiting/durations.ts';
import { delayBeforeNextPoll } from '../../nodes/AgentInvocation/waiting/schedule.ts';

// The schedule alone, by arithmetic: no time passes.

/** What is known of an agent's runs, and what follows for the next one. */
export interface Knowledge {
	learn(durationMs: number): void;
	/** @returns the delay before the next poll, in ms */
	delay(waitedMs: number): number;
}

/** The schedule as it ships. */
export function thisSchedule(): Knowledge {
	const durations = new Durations();
	let runs = 0;
	return {
		learn: (ms) =>
			durations.learn({
				run_id: `run ${++runs}`,
				status: 'succeeded',
				created_at: new Date(0).toISOString(),
				completed_at: new Date(ms).toISOString(),
			}),
		delay: (waitedMs) =>
			delayBeforeNextPoll({ waitedMs, pollIntervalMs: 0, endsMs: durations.endsMs }),
	};
}

interface Seen {
	/** From the run's end until an answer tells it, in ms. */
	lateMs: number;
	/** With the create. */
	requests: number;
}

/** Polls one run; its wait begins with the answer to its create. */
export function seeRun(
	durationMs: number,
	{ delay }: Pick<Knowledge, 'delay'>,
	latencyMs: number,
): Seen {
	let waitedMs = 0;
	for (let requests = 2; ; requests++) {
		waitedMs += delay(waitedMs);
		// Half of the latency lies between a create and its answer, and half before the service is asked.
		const isOver = waitedMs + latencyMs >= durationMs;
		waitedMs += latencyMs;
		if (isOver) return { lateMs: waitedMs + latencyMs / 2 - durationMs, requests };
	}
}
