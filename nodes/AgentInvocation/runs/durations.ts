import { systemClock } from '../clock';
import { shareByKey } from '../service/shared';
import type { Run } from '../service/types';

const REMEMBERED = 25;

/** How long the finished runs of an agent took, as the executions of this process have seen it. */
export class Durations {
	private known: number[] = [];

	/** Takes a finished run's duration from the service's own times; a run without them is passed over. */
	learn({ created_at: from, completed_at: to }: Run): void {
		const ms = Date.parse(to ?? '') - Date.parse(from ?? '');
		if (ms >= 0) this.known = [...this.known, ms].slice(-REMEMBERED);
	}

	/** The median of the latest durations, in ms; undefined while none is known. */
	expect(): number | undefined {
		return [...this.known].sort((a, b) => a - b)[Math.floor(this.known.length / 2)];
	}
}

const byAgent = shareByKey(systemClock, () => new Durations());

/** The durations of an agent's runs at a service. */
export function durationsOf(baseUrl: string, agentId: number): Durations {
	return byAgent(JSON.stringify([baseUrl, agentId]));
}
