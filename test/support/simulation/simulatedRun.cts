import { PassTime } from '../../../nodes/AgentInvocation/clock.ts';
import { fixedAt } from '../../../nodes/AgentInvocation/items/concurrency.ts';
import type { Item, Wait, WaitOptions } from '../../../nodes/AgentInvocation/item.ts';
import { Loop } from '../../../nodes/AgentInvocation/items/loop.ts';
import { pollRun } from '../../../nodes/AgentInvocation/waiting/poll.ts';
import { beginWait } from '../../../nodes/AgentInvocation/waiting/wait.ts';
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
		limiter: new RateLimiter(),
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
export interface WaitChanges
	extends Partial<Pick<WaitOptions, 'timeoutMs' | 'pollIntervalMs'>>, Partial<Wait> {
	/** Whether the run was created here; true when absent. */
	isOwn?: boolean;
	/** When waits must end since the workflow's own timeout is near, in ms since the epoch. */
	latestEndOn?: number;
}

/**
 * Waits for a run that was just created, with nothing but the node's own loop and polls.
 *
 * @returns what the last poll made of the item; undefined when the signal came first
 */
export async function waitForRun(
	service: Service,
	changes: WaitChanges = {},
	cancel?: AbortSignal,
): Promise<Item | undefined> {
	const {
		timeoutMs = 0,
		pollIntervalMs = 0,
		isOwn = true,
		latestEndOn = Infinity,
		...others
	} = changes;
	const time = new PassTime();
	const run = { baseUrl: service.baseUrl, agentId: 1, runId: RUN_ID };
	const options: WaitOptions = {
		timeoutMs,
		pollIntervalMs,
		onUnsuccessfulRun: 'error',
		onTimeout: 'error',
		outputFormat: 'text',
		whereToWait: 'memory',
	};
	const lastSeen = { run_id: RUN_ID, status: 'pending' };
	const beginning = { options, where: 'memory' as const, ...(isOwn && { lastSeen }), ...others };
	const begun = beginWait({ is: 'notBegun' }, run, beginning, { time, latestEndOn });
	let item: Item = { ...begun, wait: { ...begun.wait, ...others } };
	let last: Item | undefined;
	const loop = new Loop(
		{
			concurrency: fixedAt(1),
			stopsAtFailure: false,
			checkpoints: false,
			time,
			pollsFrom: -Infinity,
			cancel,
			begin: () => Promise.reject(new Error('nothing is to be begun')),
			async poll(current, _index, signal) {
				last = await pollRun(current, { service, time, latestEndOn, signal });
				return last;
			},
			idle: () => Promise.resolve({ is: 'sleep', until: Infinity }),
		},
		{ item: () => item, note: (_, next) => (item = next) },
		1,
	);
	const end = await loop.run();
	return end.is === 'cancelled' ? undefined : last;
}
