import {
	isOtherNode,
	itemOf,
	specOf,
	turnOf,
	wantedIn,
	type SeenRequest,
	type SeenRun,
} from '../history.cts';
import { isTrue, type Facts } from './facts.cts';

/** No input item starts two runs. */
export function startedOnce(facts: Facts): string[] {
	const { history } = facts;
	return [...facts.runsByTag].flatMap(([tag, runs]) => {
		// Those that 'Get a run' is given are nobody's, and of those of a dry run the node may not know.
		const started = runs.flatMap((run) =>
			run.request?.kind === 'create' ? [{ ...run, request: run.request }] : [],
		);
		return started.flatMap((run, at) => {
			const { request } = run;
			const first = started
				.slice(0, at)
				.filter((one) => wantedOf(one) === wantedOf(run))
				.at(-1);
			if (!first) return [];
			return maySupersede(facts, first, first.request, request)
				? []
				: [
						`${tag} has started ${first.id} with request ${first.request.number} and ${run.id} with request ${request.number} (${history.attempts.length} executions)`,
					];
		});
	});
}

/** What the item was to start that started a run. */
function wantedOf({ request }: SeenRun): string {
	return wantedIn(request?.execution);
}

function lineageOf({ tag }: SeenRun, { execution }: SeenRequest): object | undefined {
	return execution.lineages.get(tag);
}

/** Whether n8n has stored something of an execution since the answer to a request, or ended it by itself. */
function isStored({ answeredAt, execution }: SeenRequest): boolean {
	if (!['crashed', 'canceled'].includes(execution.status)) return true;
	return execution.saves.some(({ at, why }) => at > answeredAt && why !== 'begin');
}

/**
 * Whether n8n was to have stored a run: progress is saved, and the run was polled after all first items had begun.
 * Not one that a retry has started in place of another: that comes after the checkpoint (docs/waiting.md).
 */
function wasToBeStored(
	{ history, requestsByRun, runsByTag }: Facts,
	run: SeenRun,
	{ execution }: SeenRequest,
): boolean {
	const spec = specOf(history.world, execution);
	const isOneByOne = spec.items.length === 1 || Number(spec.options.maxConcurrency) === 1;
	const mayStore = spec.host === 'n8n' && !history.world.version.startsWith('3.');
	if (!spec.savesProgress || !isOneByOne || !mayStore) return false;
	if (runsByTag.get(run.tag)?.[0]?.id !== run.id) return false;
	return (requestsByRun.get(run.id) ?? []).some((poll) => poll.execution === execution);
}

/** Whether n8n had stored that the node was at work before it began an item: the item is in doubt from then on. */
function wasToBeDoubted({ tag }: SeenRun, { execution, sentAt }: SeenRequest): boolean {
	const stored = execution.saves.filter(({ at, why }) => at <= sentAt && why !== 'begin').at(-1);
	return suspensionOf(stored?.memory ?? '{}', turnOf(tag)) !== undefined;
}

/** What a stored memory says of a suspension. */
function suspensionOf(memory: string, turn: number): object | undefined {
	const { agentInvocation } = JSON.parse(memory) as {
		agentInvocation?: { byRunIndex: Record<string, { suspension?: object }> };
	};
	return agentInvocation?.byRunIndex[turn]?.suspension;
}

/** How long after the first run others may still be beginning before n8n saves progress, in ms, beside round trips. */
const SAVED_WITHIN_MS = 7_000;

/** With 'Save execution progress', n8n stores what the first items have started, whatever holds up others of them. */
export function progressIsSaved(facts: Facts): string[] {
	const { history } = facts;
	const { service, version } = history.world;
	// What is under way is waited for.
	const isHeldUp = service.faults.some(
		({ kind, on }) => ['timeout', 'drips'].includes(kind) && on !== 'poll' && on !== 'list',
	);
	if (isHeldUp || version.startsWith('3.')) return [];
	return history.attempts.flatMap((attempt) => {
		const spec = facts.spec(attempt);
		const { endedAt = Infinity, retryOf, saves } = attempt;
		// Such creates are not put off, so that none is sent more often than the user wants.
		if (isTrue(spec.options.retryCreateOnServerError)) return [];
		const isSimple = spec.maxTries === 0 && spec.turns === 1 && !retryOf && !spec.credentialAway;
		if (!spec.savesProgress || spec.host !== 'n8n' || !isSimple) return [];
		const created = history.requests.filter(
			({ kind, execution, status, isOwn, isCut }) =>
				kind === 'create' && execution === attempt && status === 202 && isOwn && !isCut,
		);
		const firstAt = Math.min(...created.map(({ answeredAt }) => answeredAt));
		const trips = created.map(({ sentAt, answeredAt }) => answeredAt - sentAt);
		const by = firstAt + SAVED_WITHIN_MS + 4 * Math.max(service.tripMs[1], ...trips);
		const isSaved = saves.some(({ at, why }) => why !== 'begin' && at >= firstAt && at <= by);
		if (isSaved || endedAt <= by) return [];
		return [
			`execution ${attempt.id} has started a run at ${Math.round(firstAt)}, and nothing was saved until ${Math.round(by)}`,
		];
	});
}

/** Whether a second run may be started for an item that has started one. */
function maySupersede(
	facts: Facts,
	first: SeenRun,
	before: SeenRequest,
	then: SeenRequest,
): boolean {
	const spec = facts.spec(then.execution);
	if (isTrue(spec.options.retryCreateOnServerError)) return true;
	// n8n had stored nothing of the node's work.
	if (lineageOf(first, before) !== lineageOf(first, then)) return true;
	// In a changed node, it counts only where it would start the same.
	const isOther = isOtherNode(before.execution, then.execution);
	if (isOther && itemOf(facts.history.world, first.tag).isVolatile) return true;
	// Another attempt had started it, and n8n ended before it stored that.
	const isAttempt = spec.maxTries > 0 || before.execution.retryOf !== undefined;
	const isLost = isAttempt && !isStored(before) && !wasToBeStored(facts, first, before);
	if (isLost && !wasToBeDoubted(first, before)) return true;
	const isRetried = spec.maxTries > 0 || before.execution !== then.execution;
	const hasFailed = first.spec.end !== 'succeeded' && first.endsAt <= then.sentAt;
	// One that is output has not failed for n8n, though its output begins with `error`.
	const isOutput =
		spec.options.onUnsuccessfulRun === 'output' && before.execution === then.execution;
	if (isRetried && hasFailed && !(isOutput && spec.items.length === 1)) return true;
	// The service itself said that there is no such run, when it was asked last, in the same execution.
	const last = lastPollOf(facts, first, then.sentAt);
	return isRetried && last?.code === 'run_not_found' && last.execution === then.execution;
}

/** The last poll of a run that was answered by then. */
function lastPollOf(
	{ requestsByRun }: Facts,
	{ id }: SeenRun,
	by: number,
): SeenRequest | undefined {
	return (requestsByRun.get(id) ?? []).filter(({ answeredAt }) => answeredAt <= by).at(-1);
}

/** A run whose ID has reached the node is in the output, the error or the stored memory. */
export function neverLost(facts: Facts): string[] {
	const { history } = facts;
	return facts.latest.flatMap((attempt) => {
		const { status } = attempt;
		const spec = facts.spec(attempt);
		if (spec.host === 'tool' || spec.host === 'bare') if (status === 'crashed') return [];
		const shown = textOf(facts, attempt);
		return history.runs.flatMap((run) => {
			const { request } = run;
			if (!request || request.execution.index !== attempt.index) return [];
			if (lineageOf(run, request) !== attempt.lineages.get(run.tag)) return [];
			if (request.status !== 202 || !request.isOwn || request.isCut) return [];
			if (shown.includes(run.id)) return [];
			const later = facts.runsByTag
				.get(run.tag)!
				.some(
					(one) => one.createdAt > run.createdAt && one.request && wantedOf(one) === wantedOf(run),
				);
			if (later) return [];
			// The service itself said that there is no such run, when it was asked last.
			const isGone = lastPollOf(facts, run, Infinity)?.code === 'run_not_found';
			if (isGone && status === 'success') return [];
			// A retry begins an item again whose run has failed.
			const isRetried = spec.maxTries > 0 || attempt !== request.execution;
			if (run.spec.end !== 'succeeded' && isRetried) return [];
			// What n8n had not stored when it was killed is lost.
			const saved = request.execution.saves.some(
				({ at, why }) => at > request.answeredAt && why !== 'begin',
			);
			const isKilled = history.kills.some(({ at }) => at >= request.answeredAt);
			if (isKilled && !saved) return [];
			return [`${run.id} of ${run.tag} is nowhere in execution ${attempt.id} (${status})`];
		});
	});
}

/** If an execution is stopped while the node works, its error names the runs that it has started. */
export function stopsNameRuns(facts: Facts): string[] {
	const { history } = facts;
	return history.attempts.flatMap((attempt) => {
		const { cancelledAt, endedAt = 0, parks } = attempt;
		const spec = facts.spec(attempt);
		const isParked = parks.some(
			({ at, until, resumedAt = until }) => cancelledAt! >= at && cancelledAt! <= resumedAt,
		);
		const isTold = spec.host === 'n8n' && spec.onError === 'stopWorkflow' && spec.turns === 1;
		// In the pause between two attempts, the node does not work.
		if (spec.maxTries > 0) return [];
		if (cancelledAt === undefined || isParked || !isTold) return [];
		if (history.kills.some(({ at }) => at >= attempt.beganAt && at <= endedAt)) return [];
		const said = [...attempt.endings.values()]
			.map(({ outputs, error }) =>
				JSON.stringify(outputs ?? [error?.message, error?.description, error?.context]),
			)
			.join(' ');
		return history.runs.flatMap(({ id, tag, request }) => {
			const isOwn = request?.execution === attempt && request.kind === 'create';
			if (!isOwn || request.status !== 202 || !request.isOwn || request.isCut) return [];
			if (request.answeredAt > cancelledAt || said.includes(id)) return [];
			return [
				`${id} of ${tag} is not named by the error of execution ${attempt.id}, stopped at ${Math.round(cancelledAt)}`,
			];
		});
	});
}

function textOf(facts: Facts, attempt: Parameters<Facts['spec']>[0]): string {
	const ofChain = facts.chain(attempt).map(({ endings, error, saves, runData }) => {
		const said = [...endings.values()].map(({ outputs, error: thrown }) =>
			outputs
				? JSON.stringify(outputs)
				: `${thrown?.message} ${thrown?.description} ${JSON.stringify(thrown?.context)}`,
		);
		return [...said, error?.message, saves.at(-1)?.memory, JSON.stringify(runData)].join(' ');
	});
	return ofChain.join(' ');
}
