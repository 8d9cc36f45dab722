import type { Attempt, SeenRequest } from '../history.cts';
import { tagOf, turnOf } from '../history.cts';
import type { ExecutionSpec, FaultSpec } from '../world.cts';
import type { Facts } from './facts.cts';
import { askedMs } from './pace.cts';

/** What fails so soon after its creation, in ms, wastes no more than the runs of the trial. */
const FAILS_AT_ONCE_MS = 4_000;

const TRIAL = 10;

/** For how long others wait if no poll is answered, in ms, less a margin. */
const LONGEST_TRIAL_MS = 29_000;

/** A mistake because of which runs fail at once wastes at most ten of them, unless nobody can see it for a while. */
export function wastesFew(facts: Facts): string[] {
	return batchesOf(facts).flatMap(({ attempt, spec, turn }) => {
		const runs = facts.history.runs.filter(
			({ request, tag }) => request?.execution === attempt && turnOf(tag) === turn,
		);
		const areWasted = runs.every(
			({ spec: { end, durationMs } }) =>
				(end === 'failed' || end === 'cancelled') && durationMs! <= FAILS_AT_ONCE_MS,
		);
		const isError = spec.options.onUnsuccessfulRun !== 'output';
		if (!areWasted || !isError || spec.onError !== 'stopWorkflow') return [];
		const creates = runs.map(({ request }) => request!).sort((a, b) => a.sentAt - b.sentAt);
		const next = creates[TRIAL];
		if (!next) return [];
		const begunAt = creates.map(({ answeredAt }) => answeredAt).filter((at) => at < next.sentAt);
		return next.sentAt < Math.max(...begunAt) + LONGEST_TRIAL_MS
			? [`execution ${attempt.id} has wasted ${runs.length} runs`]
			: [];
	});
}

/** For how long two runs' troubles may hold up creates, in ms, once; and any other create after that. */
const TROUBLED_MS = { once: 190_000, later: 20_000 };

/** Two runs whose polls fail for reasons of their own hold up others once, for two minutes, and fail none. */
export function troublesHoldUpOnce(facts: Facts): string[] {
	const { history } = facts;
	const { faults, limiter, quota, odd } = history.world.service;
	const isSo = faults.length === 1 && faults.every(({ ofFirst }) => ofFirst === 2);
	if (!isSo || limiter || quota || odd) return [];
	const delays = history.attempts.slice(1).flatMap((attempt) => {
		const create = history.requests.find(
			({ kind, execution }) => kind === 'create' && execution === attempt,
		);
		if (create) return [{ id: attempt.id, ms: create.sentAt - attempt.beganAt }];
		const isGivenUp = /accepted no further/.test(attempt.error?.message ?? '');
		return isGivenUp ? [{ id: attempt.id, ms: Infinity }] : [];
	});
	// Those that begin meanwhile wait for the same.
	const held = delays.filter(({ ms }) => ms > TROUBLED_MS.later);
	const ends = held.map(({ id, ms }) => {
		const { beganAt } = history.attempts.find((attempt) => attempt.id === id)!;
		return beganAt + ms;
	});
	const isOnce = Math.max(...ends) - Math.min(...ends) < TROUBLED_MS.later;
	return held
		.filter(({ ms }) => ms > TROUBLED_MS.once || !isOnce)
		.map(({ id, ms }) => `execution ${id} was held up for ${Math.round(ms)} ms`);
}

/** By when the first runs were seen to go on, in ms after their creation. */
const GOES_ON_MS = 8_000;

/** How long after that, or after the first success, the others begin, in ms: beside a margin, for each. */
const BEGINS_WITHIN_MS = 10_000;
const BEGINS_EACH_MS = 50;

/** For how long a create that gets no answer is waited for, in ms. What follows then is another matter. */
const UNANSWERED_MS = 110_000;

/**
 * One item whose create gets no answer does not keep the others from beginning, even if the service fails otherwise,
 * nor do dry runs that fail.
 */
export function heldUpAlone(facts: Facts): string[] {
	const { limiter, quota, odd, workMs, faults, tripMs } = facts.history.world.service;
	const isFailure = ({ kind, status, retryAfter, on }: FaultSpec) =>
		on === 'create' && kind === 'serverError' && status === 500 && retryAfter === undefined;
	const areOfCreates = faults.every(
		(fault) =>
			fault.on === 'dryRun' ||
			(fault.on === 'create' && fault.kind === 'timeout') ||
			isFailure(fault),
	);
	if (limiter || quota || odd || workMs || !areOfCreates || tripMs[1] > 500) return [];
	return batchesOf(facts).flatMap(({ attempt, spec, turn, beganAt }) => {
		if (spec.onError === 'stopWorkflow' && faults.some(isFailure)) return [];
		const runs = facts.history.runs.filter(
			({ request, tag }) => request?.execution === attempt && turnOf(tag) === turn,
		);
		const succeeded = facts.history.requests.find(
			({ execution, runId, said }) =>
				said === 'finished' &&
				execution === attempt &&
				runs.some(({ id, spec: { end } }) => id === runId && end === 'succeeded'),
		);
		const ofTrial = runs.slice(0, TRIAL);
		const seemWell =
			ofTrial.length > 0 &&
			ofTrial.every(({ spec: { durationMs } }) => durationMs! > 2 * GOES_ON_MS);
		const goOnAt = seemWell
			? Math.max(...ofTrial.map(({ request }) => request!.answeredAt)) + GOES_ON_MS
			: Infinity;
		const { at: endedAt = Infinity } = attempt.endings.get(turn) ?? {};
		// Where what succeeds is no JSON, its item fails.
		const isJson = spec.options.outputFormat === 'json';
		const settledAt = Math.min(goOnAt, isJson ? Infinity : (succeeded?.answeredAt ?? Infinity));
		if (settledAt === Infinity) return [];
		const by = settledAt + BEGINS_WITHIN_MS + BEGINS_EACH_MS * spec.items.length;
		if (by > beganAt + UNANSWERED_MS || endedAt < by) return [];
		const late = spec.items.filter((_, item) => {
			const creates = facts.createsByTag.get(tagOf(attempt.index, turn, item)) ?? [];
			const first = creates.find(({ execution }) => execution === attempt);
			return !first || first.sentAt > by;
		});
		return late.length > 0
			? [
					`execution ${attempt.id}: ${late.length} items had not begun at ${Math.round(by)}, and the first runs went well at ${Math.round(settledAt)}`,
				]
			: [];
	});
}

interface Batch {
	attempt: Attempt;
	spec: ExecutionSpec;
	turn: number;
	beganAt: number;
}

/** The turns in which many items start runs that are waited for, and nothing but the service holds them up. */
function batchesOf(facts: Facts): Batch[] {
	const { attempts, kills, world } = facts.history;
	if (kills.length > 0 || !facts.isClockRight) return [];
	const all = world.executions.reduce((sum, { items }) => sum + items.length, 0);
	return attempts.flatMap((attempt) => {
		const spec = facts.spec(attempt);
		const { options } = spec;
		const isPlain =
			spec.operation === 'create' &&
			facts.isWaiting(spec) &&
			options.maxConcurrency === undefined &&
			options.timeout === undefined &&
			`${options.checkFirst ?? false}`.trim().toLowerCase() === 'false' &&
			!spec.agentMode.startsWith('name') &&
			spec.parametersMode !== 'mapped' &&
			spec.items.every(({ isWrong, ownKey }) => !isWrong && !ownKey);
		const isDisturbed =
			spec.maxTries > 0 ||
			attempt.retryOf !== undefined ||
			attempt.edit !== undefined ||
			spec.workflowTimeoutS > 0 ||
			[spec.cancelAtMs, spec.credentialAway, spec.newKeyAtMs, spec.wrongOptionAtMs].some(
				(one) => one !== undefined,
			);
		// Tools are called several times at once, and others take their turns.
		const isAlone = spec.host !== 'tool' && all - spec.items.length <= TRIAL;
		if (!isPlain || isDisturbed || !isAlone || spec.items.length <= TRIAL) return [];
		const turns = new Map<number, number>();
		for (const { turn, at } of attempt.calls) turns.set(turn, turns.get(turn) ?? at);
		return [...turns].map(([turn, beganAt]) => ({ attempt, spec, turn, beganAt }));
	});
}

/** A create that takes longer than this, in ms, keeps no others waiting. */
const TAKES_LONG_MS = 4_900;

/** The least pause after two creates in a row that said that the service is away, which doubles, and the most, in ms. */
const PAUSE_MS = 375;
const LONGEST_PAUSE_MS = 45_000;

/** What the node knows of a key is forgotten if it has not used it for so long, in ms. */
const FORGOTTEN_AFTER_MS = 3_600_000;

/**
 * After a create that may have started a run, others wait as long as the service asks, and go on one at a time: one
 * more for each that is carried. What takes long does not count. While the service is away, they wait for a time that
 * grows.
 */
export function doubtsFew({ history }: Facts): string[] {
	const all = history.requests.filter(
		({ kind, execution }) =>
			(kind === 'create' || kind === 'dryRun') && execution.edit === undefined,
	);
	if (!all.some(isInDoubt)) return [];
	return all.flatMap((request) => {
		const { key, sentAt } = request;
		const since = Math.max(
			0,
			...history.kills.map(({ backAt }) => backAt).filter((at) => at <= sentAt),
		);
		let usedAt = since;
		let knownSince = since;
		for (const other of history.requests) {
			if (other.key !== key || other.sentAt < since || other.sentAt > sentAt) continue;
			if (other.sentAt - usedAt >= FORGOTTEN_AFTER_MS) knownSince = other.sentAt;
			usedAt = other.sentAt;
		}
		const others = all.filter(
			(other) => other.key === key && other.sentAt >= knownSince && other.sentAt <= sentAt,
		);
		const answered = others
			.filter(({ answeredAt }) => answeredAt <= sentAt)
			.sort((one, other) => learnedAt(one) - learnedAt(other));
		let most = Infinity;
		let pausedUntil = 0;
		let inARow = 0;
		let latestAt = 0;
		for (const other of answered) {
			if (isInDoubt(other)) {
				if (other.answeredAt > sentAt - 1) continue;
				most = 0;
				const isAway = (other.status ?? 0) >= 502;
				// Those that were under way together count once.
				if (isAway && (inARow === 0 || other.sentAt >= latestAt)) {
					inARow++;
					latestAt = other.answeredAt;
				}
				const leastMs = isAway && inARow > 1 ? PAUSE_MS * 2 ** (inARow - 2) : 0;
				const pauseMs = Math.max(askedMs(other), Math.min(leastMs, LONGEST_PAUSE_MS));
				pausedUntil = Math.max(pausedUntil, other.answeredAt + pauseMs);
				continue;
			}
			if (other.status === 429 || (other.status ?? 0) >= 500) continue;
			most++;
			inARow = 0;
		}
		const underWay = others.filter(
			(other) =>
				other !== request &&
				other.answeredAt > sentAt &&
				other.sentAt < sentAt &&
				other.sentAt > sentAt - TAKES_LONG_MS &&
				other.fault !== 'drips',
		);
		const name = `request ${request.number} (${request.kind}) was sent at ${Math.round(sentAt)}`;
		if (sentAt < pausedUntil - 1)
			return [`${name}, but a pause until ${Math.round(pausedUntil)} was due`];
		return underWay.length > most
			? [`${name} beside ${underWay.length} others since one failed, ${most} at most were due`]
			: [];
	});
}

/** When the node learns from an answer. Of those that come at the same moment, the order is not known. */
function learnedAt(request: SeenRequest): number {
	return request.answeredAt - (isInDoubt(request) ? 1 : 0);
}

/** Whether the answer to a create says that the service, or something before it, has failed. */
function isInDoubt({ kind, status = 0 }: SeenRequest): boolean {
	return kind === 'create' && status >= 500;
}
