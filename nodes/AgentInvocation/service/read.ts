import { FailureError, UnansweredError } from '../failure';
import type { Answer } from './answer';
import { answerKinds } from './answerKinds';
import type { ServiceRequest } from './endpoints';
import { explainAnswer, type Subject } from './explainAnswer';
import type { Patience } from './rateLimiter';
import { READ_PATIENCE_MS } from './retryPolicy';
import { sendWithRetry } from './sendWithRetry';
import type { Service } from './service';

/** How long a read may take. It is not bounded by the time limit of a wait. */
export type ReadPatience = Partial<Omit<Patience, 'since'>>;

/**
 * Sends a request that starts nothing, repeats it where that may help, and gives the body of its answer.
 *
 * @throws FailureError that explains any other answer; an UnansweredError unless that is the service's verdict
 */
export async function read<T>(
	service: Service,
	request: ServiceRequest<T>,
	subject: Omit<Subject, 'baseUrl'>,
	patience: ReadPatience,
): Promise<T> {
	const given = { patienceMs: READ_PATIENCE_MS, ...patience };
	const answer = await sendWithRetry(service, request, 'read', given);
	return bodyOf(answer, { ...subject, baseUrl: service.baseUrl });
}

/**
 * The body of an answer to a request that starts nothing.
 *
 * @throws as {@link read}
 */
export function bodyOf<T>(answer: Answer<T>, subject: Subject): T {
	if (answer.body !== undefined) return answer.body;
	const failure = explainAnswer(answer, subject);
	throw answerKinds[answer.kind].isVerdict
		? new FailureError(failure)
		: new UnansweredError(failure);
}
