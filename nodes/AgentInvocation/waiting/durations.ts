import type { Run } from '../api/types';

const REMEMBERED = 25;

/** How long the finished runs of each agent took, as this execution has seen it. */
export class Durations {
	private readonly byAgent = new Map<number, number[]>();

	/** Takes a finished run's duration from the service's own times; a run without them is passed over. */
	learn(agentId: number, { created_at: from, completed_at: to }: Run): void {
		const ms = Date.parse(to ?? '') - Date.parse(from ?? '');
		if (!(ms >= 0)) return;
		const known = this.byAgent.get(agentId) ?? [];
		this.byAgent.set(agentId, [...known, ms].slice(-REMEMBERED));
	}

	/** The median of the latest durations, in ms; undefined while none is known. */
	expect(agentId: number): number | undefined {
		const known = this.byAgent.get(agentId);
		return known && [...known].sort((a, b) => a - b)[Math.floor(known.length / 2)];
	}
}
