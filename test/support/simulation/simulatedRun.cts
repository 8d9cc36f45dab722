import { systemClock as clock } from '../../../nodes/AgentInvocation/clock.ts';
import { fixedAt } from '../../../nodes/AgentInvocation/items/concurrency.ts';
import type { Step, Wait } from '../../../nodes/AgentInvocation/itemState.ts';
import { Loop } from '../../../nodes/AgentInvocation/items/loop.ts';
import { beginWait, pollRun } from '../../../nodes/AgentInvocation/waiting/poll.ts';
import type { WaitOptions } from '../../../nodes/AgentInvocation/waiting/options.ts';
import type { Answer } from '../../../nodes/AgentInvocation/service/answer.ts';
import { RateLimiter } from '../../../nodes/AgentInvocation/service/rateLimiter.ts';
import type { Service } from '../../../nodes/AgentInvocation/service/service.ts';
import type { Run } from '../../../nodes/AgentInvocation/service/types.ts';

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
		limiter: new RateLimiter(clock),
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
	return { service: service as unknown as Service, askedAt };
}

/** How a wait differs from the usual one. */
export type WaitChanges = Partial<Wait & Pick<WaitOptions, 'timeoutMs' | 'pollIntervalMs'>>;

/**
 * Waits for a run that was just created, with nothing but the node's own loop and polls.
 *
 * @param changes to the wait; `lastSeen: undefined` for a run that was not created here
 * @returns what the last poll made of the item; undefined when the signal came first
 */
export async function waitForRun(
	service: Service,
	{ timeoutMs = 0, pollIntervalMs = 0, ...changes }: WaitChanges = {},
	cancel?: AbortSignal,
): Promise<Step | undefined> {
	const wait = {
		agentId: 1,
		runId: RUN_ID,
		lastSeen: { run_id: RUN_ID, status: 'pending' },
		startedAt: clock.now(),
		deadline: clock.now() + (timeoutMs || Infinity),
		latestAt: Infinity,
		where: 'memory' as const,
		options: {
			timeoutMs,
			pollIntervalMs,
			onUnsuccessfulRun: 'error' as const,
			onTimeout: 'error' as const,
			outputFormat: 'text' as const,
			whereToWait: 'memory' as const,
		},
		isEarlier: false,
		...changes,
	};
	const isOwn = wait.lastSeen !== undefined;
	let last: Step | undefined;
	const loop = new Loop(
		{
			clock,
			concurrency: fixedAt(1),
			stopsAtFailure: false,
			checkpoints: false,
			cancel,
			begin: () => Promise.reject(new Error('nothing is to be begun')),
			async poll(_index, current, signal) {
				last = await pollRun(service, current, { clock, signal });
				return last;
			},
			idle: () => ({ is: 'sleep', until: Infinity }),
			ended: () => {},
		},
		[{ is: 'waiting', wait: beginWait(wait, service.baseUrl, clock, !isOwn) }],
	);
	const end = await loop.run();
	return end.is === 'cancelled' ? undefined : last;
}
