import { turnOf, type SeenRequest } from '../history.cts';
import type { Facts } from './facts.cts';

const HOUR_MS = 3_600_000;

/** The longest delay between two polls of a run, and what n8n may be late beside, in ms. */
const LONGEST_DELAY_MS = 600_000;
const SLACK_MS = 100_000;

/** What an answer asks for, in ms, an hour at most. */
export function askedMs({ retryAfter, answeredAt }: SeenRequest): number {
	if (retryAfter === undefined) return 0;
	const text = retryAfter.trim();
	if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, HOUR_MS);
	const date = Date.parse(text) - Date.UTC(2026, 0, 1);
	const isDate = /^[A-Z][a-z]{2}, /.test(text) && !Number.isNaN(date);
	return isDate ? Math.min(Math.max(date - answeredAt, 0), HOUR_MS) : 0;
}

/** Nothing is sent while a 429 asks to be left alone, but what was under way. */
export function leavesAlone(facts: Facts): string[] {
	const { history } = facts;
	const wrong: string[] = [];
	const until = new Map<number, { at: number; until: number; number: number }>();
	const events = history.requests
		.flatMap((request) => [
			{ at: request.sentAt, request, isAnswer: false },
			{ at: request.answeredAt, request, isAnswer: true },
		])
		.sort((one, other) => one.at - other.at || Number(one.isAnswer) - Number(other.isAnswer));
	for (const { at, request, isAnswer } of events) {
		const { key, number, status } = request;
		const pause = until.get(key);
		if (isAnswer && status === 429) {
			const end = at + askedMs(request);
			if (end > (pause?.until ?? 0)) until.set(key, { at, until: end, number });
		} else if (!isAnswer && pause && at < pause.until - 1) {
			// A process that has begun since knows nothing of it.
			if (history.kills.some((kill) => kill.at >= pause.at && kill.at <= at)) continue;
			wrong.push(
				`request ${number} (${request.kind}) was sent at ${Math.round(at)}, but ${pause.number} asked at ${Math.round(pause.at)} to be left alone until ${Math.round(pause.until)}`,
			);
		}
	}
	return wrong.slice(0, 3);
}

/** Polls of one run: neither so dense that they flood the service, nor further apart than it asked. */
export function pollsInMeasure(facts: Facts): string[] {
	const wrong: string[] = [];
	for (const [id, all] of facts.requestsByRun) {
		for (const [index, poll] of all.entries()) {
			const before = all[index - 1];
			if (!before || before.execution !== poll.execution) continue;
			const spec = facts.spec(poll.execution);
			if (!facts.isWaiting(spec) || before.answeredAt === Infinity) continue;
			if (before.said === 'finished' || isGivenUp(facts, before)) continue;
			const gap = poll.sentAt - before.answeredAt;
			const interval = Number(spec.options.pollInterval ?? 0) * 1_000;
			const limitMs = facts.timeLimitMs(spec) ?? Infinity;
			const run = facts.runById.get(id);
			// The last poll is at the time limit itself, whenever the one before was.
			const isLast = poll.sentAt >= (run?.createdAt ?? 0) + limitMs - 6_000;
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
			// A retry's time limit begins anew, and its last poll is at that.
			const isFirst = spec.maxTries === 0 && !poll.execution.retryOf;
			if (isFirst && before.fault && gap < 370 && !isResumed && !isLast) {
				wrong.push(`after ${before.fault}, ${id} was polled again within ${Math.round(gap)} ms`);
			}
			const asked = askedMs(before);
			if (before.status !== 429 && asked > 0 && gap < asked - 1_000 && !isLast && !isResumed) {
				wrong.push(
					`${id} was polled ${Math.round(gap)} ms after an answer that asked for ${asked}`,
				);
			}
			const usual =
				Math.max(LONGEST_DELAY_MS, interval, (before.answeredAt - (run?.createdAt ?? 0)) / 4) +
				spec.resumesLateMs +
				SLACK_MS;
			const most = gap > usual ? usual + heldUpMs(facts, before, poll) : usual;
			if (gap > most) {
				wrong.push(
					`${id} was not polled for ${Math.round(gap / 1_000)} s after ${Math.round(before.answeredAt)}, ${Math.round(most / 1_000)} at most were due`,
				);
			}
		}
	}
	return wrong.slice(0, 3);
}

/** Whether a poll was the last one, at the time limit: another attempt of the node polls the run again. */
function isGivenUp(facts: Facts, { runId = '', sentAt, execution }: SeenRequest): boolean {
	const limitMs = facts.timeLimitMs(facts.spec(execution)) ?? Infinity;
	const createdAt = facts.runById.get(runId)?.createdAt ?? Infinity;
	return sentAt >= createdAt + limitMs - 6_000;
}

/** For how long the service asked to be left alone between two polls, and n8n was away. */
function heldUpMs({ history }: Facts, before: SeenRequest, poll: SeenRequest): number {
	const between = history.requests.filter(
		({ key, answeredAt, sentAt }) =>
			key === poll.key && answeredAt >= before.sentAt && sentAt <= poll.sentAt,
	);
	const asked = between.reduce((sum, request) => sum + askedMs(request), 0);
	const refused = between.filter(({ status }) => status === 429).length * 60_000;
	const away = history.kills
		.filter(({ at }) => at >= before.sentAt && at <= poll.sentAt)
		.reduce((sum, { at, backAt }) => sum + backAt - at, 0);
	return asked + refused + away;
}

/** Of many requests, few are refused. */
export function fewAreRefused({ history }: Facts): string[] {
	const { service } = history.world;
	if (
		!service.limiter ||
		service.mostUnderWay !== undefined ||
		service.limiter.limitAfter !== undefined ||
		history.kills.length > 0
	)
		return [];
	if (service.faults.some(({ kind }) => kind === 'stray429')) return [];
	// It never sends more seldom than each two seconds.
	if ((service.limiter.limit * 1_000) / service.limiter.windowMs < 1) return [];
	const refused = history.requests.filter(({ status, isOwn }) => status === 429 && isOwn).length;
	const most = 30 + history.requests.length * 0.25;
	return refused > most ? [`${refused} of ${history.requests.length} requests were refused`] : [];
}

/** No more items are under way than 'Max Concurrency' says. */
export function keepsToConcurrency(facts: Facts): string[] {
	return facts.history.attempts.flatMap((attempt) => {
		const spec = facts.spec(attempt);
		const most = Number(spec.options.maxConcurrency ?? 0);
		const limitMs = facts.timeLimitMs(spec) ?? 0;
		if (most === 0 || attempt.retryOf || spec.maxTries > 0 || !facts.isWaiting(spec)) return [];
		const runs = facts.history.runs.filter(({ request }) => request?.execution === attempt);
		const crowded = runs.find(({ createdAt, tag }) => {
			const isUnderWay = (run: (typeof runs)[number]) =>
				run.createdAt < createdAt &&
				turnOf(run.tag) === turnOf(tag) &&
				Math.min(run.endsAt, run.createdAt + limitMs) > createdAt &&
				// It has not been given up.
				facts.requestsByRun.get(run.id)?.some(({ sentAt }) => sentAt > createdAt);
			return runs.filter(isUnderWay).length >= most;
		});
		return crowded
			? [`execution ${attempt.id} has begun ${crowded.tag} beside ${most} others`]
			: [];
	});
}

/** Another execution's request gets its turn: one item's create does not wait behind all of another's. */
export function takesTurns(facts: Facts): string[] {
	const { history } = facts;
	const { limiter, faults, mostUnderWay, odd } = history.world.service;
	if (faults.length > 0 || mostUnderWay !== undefined || odd) return [];
	const perSecond = limiter
		? (Math.min(limiter.limit, limiter.limitAfter ?? limiter.limit) * 1_000) / limiter.windowMs
		: 80;
	return history.attempts.flatMap((attempt) => {
		const spec = facts.spec(attempt);
		if (spec.items.length > 3 || spec.operation !== 'create' || spec.agentMode === 'name')
			return [];
		if (spec.credentialAway || attempt.retryOf || spec.options.maxConcurrency !== undefined)
			return [];
		const first = history.requests.find(
			({ kind, execution }) => kind === 'create' && execution === attempt,
		);
		const waited = (first?.sentAt ?? attempt.endedAt ?? attempt.beganAt) - attempt.beganAt;
		const others = history.attempts.length + 1;
		const windows = limiter ? 3 * Math.max(limiter.windowMs, 1_000) : 0;
		const paused = history.requests
			.filter(
				({ status, key, answeredAt, execution }) =>
					status === 429 &&
					key === spec.key &&
					execution !== attempt &&
					answeredAt >= attempt.beganAt,
			)
			.reduce((most, request) => Math.max(most, askedMs(request)), 0);
		const most = 30_000 + windows + paused + (6 * others * 1_000) / perSecond;
		return waited > most
			? [
					`execution ${attempt.id}, of ${spec.items.length} items, waited ${Math.round(waited / 1_000)} s for its first create, ${Math.round(most / 1_000)} at most were due`,
				]
			: [];
	});
}
