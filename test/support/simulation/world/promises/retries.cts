import { isOtherNode, turnOf } from '../history.cts';
import type { Facts } from './facts.cts';
import { askedMs } from './pace.cts';
import { LONGEST_BACKOFF_MS, requestsOf } from './reasons.cts';

/** What is said without asking the service. */
const UNASKED =
	/^An earlier attempt|instead of a dry run|must be|credential|cancel|rate limit|took no more|Another version|could not send|output is not JSON/;

/** n8n's Retry of an execution that has failed tries again: nothing fails for an old reason. */
export function triesAgain(facts: Facts): string[] {
	if (!facts.isClockRight) return [];
	return facts.failures.flatMap((failure) => {
		const { attempt, message, tag } = failure;
		if (attempt.retryOf?.status !== 'error' || UNASKED.test(message)) return [];
		// All that use the key are to be left alone still.
		const isLeftAlone = facts.history.requests.some((request) => {
			const { answeredAt, status } = request;
			const pauseMs = Math.max(askedMs(request), status === 429 ? LONGEST_BACKOFF_MS : 0);
			return answeredAt <= failure.at && answeredAt + pauseMs >= failure.at;
		});
		// If the service refuses many requests, there is no turn for all of them within the time limit.
		const isCrowded =
			message.startsWith('At the time limit') &&
			facts.history.requests.some(
				({ execution, status }) => execution === attempt && status === 429,
			);
		// Nor is there time to ask where n8n is about to end the execution.
		if (isLeftAlone || isCrowded || facts.spec(attempt).workflowTimeoutS > 0) return [];
		const isAsked = requestsOf(facts, failure).some(({ execution }) => execution === attempt);
		return isAsked
			? []
			: [`execution ${attempt.id}, ${tag}: '${message}', and nothing was asked for it`];
	});
}

/** A Retry that has to refuse an item first waits for the runs that it knows. */
export function refusesLast(facts: Facts): string[] {
	return facts.history.attempts.flatMap((attempt) => {
		const { retryOf, error, endings } = attempt;
		const spec = facts.spec(attempt);
		if (!retryOf || !error || !facts.isWaiting(spec) || attempt.status !== 'error') return [];
		if (!/^An earlier attempt may have started/.test(error.message)) return [];
		// In a changed node, items with other values begin again.
		if (isOtherNode(attempt, retryOf)) return [];
		// With a wrong option, no run can be waited for.
		if (attempt.beganAt >= (spec.wrongOptionAtMs ?? Infinity)) return [];
		const turn = [...endings].find(([, ending]) => ending.error)?.[0];
		const memory = retryOf.saves.at(-1)?.memory ?? '';
		const known = facts.history.runs.filter(
			(run) =>
				turnOf(run.tag) === turn &&
				run.request?.kind === 'create' &&
				!isOtherNode(run.request.execution, attempt) &&
				run.request.execution.lineages.get(run.tag) === attempt.lineages.get(run.tag) &&
				memory.includes(run.id),
		);
		const left = known.find(({ id }) => {
			const polls = facts.requestsByRun.get(id) ?? [];
			// What an earlier attempt was told not to exist is not asked for again.
			const isGone = polls.at(-1)?.fault === 'unknownRun';
			const isAsked = polls.some(
				({ said, execution }) => said === 'finished' || execution === attempt,
			);
			return !isGone && !isAsked;
		});
		return left
			? [`execution ${attempt.id} refuses an item before it has asked for ${left.id}`]
			: [];
	});
}
