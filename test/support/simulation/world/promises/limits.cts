import type { SeenRequest, SeenRun } from '../history.cts';
import { tagOf, turnOf } from '../history.cts';
import { pairOf, textOf, type Facts } from './facts.cts';

/** For how long after its limit a last poll goes on through temporary failures, in ms. */
const GRACE_MS = 60_000;

/** By when, after its limit, a wait has its end, in ms, beside what n8n and the service hold up. */
const END_WITHIN_MS = 600_000;

/** Workflows that leave less time, in ms, are ended by n8n. */
const SHORTEST_WORKFLOW_MS = 90_000;

/** What begins so shortly before the workflow's own timeout may not come to its end, in ms. */
const TIMEOUT_IS_NEAR_MS = 60_000;

const UNFINISHED = ['pending', 'running', 'queued'];

/** A run that has ended within its time limit is never reported as unfinished. */
export function endedInTime(facts: Facts): string[] {
	if (!facts.isClockRight) return [];
	return unfinishedReports(facts).flatMap(({ run, at, limitMs, resumedAt, where }) => {
		if (run.endsAt > run.createdAt + limitMs) return [];
		const polls = facts.requestsByRun.get(run.id) ?? [];
		const limitAt = run.createdAt + limitMs;
		const saidUnfinished = polls.some(
			({ said, arrivedAt, answeredAt }) =>
				said === 'unfinished' && arrivedAt >= limitAt && answeredAt <= at,
		);
		const triedMs = at - Math.max(limitAt, resumedAt);
		if (saidUnfinished || triedMs >= GRACE_MS) return [];
		return [
			`${where}: ${run.id} ended at ${Math.round(run.endsAt)}, its limit was ${Math.round(limitAt)}, and at ${Math.round(at)} it was reported as unfinished`,
		];
	});
}

/** Where the last poll of a run gets no answer, it is repeated for a while before the item has failed. */
export function lastPollsAreRepeated(facts: Facts): string[] {
	const { limiter, quota, odd, faults } = facts.history.world.service;
	// Requests that are put off, or take long, are repeated less often.
	const isPutOff = faults.some(
		({ kind, retryAfter }) =>
			retryAfter !== undefined || ['stray429', 'timeout', 'drips'].includes(kind),
	);
	if (limiter || quota || odd || isPutOff || !facts.isClockRight) return [];
	return facts.failures.flatMap(({ attempt, tag, message, at }) => {
		const spec = facts.spec(attempt);
		const hasOneLimit = spec.maxTries === 0 && spec.workflowTimeoutS === 0;
		// A later Retry may have started another one.
		const run = facts.runsByTag.get(tag)?.find(({ id }) => message.includes(id));
		if (!run?.request || !hasOneLimit || !/^At the time limit of/.test(message)) return [];
		const triedMs = at - Math.max(facts.deadlineOf(run, attempt), attempt.beganAt);
		return triedMs < GRACE_MS
			? [`execution ${attempt.id}, ${tag}: '${message}' after ${Math.round(triedMs)} ms`]
			: [];
	});
}

/** Waiting ends: within a bound after the limit the item has its end. */
export function waitsEnd(facts: Facts): string[] {
	const { history } = facts;
	if (!facts.isClockRight) return [];
	return history.runs.flatMap((run) => {
		const { request, createdAt } = run;
		if (!request) return [];
		const attempt = request.execution;
		const spec = facts.spec(attempt);
		const limitMs = facts.timeLimitMs(spec);
		if (!facts.isWaiting(spec, run.tag) || limitMs === undefined || limitMs === Infinity) return [];
		const isSingle = spec.maxTries === 0 && attempt.endedAt !== undefined;
		if (!isSingle || attempt.status === 'crashed') return [];
		const polls = (facts.requestsByRun.get(run.id) ?? []).filter(
			(poll) => poll.execution === attempt,
		);
		const last = polls.at(-1)?.sentAt ?? createdAt;
		// In a crowd a last poll waits for its turn.
		const crowd = crowdMs(facts);
		const held = heldUpMs(facts, request) + crowd;
		const allowed = createdAt + limitMs + END_WITHIN_MS + held + 2 * spec.resumesLateMs;
		return last > allowed
			? [
					`${run.id} of ${run.tag} is still polled at ${Math.round(last)}, its limit was ${Math.round(createdAt + limitMs)}`,
				]
			: [];
	});
}

/**
 * A wait ends by itself before the workflow's own timeout would end it, and say nothing of its runs. What is
 * still to be started, since the credential cannot be read, does not wait yet.
 */
export function endsBeforeWorkflow(facts: Facts): string[] {
	const { history, isClockRight } = facts;
	if (!isClockRight || history.kills.length > 0) return [];
	return history.attempts.flatMap((attempt) => {
		const { timedOutAt, beganAt } = attempt;
		const spec = facts.spec(attempt);
		const isPlain = spec.maxTries === 0 && spec.resumesLateMs < 1_000;
		// Where less than that is left when a turn begins, n8n ends it (docs/waiting.md).
		const { turn } = attempt.calls.at(-1) ?? {};
		const { at = beganAt } = attempt.calls.find((call) => call.turn === turn) ?? {};
		const isLong = beganAt + spec.workflowTimeoutS * 1_000 - at >= SHORTEST_WORKFLOW_MS;
		if (timedOutAt === undefined || !isPlain || !isLong || !facts.isWaiting(spec)) return [];
		const creates = history.requests.filter(
			({ execution, kind }) => execution === attempt && kind !== 'poll',
		);
		const isAtWork = creates.some(({ answeredAt }) => answeredAt > timedOutAt - TIMEOUT_IS_NEAR_MS);
		const started = creates.filter(({ status }) => status === 202).length;
		const mayStart =
			spec.operation === 'create' &&
			spec.credentialAway !== undefined &&
			started < spec.items.length * spec.turns;
		return isAtWork || mayStart
			? []
			: [
					`execution ${attempt.id} began at ${Math.round(beganAt)}, and n8n ended it at ${timedOutAt}`,
				];
	});
}

/** How long before the workflow's timeout waits end, and how late a request may be sent that is due then, in ms. */
const BEFORE_TIMEOUT_MS = 30_000;
const SENT_WITHIN_MS = 1_000;

/** No run is started, and nothing is checked for one, that the workflow's own timeout leaves no time to wait for. */
export function startsNothingTooLate(facts: Facts): string[] {
	if (!facts.isClockRight) return [];
	return facts.history.requests.flatMap(({ number, kind, execution, sentAt, tag }) => {
		if (tag === undefined) return [];
		const spec = facts.spec(execution);
		const { calls } = execution;
		const of = calls.find((call) => call.turn === turnOf(tag));
		if (spec.workflowTimeoutS <= 0 || !facts.isWaiting(spec, tag) || !of) return [];
		const endsAt = calls[0]!.at + spec.workflowTimeoutS * 1_000 - BEFORE_TIMEOUT_MS;
		const isLong = endsAt + BEFORE_TIMEOUT_MS - of.at >= SHORTEST_WORKFLOW_MS;
		return isLong && sentAt > endsAt + SENT_WITHIN_MS
			? [
					`request ${number} (${kind}) was sent at ${Math.round(sentAt)}, and waits end at ${Math.round(endsAt)}`,
				]
			: [];
	});
}

/** How long all items of a world may take for some polls each at the pace of its service, in ms. */
function crowdMs(facts: Facts): number {
	return facts.history.world.service.limiter ? 10 * (END_WITHIN_MS + roundMs(facts)) : 0;
}

/** The least time in which the limiter carries one request for each item. */
export function roundMs({ history }: Facts): number {
	const { service, executions } = history.world;
	const { limiter } = service;
	if (!limiter) return 0;
	const items = executions.reduce((sum, { items, turns }) => sum + items.length * turns, 0);
	const limit = Math.min(limiter.limit, limiter.limitAfter ?? limiter.limit);
	return (items * limiter.windowMs) / limit;
}

/** For how long the service asked to be left alone, and n8n was away. */
export function heldUpMs(
	{ history }: Facts,
	{ key, sentAt }: Pick<SeenRequest, 'key' | 'sentAt'>,
): number {
	const refused = history.requests.filter(
		(request) =>
			request.key === key && request.retryAfter !== undefined && request.answeredAt >= sentAt,
	);
	const away = history.kills.reduce((sum, { at, backAt }) => sum + backAt - at, 0);
	return refused.length * 3_600_000 + away;
}

interface Report {
	run: SeenRun;
	at: number;
	limitMs: number;
	resumedAt: number;
	where: string;
}

/** Runs that the node has reported as unfinished at their time limit, where that began with the run. */
function unfinishedReports(facts: Facts): Report[] {
	const { history } = facts;
	return history.attempts.flatMap((attempt) => {
		const spec = facts.spec(attempt);
		const limitMs = facts.timeLimitMs(spec);
		// A retry's limit begins again; the workflow's own timeout may come first.
		const hasOneLimit = spec.maxTries === 0 && spec.workflowTimeoutS === 0;
		if (!facts.isWaiting(spec) || spec.operation !== 'create' || !limitMs || !hasOneLimit)
			return [];
		const reports = [...attempt.endings].flatMap(([turn, { at, outputs, error }]) => {
			if (error) {
				const item = Number(error.context?.itemIndex ?? 0);
				return /has not finished within/.test(error.message) ? [{ turn, item, at }] : [];
			}
			return (outputs ?? []).flat().flatMap((output) => {
				const item = pairOf(output) ?? 0;
				const isFailure = /has not finished within/.test(textOf(output.json.error));
				const isOutput = UNFINISHED.includes(textOf(output.json.status));
				return isFailure || isOutput ? [{ turn, item, at }] : [];
			});
		});
		return reports.flatMap(({ turn, item, at }) => {
			const run = facts.runsByTag.get(tagOf(attempt.index, turn, item))?.at(-1);
			if (!run) return [];
			const resumes = attempt.parks.map(({ resumedAt = 0 }) => resumedAt);
			const resumedAt = Math.max(0, ...resumes.filter((resumed) => resumed <= at));
			const polls = facts.requestsByRun.get(run.id) ?? [];
			// What others hold up comes out later than it was known.
			const knownAt = polls.filter(({ answeredAt }) => answeredAt <= at).at(-1)?.answeredAt ?? at;
			const where = `execution ${attempt.id}, turn ${turn}, item ${item}`;
			return [{ run, at: knownAt, limitMs, resumedAt, where }];
		});
	});
}
