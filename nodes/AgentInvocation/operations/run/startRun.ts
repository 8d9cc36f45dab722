import { clock } from '../../clock';
import {
	done,
	failed,
	isInDoubt,
	unlessEmpty,
	type Item,
	type NotBegun,
	type KnownRun,
} from '../../item';
import type { Failure } from '../../failure';
import { hashOf } from '../../hashOf';
import type { ItemWork } from '../../items/operation';
import { heldBack } from '../../items/heldBack';
import type { Answer } from '../../service/answer';
import { answerKinds } from '../../service/answerKinds';
import { createRun } from '../../service/endpoints';
import { explainAnswer } from '../../service/explainAnswer';
import { isRefusedOrLate, retryAfterMs } from '../../service/retryPolicy';
import { sendWithRetry } from '../../service/sendWithRetry';
import { hasSucceeded } from '../../service/runStatus';
import { isRunId, type ParameterBinding } from '../../service/types';
import { finishedRunOf, outputOf, resultUnderOptions } from '../../waiting/output';
import { beginWait, type WaitStart } from '../../waiting/wait';
import { dropOldReading, findAgent, keyOf, type GivenAgent } from '../findAgent';
import { beginsUntil, MORE_TIME_ADVICE, type WaitPlan } from '../../items/waitPlan';

const RUNS_CONTINUE =
	"These runs continue at the service. To get a result later, use 'Get a run' with the agent_id and run_id from its output item.";

/** What an item is to start. */
export interface Wanted {
	agent: GivenAgent;
	bindings: ParameterBinding[];
	/** Whether a create may be sent again after a status of 500 or more. */
	retryOnServerError: boolean;
	/** How long to wait for the service while it accepts no request of the API key, in ms. */
	patienceMs: number;
	/** How its run is waited for. */
	plan: WaitPlan;
}

/** The agent of a new run, and the hashes of what is to be started. */
interface Identified {
	agentId: number;
	fingerprints: string[];
}

/**
 * Finds the agent of an item's run. If an earlier attempt started one for the same item, agent and bindings,
 * that run or its result is given instead, also if the user has changed the node since.
 *
 * An agent's name is looked up only for a new run: by now it may be the name of another agent, or of none.
 */
export async function identify(
	item: NotBegun,
	{ agent, bindings, plan }: Wanted,
	work: ItemWork,
): Promise<Item | Identified> {
	const { baseUrl } = work.service;
	const asGiven = fingerprintOf(baseUrl, agent, bindings);
	const continued = continueFrom(item, work, plan, asGiven);
	if (continued) return continued;

	const agentId = await findAgent(agent, work, beginsUntil(plan, work));
	if (work.signal.aborted) return item;
	const byId = fingerprintOf(baseUrl, agentId, bindings);
	const continuedById = continueFrom(item, work, plan, byId);
	return continuedById ?? { agentId, fingerprints: [...new Set([byId, asGiven])] };
}

/** Starts an item's run, but only once (see {@link identify}). */
export async function startRun(item: NotBegun, wanted: Wanted, work: ItemWork): Promise<Item> {
	const { bindings, retryOnServerError, patienceMs, plan } = wanted;
	const { service, signal } = work;
	const { baseUrl } = service;
	const identified = await identify(item, wanted, work);
	if ('is' in identified) return identified;

	if (isInDoubt(item)) return heldBack(item);
	work.dryRuns.refuseIfUnsafe();

	// In doubt from now on, until the answer says otherwise.
	const { agentId, fingerprints } = identified;
	const { earlier } = item;
	const inDoubt: Item = { is: 'inDoubt', fingerprints, agentId, earlier };
	work.note(inDoubt);
	const purpose = retryOnServerError ? 'createRetryingServerErrors' : 'create';
	const request = createRun(agentId, bindings);
	const deadline = beginsUntil(plan, work);
	const patience = { patienceMs, deadline, signal };
	const answer = await sendWithRetry(service, request, purpose, patience);
	// The last request was not sent, and those before it have started nothing.
	if (answer.kind === 'aborted') return item;
	const tooLate = whyTooLate(answer, deadline, agentId);
	if (tooLate) return failed(item, tooLate);
	if (answer.body) {
		const runId = String(answer.body.run_id);
		const { status } = answer.body;
		const isSaid = typeof status === 'string' && status !== '';
		const lastSeen = { ...answer.body, run_id: runId, status: isSaid ? status : 'pending' };
		const askedMs = retryAfterMs(answer);
		return waitOrOutput(inDoubt, { baseUrl, agentId, runId }, work, plan, { lastSeen, askedMs });
	}
	if (answer.serviceError?.code === 'agent_not_found') dropOldReading(work);
	// Whoever sets 'Retry Create on Server Error' takes a 5xx to mean that nothing was started.
	const countsAsNotStarted = retryOnServerError && answer.kind === 'serverError';
	const mayHaveStarted = answerKinds[answer.kind].mayHaveStarted && !countsAsNotStarted;
	const failure = explainAnswer(answer, { agentId, bindings, startsRun: true, baseUrl });
	// What an earlier attempt has left of the item is still there to go on from.
	return failed(mayHaveStarted ? inDoubt : item, failure);
}

/**
 * Goes on from the newest of an item's records that counts, if any. Unless the user has changed the node,
 * the item counts as the same, whatever its expressions give this time. A run at another service is left
 * alone, since it cannot be polled.
 *
 * @param fingerprint of what the item would start now; absent if that is not known yet
 * @returns undefined if there is nothing to go on from
 */
export function continueFrom(
	{ earlier = [] }: NotBegun,
	work: ItemWork,
	plan: WaitPlan,
	fingerprint?: string,
): Item | undefined {
	const record = earlier.find(({ is, run, isOld, isGone, fingerprints = [] }) => {
		const isElsewhere = run !== undefined && run.baseUrl !== work.service.baseUrl;
		const isSame = fingerprint !== undefined && fingerprints.includes(fingerprint);
		return is !== 'inDoubt' && !isElsewhere && !isGone && (!isOld || isSame);
	});
	if (!record) return undefined;
	// The node as it is now would start the same, so the record counts as its own.
	const others = earlier.filter((other) => other !== record);
	const own = { ...record, isOld: false, earlier: unlessEmpty(others) };
	const { run } = own;
	// A record from before a change of the node has lost its outputs (see `ofNextAttempt` in items/opening.ts).
	if (!run || (!plan.waits && own.is === 'done' && own.outputs.length > 0)) return own;
	const seen = own.is === 'done' ? finishedRunOf(own) : undefined;
	if (own.is === 'done' && seen) {
		const result = resultUnderOptions(own, plan.options);
		// A failed run that is an error under the current options is polled like any other: the item fails, or
		// begins again.
		if (result.is === 'done' || hasSucceeded(seen)) return result;
	}
	// A run that was given by its ID and not seen yet may not exist.
	const isSeen = own.is !== 'waiting' || own.wait.wasSeen;
	const lastSeen = isSeen ? { run_id: run.runId, status: 'pending' } : undefined;
	const mayBeginAgain = plan.startsRuns;
	return waitOrOutput(own, run, work, plan, { lastSeen, mayBeginAgain, isDueNow: true });
}

/** Waits for an item's run, or outputs what is known of it. Fails the item if its run's ID cannot be used. */
function waitOrOutput(
	item: Item,
	run: KnownRun,
	{ parking, isOnTrial = false }: ItemWork,
	{ waits, options, where }: WaitPlan,
	known: Omit<WaitStart, 'options' | 'where' | 'isOnTrial'>,
): Item {
	const begun = { options, where, isOnTrial, ...known };
	const waiting = beginWait(item, run, begun, parking);
	if (!isRunId(run.runId)) {
		// The item keeps the run, so no other one is started for it.
		return failed(waiting, {
			message: 'The run was started, but its ID cannot be used in an address',
			description: 'Its result can only be looked up at the service itself.',
			details: {},
		});
	}
	const { lastSeen } = known;
	if (waits || !lastSeen) return waiting;
	parking.hints.add(RUNS_CONTINUE);
	return done(waiting, [outputOf(lastSeen, run)], { isNotWaitedFor: true });
}

/** Why no run was started, if the request was not carried by the deadline. */
export function whyTooLate(answer: Answer, deadline: number, agentId: number): Failure | undefined {
	if (!isRefusedOrLate(answer) || clock.now() < deadline) return undefined;
	return {
		message:
			"The run was not started, since the workflow's own timeout leaves no time to wait for it",
		description: MORE_TIME_ADVICE,
		details: { agent_id: agentId },
	};
}

/**
 * A short text that is the same for the same service, agent and bindings.
 *
 * @param service its base URL, or its key where the organization counts as well
 */
export function fingerprintOf(
	service: string,
	agent: GivenAgent,
	bindings: ParameterBinding[],
): string {
	// In whatever order the user gives them, they are the same.
	const values = bindings.map(({ name, value }) => JSON.stringify([name, value])).sort();
	return hashOf([service, keyOf(agent), values]);
}
