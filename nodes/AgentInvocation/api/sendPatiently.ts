import type { Clock } from '../waiting/clock';
import { orAborted } from '../waiting/clock';
import type { Answer } from './answer';
import type { ServiceRequest } from './endpoints';
import { backoffMs, isRetried, type Purpose } from './retryPolicy';
import type { Service } from './service';

/** For how long, and by which clock, a request may be repeated. */
export interface Patience {
	clock: Clock;
	/** By `clock.now()`; Infinity for no limit. */
	deadline: number;
	/** Whether there is one last try at the deadline, come what may. */
	triesAtDeadline?: boolean;
	/** Ends the patience: nothing more is sent, and the answer to a read or a look is not waited for. */
	signal?: AbortSignal;
}

/**
 * Sends a request again for as long as its purpose allows (see `retryPolicy.ts`), each time through
 * the service's gate.
 *
 * It ends as soon as the next try would come after the deadline, or with one last try at it.
 *
 * The answer to a create that is under way is waited for whatever the signal says: it holds the ID of
 * a run. (When the execution itself is cancelled, n8n's request helper ends the request.)
 *
 * @returns the last answer; its kind is `halted` when the signal came first
 */
export async function sendPatiently<T>(
	service: Service,
	request: ServiceRequest<T>,
	purpose: Purpose,
	{ clock, deadline, triesAtDeadline = false, signal }: Patience,
): Promise<Answer<T>> {
	const { gate } = service;
	const urgent = purpose === 'create' || purpose === 'createRetryingServerErrors';
	let answer: Answer<T> | undefined;

	for (let tries = 1; ; tries++) {
		const verdict = await gate.pass({
			urgent,
			deadline,
			passesAtDeadline: triesAtDeadline,
			...(signal && { signal }),
		});
		if (verdict === 'halted') return { kind: 'halted' };
		if (verdict === 'late') return answer ?? gate.refusal;

		const sentAt = clock.now();
		answer = await orAborted(service.send(request), urgent ? undefined : signal);
		if (answer === undefined) return { kind: 'halted' };
		gate.learn(answer, sentAt);
		const left = deadline - clock.now();
		if (left <= 0 || !isRetried(answer, purpose, tries)) return answer;

		// A rate limit holds up every request, so the gate waits it out.
		if (answer.kind === 'rateLimited') continue;
		const pause = backoffMs(answer, tries, clock.date(), Math.random());
		if (pause > left && !triesAtDeadline) return answer;
		await clock.sleep(Math.min(pause, left), signal);
		if (signal?.aborted) return { kind: 'halted' };
	}
}
