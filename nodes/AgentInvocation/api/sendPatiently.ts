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
	/** Ends the patience: nothing more is sent, and the answer to a read or a look is not waited for. */
	signal?: AbortSignal;
}

/**
 * Sends a request again for as long as its purpose allows (see `retryPolicy.ts`).
 *
 * A look at a run ends with one last try at the deadline. Anything else ends as soon as the next try
 * would come after the deadline.
 *
 * The answer to a create that is under way is waited for whatever the signal says: it holds the ID of
 * a run. (When the execution itself is cancelled, n8n's request helper ends the request.)
 *
 * @returns the last answer; its kind is `cancelled` when the signal came while one was under way
 */
export async function sendPatiently<T>(
	service: Service,
	request: ServiceRequest<T>,
	purpose: Purpose,
	{ clock, deadline, signal }: Patience,
): Promise<Answer<T>> {
	const looks = purpose === 'look' || purpose === 'firstLook';
	const creates = purpose === 'create' || purpose === 'createRetryingServerErrors';
	for (let tries = 1; ; tries++) {
		const answer = await orAborted(service.send(request), creates ? undefined : signal);
		if (answer === undefined) return { kind: 'cancelled' };
		if (!isRetried(answer, purpose, tries)) return answer;

		const left = deadline - clock.now();
		const pause = backoffMs(answer, tries, clock.date(), Math.random());
		if (left <= 0 || (pause > left && !looks)) return answer;
		await clock.sleep(Math.min(pause, left), signal);
		if (signal?.aborted) return answer;
	}
}
