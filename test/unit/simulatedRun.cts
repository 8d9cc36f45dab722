import type { Answer } from '../../nodes/AgentInvocation/api/answer.ts';
import type { Service } from '../../nodes/AgentInvocation/api/service.ts';
import { systemClock } from '../../nodes/AgentInvocation/waiting/clock.ts';
import { Gate } from '../../nodes/AgentInvocation/waiting/gate.ts';
import type { Run } from '../../nodes/AgentInvocation/api/types.ts';

export const RUN_ID = '11111111-2222-4333-8444-555555555555';

/** A service on virtual time with one run that was created when this was called. */
export interface SimulatedRun {
	service: Service;
	/** When the service was asked, in ms after the run's creation. */
	askedAt: number[];
}

/**
 * @param durationMs how long the run takes
 * @param trouble gives an answer in place of the service's, for the request with this number (from 0)
 */
export function simulateRun(
	durationMs: number,
	trouble: (request: number) => Answer | undefined = () => undefined,
): SimulatedRun {
	const createdAt = performance.now();
	const askedAt: number[] = [];
	const service = {
		gate: new Gate(systemClock),
		baseUrl: 'https://agents.example.com/api/v1',
		send() {
			const age = performance.now() - createdAt;
			askedAt.push(age);
			const finished = age >= durationMs;
			const run: Run = {
				run_id: RUN_ID,
				status: finished ? 'succeeded' : 'running',
				completed_at: finished ? '2026-01-01T00:00:00Z' : null,
				...(finished && { output: 'Done.' }),
			};
			return Promise.resolve(trouble(askedAt.length - 1) ?? { kind: 'ok', status: 200, body: run });
		},
	};
	return { service: service as Service, askedAt };
}
