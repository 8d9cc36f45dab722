import { organizationOf, type History, type SeenRequest } from '../history.cts';
import type { FaultSpec } from '../world.cts';
import type { Facts } from './facts.cts';
import { roundMs } from './limits.cts';
import { askedMs } from './pace.cts';
import { LONGEST_BACKOFF_MS } from './reasons.cts';

/** The longest delay between two polls of a run, and what n8n may be late beside, in ms. */
const LONGEST_DELAY_MS = 600_000;

/** The longest pause after a refusal that the service has not asked for, in ms. */
const LONGEST_PAUSE_MS = 250_000;
const SLACK_MS = 100_000;

/** A run that is not waited for is not polled at all, only 'Get a run' asks for it. */
export function pollsOnlyWhatWaits(facts: Facts): string[] {
	return [...facts.requestsByRun].flatMap(([id, polls]) => {
		const needless = polls.find(({ execution }) => {
			const { operation, waits } = facts.spec(execution);
			return operation === 'create' && waits === false;
		});
		return needless ? [`${id} is polled with request ${needless.number}`] : [];
	});
}

/** Polls of one run: neither so dense that they flood the service, nor further apart than it asked. */
export function pollsInMeasure(facts: Facts): string[] {
	if (!facts.isClockRight) return [];
	const wrong: string[] = [];
	for (const [id, all] of facts.requestsByRun) {
		for (const [index, poll] of all.entries()) {
			const before = all[index - 1];
			if (!before || before.execution !== poll.execution) continue;
			const spec = facts.spec(poll.execution);
			if (!facts.isWaiting(spec, facts.runById.get(id)?.tag) || before.answeredAt === Infinity)
				continue;
			if (before.said === 'finished' || isGivenUp(facts, before)) continue;
			if (spec.maxTries > 0 && isOfAnotherAttempt(before, poll)) continue;
			const gap = poll.sentAt - before.answeredAt;
			const interval = Number(spec.options.pollInterval ?? 0) * 1_000;
			const run = facts.runById.get(id);
			// Its end for this attempt; a later one asks again.
			if (before.isOwn && (before.status ?? 0) >= 400 && before.status !== 429) continue;
			// The last poll is at the time limit itself, whenever the one before was.
			const isLast =
				run !== undefined && poll.sentAt >= facts.deadlineOf(run, poll.execution) - 6_000;
			const isResumed = poll.execution.calls.some(
				({ at }) => at >= before.sentAt && at <= poll.sentAt,
			);
			if (
				before.said === 'unfinished' &&
				before.isOwn &&
				interval > 0 &&
				gap < 990 &&
				!isLast &&
				!isResumed &&
				spec.workflowTimeoutS === 0
			) {
				wrong.push(
					`${id} was polled at ${Math.round(before.sentAt)} and again at ${Math.round(poll.sentAt)}`,
				);
			}
			// A retry's time limit begins again, and its last poll is at that.
			const isFirst = spec.maxTries === 0 && !poll.execution.retryOf;
			// One that drips is given up before it ends, and a run that is not known yet is polled as one that goes on.
			const isTrouble = before.fault !== 'drips' && before.fault !== 'unknownRun';
			const fault = isTrouble ? before.fault : undefined;
			if (isFirst && fault && gap < 370 && !isResumed && !isLast) {
				wrong.push(`after ${fault}, ${id} was polled again within ${Math.round(gap)} ms`);
			}
			const asked = askedMs(before);
			if (before.status !== 429 && asked > 0 && gap < asked - 1_000 && !isLast && !isResumed) {
				wrong.push(
					`${id} was polled ${Math.round(gap)} ms after an answer that asked for ${asked}`,
				);
			}
			const usual =
				Math.max(
					LONGEST_DELAY_MS,
					interval,
					asked,
					(before.answeredAt - (run?.createdAt ?? 0)) / 4,
				) +
				2 * spec.resumesLateMs +
				1.5 * roundMs(facts) +
				SLACK_MS;
			const most = gap > usual ? usual + heldUpMs(facts, before, poll) : usual;
			// A limit that asks for less than it takes may be taken for a far lower one.
			if (gap > most && facts.history.world.service.limiter?.retryAfter !== 'short') {
				wrong.push(
					`${id} was not polled for ${Math.round(gap / 1_000)} s after ${Math.round(before.answeredAt)}, ${Math.round(most / 1_000)} at most were due`,
				);
			}
		}
	}
	return wrong.slice(0, 3);
}

/** Whether n8n has called the node again in between, though it has not resumed the execution. */
function isOfAnotherAttempt(before: SeenRequest, { sentAt, execution }: SeenRequest): boolean {
	const resumes = new Set(execution.parks.map(({ resumedAt }) => resumedAt));
	return execution.calls.some(({ at }) => at > before.sentAt && at <= sentAt && !resumes.has(at));
}

/** Whether a poll was the last one, at the time limit: another attempt of the node polls the run again. */
function isGivenUp(facts: Facts, { runId = '', sentAt, execution }: SeenRequest): boolean {
	const run = facts.runById.get(runId);
	return run !== undefined && sentAt >= facts.deadlineOf(run, execution) - 6_000;
}

/** For how long the service asked to be left alone between two polls, and n8n was away. */
function heldUpMs(facts: Facts, before: SeenRequest, poll: SeenRequest): number {
	const { history, runById } = facts;
	const spec = facts.spec(poll.execution);
	const between = history.requests.filter(
		({ key, answeredAt, sentAt }) =>
			organizationOf(key) === organizationOf(poll.key) &&
			answeredAt >= before.sentAt &&
			sentAt <= poll.sentAt,
	);
	// In that time nothing can be sent, and the delay after it may be the longest.
	const { fromMs, forMs } = spec.credentialAway ?? { fromMs: 0, forMs: 0 };
	const isUnreadable = fromMs < poll.sentAt && fromMs + forMs > before.sentAt;
	const unreadable = isUnreadable ? forMs + LONGEST_DELAY_MS : 0;
	const asked = between.reduce((sum, request) => sum + askedMs(request), 0);
	const refused = between.filter(({ status }) => status === 429).length * LONGEST_PAUSE_MS;
	const away = history.kills
		.filter(({ at }) => at >= before.sentAt && at <= poll.sentAt)
		.reduce((sum, { at, backAt }) => sum + backAt - at, 0);
	// The answer that created the run may ask for a pause, too.
	const create = runById.get(poll.runId ?? '')?.request;
	return unreadable + asked + refused + away + (create ? askedMs(create) : 0);
}

/**
 * How late a result is noticed at most where the service refuses creates alone: so many of the pauses that it asks for
 * or that the node itself makes, and more, also for a run that has taken long, which is polled less often. A stored
 * wait whose poll is refused is stored anew, for up to ten minutes.
 */
const PAUSES = 15;
const NODES_PAUSES = { stored: 10, inMemory: 2 };
const NOTICED_WITHIN_MS = 120_000;
const OF_DURATION = 0.3;

/** If fewer runs may be under way, refused creates look like those of a low limit of requests. */
const FEW_RUNS = 10;

/** How long the pauses of refused creates may hold up requests, in ms; undefined if something else disturbs. */
function pausesOfRefusedCreatesMs(
	{ world, kills }: History,
	nodesPauses = NODES_PAUSES.stored,
): number | undefined {
	const { quota, limiter, faults, odd } = world.service;
	const isOther = ({ kind, on }: FaultSpec) => kind !== 'drips' || on !== 'create';
	const { clockChanges = [] } = world;
	const disturbances = [
		limiter ?? [],
		odd ?? [],
		clockChanges,
		kills,
		faults.filter(isOther),
		world.executions.filter(({ credentialAway }) => credentialAway !== undefined),
	].flat();
	if (!quota || quota.runs < FEW_RUNS || disturbances.length > 0) return undefined;
	return quota.retryAfter
		? PAUSES * Number(quota.retryAfter) * 1_000
		: nodesPauses * LONGEST_BACKOFF_MS;
}

/** Where no more runs may be under way, those that are have their polls nevertheless. */
export function pollsBesideRefusedCreates(facts: Facts): string[] {
	return facts.history.runs.flatMap((run) => {
		const polls = facts.requestsByRun.get(run.id) ?? [];
		const noticed = polls.find(
			({ said, execution }) => said === 'finished' && execution === run.request?.execution,
		);
		if (!noticed) return [];
		const { resumesLateMs, options } = facts.spec(noticed.execution);
		if (resumesLateMs > 0 || Number(options.pollInterval ?? 0) > 0) return [];
		const place = options.whereToWait === 'stored' ? 'stored' : 'inMemory';
		const pausesMs = pausesOfRefusedCreatesMs(facts.history, NODES_PAUSES[place]);
		if (pausesMs === undefined) return [];
		const lateMs = noticed.sentAt - run.endsAt;
		const mostMs = NOTICED_WITHIN_MS + pausesMs + OF_DURATION * (run.endsAt - run.createdAt);
		return lateMs > mostMs
			? [`${run.id} was noticed ${Math.round(lateMs / 1_000)} s after its end`]
			: [];
	});
}

const PART_OF_REFUSED = 0.3;

/** Refused creates are sent again for as long as their items wait, since runs may be started again at any time. */
export function sendsRefusedCreatesAgain({ history }: Facts): string[] {
	const pausesMs = pausesOfRefusedCreatesMs(history);
	if (pausesMs === undefined) return [];
	const mostMs = NOTICED_WITHIN_MS + pausesMs;
	const keys = new Set(history.requests.map(({ key }) => organizationOf(key)));
	return [...keys].flatMap((key) => {
		// Executions take turns, with dry runs as well.
		const sent = history.requests.filter(
			(one) => ['create', 'dryRun'].includes(one.kind) && organizationOf(one.key) === key,
		);
		let refusedSince: number | undefined;
		return sent.flatMap(({ number, status, answeredAt, execution }, at) => {
			refusedSince = status === 429 ? (refusedSince ?? answeredAt) : undefined;
			const nextAt = sent[at + 1]?.sentAt ?? Infinity;
			const untilAt = Math.min(nextAt, execution.endedAt ?? Infinity);
			// What has been refused for long is sent more seldom.
			const longestMs = mostMs + (answeredAt - (refusedSince ?? answeredAt)) * PART_OF_REFUSED;
			const isSilent =
				status === 429 &&
				untilAt - answeredAt > longestMs &&
				// Where nothing at all is carried any more, creates are given up.
				history.requests.some(
					(one) =>
						organizationOf(one.key) === key &&
						one.status === 200 &&
						one.answeredAt > answeredAt &&
						one.answeredAt < untilAt,
				);
			return isSilent ? [`no create was sent for ${untilAt - answeredAt} ms after ${number}`] : [];
		});
	});
}
