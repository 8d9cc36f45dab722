import { systemClock } from '../clock';
import { fail } from '../failure';
import type { Subject } from './answerKinds';
import type { ServiceRequest } from './endpoints';
import { explainAnswer } from './explainAnswer';
import { READ_PATIENCE_MS } from './retryPolicy';
import { sendWithRetry, type Patience } from './sendWithRetry';
import type { Service } from './service';

/** How patient a reader is, whom no wait's time limit bounds. */
export interface ReadPatience extends Partial<Pick<Patience, 'clock' | 'signal'>> {
	/** In ms; {@link READ_PATIENCE_MS} when absent. */
	patienceMs?: number;
}

/**
 * Sends a request that starts nothing, again where that may help, and gives the body of its answer.
 *
 * @throws FailureError that says what the answer means, if it is another one
 */
export async function read<T>(
	service: Service,
	request: ServiceRequest<T>,
	subject: Omit<Subject, 'baseUrl'>,
	{ clock = systemClock, patienceMs = READ_PATIENCE_MS, signal }: ReadPatience,
): Promise<T> {
	const patience = { clock, since: clock.now(), patienceMs, signal };
	const answer = await sendWithRetry(service, request, 'read', patience);
	return answer.kind === 'ok' && answer.body !== undefined
		? answer.body
		: fail(explainAnswer(answer, { ...subject, baseUrl: service.baseUrl }));
}
