import { turnOf, type SeenRequest } from '../history.cts';
import type { Facts } from './facts.cts';

const HOUR_MS = 3_600_000;

/** What an answer asks for, in ms, an hour at most. */
export function askedMs({ retryAfter, answeredAt }: SeenRequest): number {
	if (retryAfter === undefined) return 0;
	const text = retryAfter.trim();
	// A fraction, or twice, as some proxies send it.
	const [, seconds] = /^(\d+(?:\.\d+)?)\s*(?:,|$)/.exec(text) ?? [];
	if (seconds !== undefined) return Math.min(Number(seconds) * 1_000, HOUR_MS);
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

/** Of many requests, few are refused. */
export function fewAreRefused({ history }: Facts): string[] {
	const { service } = history.world;
	if (
		!service.limiter ||
		service.quota ||
		service.limiter.limitAfter !== undefined ||
		history.kills.length > 0
	)
		return [];
	if (service.faults.some(({ kind }) => kind === 'stray429')) return [];
	// Of a few a minute, one that is refused is many.
	if ((service.limiter.limit * 1_000) / service.limiter.windowMs < 1) return [];
	// What an answer tells of the limit is out of date.
	if (service.tripMs[1] > service.limiter.windowMs) return [];
	const refused = history.requests.filter(({ status, isOwn }) => status === 429 && isOwn).length;
	// The first answers come after a round trip.
	const most = 30 + history.requests.length * 0.25 + (service.tripMs[1] / 1_000) * FIRST_RATE;
	return refused > most ? [`${refused} of ${history.requests.length} requests were refused`] : [];
}

/** How many of these requests were under way at the same time, at the most. */
function mostAtATime(requests: SeenRequest[]): number {
	const beside = requests.map(
		({ sentAt }) =>
			requests.filter((other) => other.sentAt <= sentAt && other.answeredAt > sentAt).length,
	);
	return Math.max(0, ...beside);
}

/** No more items are under way than 'Max Concurrency' says, be it that they are checked or that they run. */
export function keepsToConcurrency(facts: Facts): string[] {
	return facts.history.attempts.flatMap((attempt) => {
		const spec = facts.spec(attempt);
		const most = Number(spec.options.maxConcurrency ?? 0);
		// A tool may be called several times at once.
		const turns = new Map<number, SeenRequest[]>();
		for (const request of facts.history.requests) {
			if (request.kind !== 'dryRun' || request.execution !== attempt) continue;
			const turn = turnOf(request.tag ?? '');
			turns.set(turn, [...(turns.get(turn) ?? []), request]);
		}
		const checked = Math.max(0, ...[...turns.values()].map(mostAtATime));
		// One that is not waited for any more may still be under way.
		const isUntroubled = facts.history.world.service.faults.length === 0;
		if (most > 0 && isUntroubled && checked > most) {
			return [`execution ${attempt.id} has checked ${checked} items at a time`];
		}
		if (most === 0 || attempt.retryOf || spec.maxTries > 0 || !facts.isWaiting(spec)) return [];
		const runs = facts.history.runs.filter(({ request }) => request?.execution === attempt);
		const crowded = runs.find(({ createdAt, tag }) => {
			const isUnderWay = (run: (typeof runs)[number]) =>
				run.createdAt < createdAt &&
				turnOf(run.tag) === turnOf(tag) &&
				Math.min(run.endsAt, facts.deadlineOf(run, attempt)) > createdAt &&
				// It has not been given up. A Retry may poll what has been.
				facts.requestsByRun
					.get(run.id)
					?.some(({ sentAt, execution }) => execution === attempt && sentAt > createdAt);
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
	const { limiter, faults, quota, odd } = history.world.service;
	if (faults.length > 0 || quota || odd || limiter?.usedByOthers) return [];
	// It may be refused for long.
	if (limiter?.kind === 'ban') return [];
	// Where polls time out, creates wait for a while.
	const isLate = history.requests.some(({ fault }) => fault === 'timeout');
	if (isLate || !facts.isClockRight) return [];
	const perSecond = limiter
		? (Math.min(limiter.limit, limiter.limitAfter ?? limiter.limit) * 1_000) / limiter.windowMs
		: 80;
	return history.attempts.flatMap((attempt) => {
		const spec = facts.spec(attempt);
		const readsList = spec.agentMode.startsWith('name') || spec.parametersMode === 'mapped';
		if (spec.items.length > 3 || spec.operation !== 'create' || readsList) return [];
		if (spec.credentialAway || attempt.retryOf || spec.options.maxConcurrency !== undefined)
			return [];
		const first = history.requests.find(
			({ kind, execution }) => (kind === 'create' || kind === 'dryRun') && execution === attempt,
		);
		if (!first) return [];
		const waited = first.sentAt - attempt.beganAt;
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
		const most = 12_000 + windows + paused + (6 * others * 1_000) / perSecond;
		return waited > most
			? [
					`execution ${attempt.id}, of ${spec.items.length} items, waited ${Math.round(waited / 1_000)} s for its first request, ${Math.round(most / 1_000)} at most were due`,
				]
			: [];
	});
}

/** If a larger share than this is refused, the node takes it for a limit. */
const MOST_BY_CHANCE = 0.25;

/** How long after the latest refusal the node sends as usual, in ms, and how many creates are looked at together. */
const RECOVERED_MS = 90_000;
const CREATES = 20;

/** Which share of some requests up to this one was refused. */
function shareRefused({ history: { requests } }: Facts, last: SeenRequest): number {
	const to = requests.indexOf(last) + 1;
	const some = requests.slice(Math.max(to - CREATES, 0), to);
	return some.filter(({ status }) => status === 429).length / some.length;
}

/** How many requests were sent in the minute before one: a few look like a low limit. */
function requestsBefore({ history: { requests } }: Facts, { sentAt }: SeenRequest): number {
	return requests.filter((one) => one.sentAt < sentAt && one.sentAt > sentAt - 60_000).length;
}

/** Refusals of a while ago do not slow the node down for long, unless they looked like those of a low limit. */
export function recovers(facts: Facts): string[] {
	const { history } = facts;
	const { limiter, quota, odd, tripMs } = history.world.service;
	if (quota || odd || history.kills.length > 0) return [];
	// Requests that are sent before the answers to earlier ones come make a limit of a second look like a longer one.
	if (limiter && tripMs[1] > limiter.windowMs) return [];
	const limit = Math.min(limiter?.limit ?? Infinity, limiter?.limitAfter ?? Infinity);
	const apartMs = limiter ? limiter.windowMs / limit : 0;
	// Until the first run of the trial ends, some more are begun, one by one.
	const most = 30_000 + 3 * CREATES * apartMs;
	return history.attempts.flatMap((attempt) => {
		const spec = facts.spec(attempt);
		if (spec.options.maxConcurrency !== undefined || spec.credentialAway) return [];
		if (spec.turns > 1 || spec.maxTries > 0) return [];
		// Runs that are given up before the trial is over do not end it: ten at a time are begun, and no more.
		if (Number(spec.options.timeout ?? Infinity) < 60) return [];
		// The first ten are a trial, after which the service alone decides how fast they are sent.
		const sent = history.requests
			.filter(({ kind, execution }) => kind === 'create' && execution === attempt)
			.map(({ sentAt }) => sentAt)
			.slice(10);
		const slow = sent.find((from, nth) => {
			const until = sent[nth + CREATES];
			if (until === undefined || until - from <= most) return false;
			const refused = history.requests.filter(({ status }) => status === 429);
			const before = refused.filter(({ answeredAt }) => answeredAt < until);
			if (before.some(({ answeredAt }) => answeredAt > from - RECOVERED_MS)) return false;
			// Nor where creates are held back, since some left doubt.
			const inDoubt = history.requests.some(
				({ kind, status = Infinity, answeredAt }) =>
					kind === 'create' &&
					status >= 500 &&
					answeredAt > from - RECOVERED_MS &&
					answeredAt < until,
			);
			if (inDoubt) return false;
			const last = before.at(-1);
			return (
				last !== undefined &&
				shareRefused(facts, last) <= MOST_BY_CHANCE &&
				requestsBefore(facts, last) >= CREATES
			);
		});
		return slow === undefined
			? []
			: [
					`execution ${attempt.id} sent few creates after ${Math.round(slow)}, long after the latest 429`,
				];
	});
}

/** How long the node may take to find out that a limit has risen, in ms. */
const RISEN_MS = 600_000;

/** A limit that has risen is used some time later. */
export function usesRisenLimits(facts: Facts): string[] {
	const { history } = facts;
	const { limiter, quota, odd, faults } = history.world.service;
	if (!limiter || quota || odd || faults.length > 0 || history.kills.length > 0) return [];
	const { limit, limitAfter = limit, changesAtMs = 0, windowMs } = limiter;
	const [attempt, ...others] = history.attempts;
	// Of what is not waited for, the limit alone decides how fast it is sent.
	const { waits, options } = facts.spec(attempt!);
	const isFree = waits === false && options.maxConcurrency === undefined;
	if (limitAfter <= limit || !isFree || others.length > 0) return [];
	const sent = history.requests
		.filter(({ kind, sentAt }) => kind === 'create' && sentAt > changesAtMs + RISEN_MS)
		.map(({ sentAt }) => sentAt);
	const mostMs = (10 * CREATES * windowMs) / limitAfter;
	const slow = sent.find((from, nth) => sent[nth + CREATES]! - from > mostMs);
	return slow === undefined
		? []
		: [`few creates were sent after ${Math.round(slow)}, long after the limit had risen`];
}

/** How many requests a second the node begins with. */
const FIRST_RATE = 80;

/** As many as may be under way then, whatever the rate. */
const FIRST_UNDER_WAY = 15;

/** What a process of n8n sends first is spread over time, or over round trips. */
export function doesNotFlood({ history }: Facts): string[] {
	const begins = [0, ...history.kills.map(({ backAt }) => backAt)];
	const keys = new Set(history.requests.map(({ key }) => key));
	return [...keys].flatMap((key) =>
		begins.flatMap((from, index) => {
			const until = begins[index + 1] ?? Infinity;
			const sent = history.requests.filter(
				(one) => one.key === key && one.sentAt >= from && one.sentAt < until,
			);
			const [first] = sent;
			const early = sent.filter(({ sentAt }) => sentAt < first!.sentAt + 1_000);
			const flood = early.find(({ sentAt }, nth) => {
				const underWay = early.slice(0, nth).filter(({ answeredAt }) => answeredAt > sentAt);
				const byRate = (FIRST_RATE * (sentAt - first!.sentAt)) / 1_000;
				return underWay.length > FIRST_UNDER_WAY + byRate;
			});
			return flood ? [`too many requests were under way when ${flood.number} was sent`] : [];
		}),
	);
}

/** A service that takes the longer the more requests wait for it answers most of them in time, and all creates. */
export function keepsUnderWay({ history }: Facts): string[] {
	const { workMs, faults } = history.world.service;
	// What is sent with one key does not know of what is sent with another.
	const keys = new Set(history.requests.map(({ key }) => key));
	if (workMs === undefined || faults.length > 0 || keys.size > 1) return [];
	const late = history.requests.filter(({ fault }) => fault === 'timeout');
	const creates = late.filter(({ kind }) => kind === 'create');
	const most = 100 + (history.requests.length - late.length) / 2;
	return [
		...(creates.length > 0 ? [`${creates.length} creates have timed out`] : []),
		...(late.length > most ? [`${late.length} requests have timed out`] : []),
	];
}

/** How many creates may be under way at first, and how many more leave doubt one by one, in some minutes. */
const MOST_HANGING = 50 + 20;

/** While a service accepts requests and answers none, no more creates are sent to it than may be under way. */
export function hangsFew({ history }: Facts): string[] {
	const [fault, ...others] = history.world.service.faults;
	const keys = new Set(history.requests.map(({ key }) => key));
	const isHanging = fault?.kind === 'timeout' && fault.on === 'any' && fault.share === 1;
	if (!isHanging || others.length > 0 || keys.size > 1 || history.kills.length > 0) return [];
	const before = history.requests.filter(({ sentAt }) => sentAt < (fault.fromMs ?? 0)).length;
	const hung = history.requests.filter(
		({ kind, fault: met }) => kind === 'create' && met === 'timeout',
	);
	// Each that was carried quickly before has allowed one more.
	return hung.length > MOST_HANGING + before
		? [`${hung.length} creates were sent to a service that answers nothing`]
		: [];
}

/** Of how many of its windows, and how much longer in ms, a limit that counts what it refuses may refuse everything. */
const BANNED_WINDOWS = 10;
const BANNED_MS = 120_000;

/** Once everything has been refused for so long, in ms, so many requests are sent at a time: a create and a poll. */
const PROBED_MS = 120_000;
const PROBES = 2;

/** A limit that refuses all until nothing has come for a while is left by and by, and met by one request at a time. */
export function leavesBans({ history }: Facts): string[] {
	const { limiter, quota, odd, faults, tripMs } = history.world.service;
	const keys = new Set(history.requests.map(({ key }) => key));
	if (limiter?.kind !== 'ban' || quota || odd || faults.length > 0) return [];
	// What is sent with one key does not know of what is sent with another, nor a process of what another one has sent.
	if (keys.size > 1 || history.kills.length > 0) return [];
	const mostMs = BANNED_WINDOWS * (limiter.windowMs + tripMs[1]) + BANNED_MS;
	let refused: SeenRequest[] = [];
	for (const request of history.requests) {
		const { sentAt, status, number } = request;
		refused = status === 429 ? [...refused, request] : [];
		const sinceMs = sentAt - (refused[0]?.sentAt ?? Infinity);
		const underWay = refused.filter(({ answeredAt }) => answeredAt > sentAt).length;
		if (sinceMs > mostMs || (sinceMs > PROBED_MS && underWay > PROBES)) {
			return [
				`request ${number}, beside ${underWay - 1} others, was refused at ${Math.round(sentAt)}, as all for ${Math.round(sinceMs)} ms`,
			];
		}
	}
	return [];
}

/** How long after others have left the key the results are there that were due before, in ms. */
const USED_AGAIN_MS = 120_000;

/** Where others have used up a key and leave it again, what is due comes soon. */
export function usesLeftKeys(facts: Facts): string[] {
	const { history } = facts;
	const { limiter, quota, odd, faults } = history.world.service;
	const { untilMs = Infinity } = limiter?.usedByOthers ?? {};
	const isLarge = limiter !== undefined && limiter.limit >= 300 && limiter.kind === 'fixed';
	if (!isLarge || quota || odd || faults.length > 0 || history.kills.length > 0) return [];
	return history.runs.flatMap((run) => {
		const spec = run.request && facts.spec(run.request.execution);
		if (!spec || !facts.isWaiting(spec, run.tag) || spec.resumesLateMs > 0) return [];
		const polls = facts.requestsByRun.get(run.id) ?? [];
		// One that is not asked for any more is another promise's.
		const noticedAt = polls.find(({ said }) => said === 'finished')?.sentAt ?? 0;
		const dueAt = Math.max(run.endsAt, untilMs);
		return noticedAt > dueAt + USED_AGAIN_MS + 0.25 * (run.endsAt - run.createdAt)
			? [
					`${run.id} ended at ${Math.round(run.endsAt)}, others left the key at ${untilMs}, and it was noticed at ${Math.round(noticedAt)}`,
				]
			: [];
	});
}
