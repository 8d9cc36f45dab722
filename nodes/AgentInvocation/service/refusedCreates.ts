import type { Answer } from './answer';
import { retryAfterMs } from './retryPolicy';

/**
 * Creates that are refused while other requests are carried. From two in a row on, it is not the rate that the
 * service refuses: its quota of runs may be used up.
 */
export class RefusedCreates {
	private inARow = 0;

	/** Whether the service refuses creates, but carries other requests. */
	get areAlone(): boolean {
		return this.inARow > 1;
	}

	/**
	 * Learns from an answer.
	 *
	 * @param isOfCreate whether it is the answer to a create
	 * @param wasCarried whether a request was carried since the refusal before
	 * @returns whether it is a refusal that says nothing about other requests
	 */
	learn(answer: Answer, isOfCreate: boolean, wasCarried: boolean): boolean {
		// Without a status, the service has not said anything.
		if (answer.kind !== 'rateLimited') {
			if (isOfCreate && answer.status !== undefined) this.inARow = 0;
			return false;
		}
		const saysNothing = isOfCreate && this.areAlone && retryAfterMs(answer) === 0;
		if (!isOfCreate) this.inARow = 0;
		else if (wasCarried) this.inARow++;
		return saysNothing;
	}
}
