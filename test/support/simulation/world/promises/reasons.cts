import { UNSENT } from '../answers.cts';
import { itemOf, NEW_KEY, organizationOf, type SeenRequest } from '../history.cts';
import type { ExecutionSpec } from '../world.cts';
import { isTrue, textOf, type Facts, type SaidFailure } from './facts.cts';
import { askedMs } from './pace.cts';

/** How often a create is sent to which no connection can be made. */
const CONNECTS = 5;

/** For how long a request at least waits for its turn while the service takes none, in ms. */
const PATIENCE_MS = 300_000;

/** How much sooner than planned n8n may resume an execution, in ms. */
const EARLY_MS = 10_000;

/** How long before the workflow's own timeout a wait ends, in ms. */
const ENDS_BEFORE_MS = 30_000;

/** The longest pause that the node makes where the service does not say how long it should be, in ms. */
export const LONGEST_BACKOFF_MS = 75_000;

/** The requests that were sent for an item, its own run's polls among them. */
export function requestsOf(facts: Facts, { tag, attempt }: SaidFailure): SeenRequest[] {
	const polls = (facts.runsByTag.get(tag) ?? []).flatMap(
		({ id }) => facts.requestsByRun.get(id) ?? [],
	);
	const shared = facts.history.requests.filter(
		({ kind, execution, tag: other }) =>
			(kind === 'list' || (kind === 'dryRun' && other === tag)) &&
			execution.index === attempt.index,
	);
	return [...(facts.createsByTag.get(tag) ?? []), ...polls, ...shared];
}

type Claim = [
	says: RegExp,
	isTrueOf: (facts: Facts, failure: SaidFailure, sent: SeenRequest[]) => boolean,
];

const met =
	(...faults: Array<string | undefined>) =>
	(_facts: Facts, _failure: SaidFailure, sent: SeenRequest[]) =>
		sent.some(({ fault }) => faults.includes(fault));

const wasAnswered =
	(...statuses: number[]) =>
	(_facts: Facts, _failure: SaidFailure, sent: SeenRequest[]) =>
		sent.some(({ status }) => statuses.includes(status ?? 0));

/** Whether a create's answer does not tell that nothing was started. */
function isUnclear({ kind, status, fault, isOwn, answeredAt, isCut }: SeenRequest): boolean {
	if (kind !== 'create') return false;
	// The request was carried out, and its result is elsewhere.
	if (status === 302 || status === 303) return true;
	if (answeredAt === Infinity || isCut) return true;
	if (isOwn || status === 429 || status === 401) return false;
	return fault !== 'redirect' && !UNSENT.includes(fault!);
}

const crashed = ({ history }: Facts, { attempt }: SaidFailure) =>
	history.attempts.some(({ index, status }) => index === attempt.index && status === 'crashed');

/** Whether an attempt up to this one was to start runs. */
const mayHaveSentCreate = (facts: Facts, { attempt }: SaidFailure) =>
	facts.history.attempts.some(
		(one) => one.index === attempt.index && facts.spec(one).operation === 'create',
	);

/** Whether a dry run of the execution, or of one that it is a Retry of, has started a run. */
function wasDryRunStarted({ history }: Facts, { attempt }: SaidFailure): boolean {
	return history.requests.some(
		({ kind, started, execution }) =>
			kind === 'dryRun' && started !== undefined && execution.index === attempt.index,
	);
}

/** What messages say, and what must have happened where they say so. The first that fits counts. */
const CLAIMS: Claim[] = [
	[/^The execution was cancell?ed/, (_, { attempt }) => attempt.cancelledAt !== undefined],
	[
		/^An earlier attempt may have started/,
		(facts, failure, sent) =>
			wasDryRunStarted(facts, failure) ||
			// A dry run starts nothing, whatever has come before.
			(facts.spec(failure.attempt).operation !== 'dryRun' &&
				mayHaveSentCreate(facts, failure) &&
				(sent.some(isUnclear) ||
					crashed(facts, failure) ||
					hasStopped(facts, failure) ||
					// Whether n8n may have resumed it is known by the clock that n8n has.
					!facts.isClockRight)),
	],
	[/The service started a run instead of a dry run/, wasDryRunStarted],
	[/\(a run may have been started\)/, (_facts, _failure, sent) => sent.some(isUnclear)],
	[
		/has not finished (within|before the workflow's)/,
		(facts, { tag }) =>
			(facts.runsByTag.get(tag) ?? []).some(({ id }) =>
				(facts.requestsByRun.get(id) ?? []).some(
					({ said, fault, status }) => said === 'unfinished' || fault || status === 429,
				),
			) || (facts.runsByTag.get(tag) ?? []).length > 0,
	],
	[
		/^(At the time limit of .*|Before the workflow's own timeout) the service did not say/,
		(facts, failure, sent) =>
			sent.some(({ fault, status }) => fault !== undefined || status !== 200) ||
			wasAnsweredOnKey(facts, failure, 429) ||
			isOutOfTime(facts, failure) ||
			// Time limits hold by the clock that n8n has.
			!facts.isClockRight ||
			facts.spec(failure.attempt).credentialAway !== undefined,
	],
	[
		/^The run was not started, since the workflow's own timeout|^The workflow's own timeout leaves no time to find/,
		(facts, { attempt, at }) => {
			const { workflowTimeoutS } = facts.spec(attempt);
			// Dates are whole milliseconds.
			const isNear = at + 1 >= attempt.beganAt + workflowTimeoutS * 1_000 - 30_000;
			// Time limits hold by the clock that n8n has.
			return workflowTimeoutS > 0 && (isNear || !facts.isClockRight);
		},
	],
	[/^The agent's run failed/, (facts, { tag }) => ended(facts, tag, 'failed')],
	[/^The agent's run was cancelled/, (facts, { tag }) => ended(facts, tag, 'cancelled')],
	[/^The agent's run ended as 'archived'/, (facts, { tag }) => ended(facts, tag, 'odd')],
	[
		/^The agent's output is not JSON/,
		(facts, { tag }) =>
			(facts.runsByTag.get(tag) ?? []).some(({ spec }) => !spec.isJson && spec.end === 'succeeded'),
	],
	[/^The service's rate limit/, carriedNothing],
	[/^The service accepted no further requests/, carriedNothing],
	[
		/could not process the request/,
		(_facts, _failure, sent) => sent.some(({ status = 0 }) => status >= 500),
	],
	[
		/^(The answer did not come from|A firewall or a proxy|The request is too large)/,
		(_facts, _failure, sent) =>
			sent.some(
				({ fault }) =>
					fault?.startsWith('html') ||
					['empty4xx', 'foreign4xx', 'otherRun', 'otherShape'].includes(fault ?? ''),
			),
	],
	[/^The agent has no model/, met('rejected')],
	[
		/^(Parameter 'tag' of agent|A parameter's value is not one that)/,
		(facts, { tag }) => itemOf(facts.history.world, tag).isWrong === true,
	],
	[/^The service rejected the request/, met('foreign4xx', 'empty4xx')],
	[/redirects to another/, met('redirect')],
	[/^No connection to the service/, couldNotConnect],
	[/connection to the service was lost/, met('reset')],
	[/^The service did not answer in time/, met('timeout', 'drips')],
	[/certificate is not trusted/, met('certificate')],
	[/^No secure connection to the service/, met('handshake')],
	[
		/^The run was not found/,
		(_facts, _failure, sent) => sent.some(({ code }) => code === 'run_not_found'),
	],
	[/^The service does not accept the API key/, wasAnswered(401)],
	[
		/^This node's credential no longer exists, or its Base URL/,
		(facts, { attempt }) => facts.chain(attempt).some(({ edit }) => edit?.hasMoved),
	],
	[
		/^(n8n could not send the request|This node's credential cannot be used)/,
		(facts, { attempt }, sent) =>
			facts.spec(attempt).credentialAway !== undefined ||
			sent.some(({ fault }) => fault === 'blocked'),
	],
	[
		/^'Max Concurrency' must be /,
		(facts, { attempt, at, message }) => {
			const { wrongOptionAtMs = Infinity, maxTries } = facts.spec(attempt);
			// What waits goes on; an attempt is not made with such an option.
			const isAttempt = maxTries > 0 || attempt.retryOf !== undefined;
			return at >= wrongOptionAtMs && (isAttempt || !message.includes('(run '));
		},
	],
	[/^'.*' must be /, (facts, { attempt }) => hasOddOptions(facts.spec(attempt))],
	[/^No published agent is named/, () => false],
];

/** An item fails only for a reason that is true. */
export function failsForAReason(facts: Facts): string[] {
	return facts.failures.flatMap((failure) => {
		const { message, attempt, tag } = failure;
		const claim = CLAIMS.find(([says]) => says.test(message));
		const where = `execution ${attempt.id}, ${tag}: '${message}'`;
		if (!claim) return [`${where} is no message that is known`];
		const sent = requestsOf(facts, failure);
		if (!claim[1](facts, failure, sent)) return [`${where} is not true`];
		const { http_status: status, status: runStatus, run_id: runId } = failure.details;
		if (typeof runId === 'string' && !message.includes(runId)) {
			return [`${where} does not name its run`];
		}
		const isGiven = status === undefined || sent.some((request) => request.status === status);
		// A rate limit or an outage holds up all that use the key.
		const mayBeShared =
			status === 429 || (message.includes('accepted no further') && Number(status) >= 502);
		const isShared = mayBeShared && wasAnsweredOnKey(facts, failure, status);
		return isGiven || isShared || runStatus !== undefined
			? []
			: [`${where}: nobody answered ${textOf(status)}`];
	});
}

/** Where a create may have started a run whose ID has not come, the user is told. */
export function tellsOfDoubt(facts: Facts): string[] {
	return facts.failures.flatMap((failure) => {
		const { attempt, tag, message, isItems, at, text } = failure;
		if (!isItems) return [];
		const last = (facts.createsByTag.get(tag) ?? []).at(-1);
		if (!last?.started || last.execution !== attempt || last.answeredAt > at) return [];
		// Of one whose ID has come, the run may have failed and be started again.
		if (last.isOwn || text.includes(last.started.id)) return [];
		if (isTrue(facts.spec(attempt).options.retryCreateOnServerError)) return [];
		const isTold = /may have started|may have been started|cancell?ed/.test(message);
		return isTold ? [] : [`execution ${attempt.id}, ${tag}: '${message}', and a run was started`];
	});
}

const TEMPORARY =
	/rate limit|could not process|did not come from|A firewall or a proxy|too large|connection to the service|No connection|in time|redirects|certificate|rejected the request|could not send|credential cannot/;

/** A temporary failure never fails a healthy run's wait before its time limit. */
export function temporaryFailuresPass(facts: Facts): string[] {
	if (!facts.isClockRight) return [];
	return facts.failures.flatMap((failure) => {
		const { attempt, tag, message } = failure;
		const spec = facts.spec(attempt);
		const runs = facts.runsByTag.get(tag) ?? [];
		const run = runs.at(-1);
		const limitMs = facts.timeLimitMs(spec);
		if (!run?.request || !limitMs || spec.operation !== 'create') return [];
		if (!facts.isWaiting(spec, tag)) return [];
		if (run.request.status !== 202 || !run.request.isOwn || !failure.isItems) return [];
		const { execution } = run.request;
		if (execution.lineages.get(tag) !== attempt.lineages.get(tag)) return [];
		// It may have come before that run.
		if (failure.at < run.request.answeredAt) return [];
		if (!TEMPORARY.test(message) || /may have been started|not finished within/.test(message))
			return [];
		// Another run's create, of a retry, is no wait.
		const creates = facts.createsByTag.get(tag) ?? [];
		if (creates.at(-1) !== run.request) return [];
		const limitAt = run.createdAt + limitMs;
		if (spec.workflowTimeoutS > 0 || failure.at >= limitAt) return [];
		// A retry reads the credential, and in a changed node the agents' list, before it goes on with the wait.
		const isRetried = spec.maxTries > 0 || attempt.retryOf !== undefined;
		const polls = facts.requestsByRun.get(run.id) ?? [];
		const isPolled = polls.some((poll) => poll.execution === attempt);
		if (isRetried && (!isPolled || /credential cannot/.test(message))) return [];
		// It begins the item again where the run has failed.
		if (isRetried && run.spec.end !== 'succeeded' && run.endsAt <= failure.at) return [];
		return [
			`execution ${attempt.id}, ${tag}: '${message}' at ${Math.round(failure.at)}, before its limit at ${Math.round(limitAt)}`,
		];
	});
}

/** Whether an option has a value that means nothing. */
function hasOddOptions({ options }: ExecutionSpec): boolean {
	const interval = Number(options.pollInterval ?? 0);
	return interval > 0 && interval < 1;
}

function ended(facts: Facts, tag: string, how: string): boolean {
	return (facts.runsByTag.get(tag) ?? []).some(({ spec }) => spec.end === how);
}

function wasAnsweredOnKey(facts: Facts, { attempt }: SaidFailure, status: unknown): boolean {
	const { key } = facts.spec(attempt);
	return facts.history.requests.some(
		(request) => request.status === status && [key, key + 1].includes(organizationOf(request.key)),
	);
}

/** No connection could be made, and where its run was to be started, that was tried often enough. */
function couldNotConnect(facts: Facts, { attempt }: SaidFailure, sent: SeenRequest[]): boolean {
	const failed = sent.filter(({ fault }) => fault === 'refused' || fault === 'dns');
	const { kind } = failed.at(-1) ?? {};
	if (kind !== 'create' || facts.spec(attempt).workflowTimeoutS > 0) return kind !== undefined;
	return failed.filter((one) => one.kind === kind).length >= CONNECTS;
}

/**
 * Whether the service has at some time carried nothing of an item's key for the patience of a request,
 * the pause included that it has asked for last.
 */
function carriedNothing(facts: Facts, { attempt, tag, at }: SaidFailure): boolean {
	const { key, workflowTimeoutS } = facts.spec(attempt);
	const endsAt =
		workflowTimeoutS > 0 ? attempt.beganAt + (workflowTimeoutS - 30) * 1_000 : Infinity;
	const own = itemOf(facts.history.world, tag).ownKey ? key + 1 : key;
	return [own, own + NEW_KEY].some((ofItem) => {
		const before = facts.history.requests.filter(
			(one) => one.key === ofItem && one.answeredAt <= at,
		);
		// A 502 and the like says that the service is away.
		const isLimited = ({ status = 0 }: SeenRequest) => status === 429 || status >= 502;
		const carried = before.filter((one) => one.status !== undefined && !isLimited(one));
		const times = carried.map(({ answeredAt }) => answeredAt).sort((a, b) => a - b);
		// What is carried after a pause was asked for comes too late: what cannot wait for its end was given up by then.
		const asksToWait = (one: SeenRequest) =>
			isLimited(one) ||
			(one.kind !== 'poll' &&
				one.fault !== undefined &&
				(one.status === undefined || askedMs(one) > 0));
		const pauses = before.filter(asksToWait).map((one) => ({
			from: times.filter((time) => time <= one.answeredAt).at(-1) ?? 0,
			until: one.answeredAt + askedMs(one),
			// Where the service does not say, the node itself pauses for a while.
			untilAtMost: one.answeredAt + (askedMs(one) || LONGEST_BACKOFF_MS),
		}));
		const silences = [...times, at + LONGEST_BACKOFF_MS].map((until, nth, all) => ({
			from: all[nth - 1] ?? 0,
			until,
		}));
		// Nor does a run begin that the workflow leaves no time to wait for.
		if (pauses.some(({ untilAtMost }) => untilAtMost >= endsAt)) return true;
		return [...pauses, ...silences].some(({ from, until }) => until - from >= PATIENCE_MS);
	});
}

/** Whether an execution was stopped while it ran, or while n8n might have resumed it already. */
function hasStopped({ history }: Facts, { attempt }: SaidFailure): boolean {
	return history.attempts.some(({ index, cancelledAt, status, endedAt = 0, parks }) => {
		const isLate = status === 'canceled' && endedAt >= (parks.at(-1)?.until ?? 0) - EARLY_MS;
		return index === attempt.index && (cancelledAt !== undefined || isLate);
	});
}

/** Whether n8n is about to end the execution, so that there is no time to ask. */
function isOutOfTime(facts: Facts, { attempt, at }: SaidFailure): boolean {
	const { workflowTimeoutS } = facts.spec(attempt);
	return workflowTimeoutS > 0 && at >= attempt.beganAt + workflowTimeoutS * 1_000 - ENDS_BEFORE_MS;
}
