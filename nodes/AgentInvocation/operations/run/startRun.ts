import { createHash } from 'node:crypto';

import { systemClock as clock } from '../../clock';
import type { ItemMemory, KnownRun } from '../../itemMemory';
import { failed, type Step } from '../../itemState';
import { answerKinds } from '../../service/answerKinds';
import { createRun } from '../../service/endpoints';
import { failWith } from '../../service/explainAnswer';
import { retryAfterMs } from '../../service/retryPolicy';
import { sendWithRetry } from '../../service/sendWithRetry';
import type { ParameterBinding, Run } from '../../service/types';
import { findAgent, nameKey, type GivenAgent } from '../findAgent';
import type { ItemWork } from '../../items/operation';
import { nameRun } from '../../wording';

/** An item's run. */
export interface Started {
	is: 'started';
	run: KnownRun;
	/** What the service has answered about it. */
	lastSeen: Run;
	/** Whether an earlier attempt of the node has started it. */
	isEarlier: boolean;
	/** For how long that answer asks clients to back off, in ms. */
	askedMs?: number;
}

/**
 * Starts an item's run, once: where the user has changed the node since an earlier attempt, which has started
 * one for the same item, agent and bindings, that one, or its result, is given in its place.
 *
 * The name of an agent is looked up for a new run alone: by now it may be another agent's, or nobody's.
 *
 * @param retryOnServerError whether a create may be sent again after a 5xx
 * @param patienceMs for how long the service may take no requests of the API key at all
 */
export async function startRun(
	work: ItemWork,
	agent: GivenAgent,
	bindings: ParameterBinding[],
	retryOnServerError: boolean,
	patienceMs: number,
): Promise<Started | Step> {
	const { itemIndex, service, memory, signal } = work;
	const asGiven = fingerprintOf(service.baseUrl, agent, bindings);
	const earlier = goOnFrom(work, asGiven);
	if (earlier) return earlier;

	const found = await findAgent(agent, work);
	if (signal.aborted) return { is: 'stopped' };
	if (!found.ok) return failed(found);
	const agentId = found.value;
	const byId = fingerprintOf(service.baseUrl, agentId, bindings);
	const same = goOnFrom(work, byId);
	if (same) return same;

	// In doubt from now on, until the answer says otherwise.
	const fingerprint = [...new Set([byId, asGiven])].join(' ');
	memory.note(itemIndex, { is: 'inDoubt', fingerprint, agentId });
	const purpose = retryOnServerError ? 'createRetryingServerErrors' : 'create';
	const request = createRun(agentId, bindings);
	const patience = { clock, since: clock.now(), patienceMs, signal };
	const answer = await sendWithRetry(service, request, purpose, patience);
	if (answer.kind === 'ok' && answer.body) {
		const runId = String(answer.body.run_id);
		const run = { baseUrl: service.baseUrl, agentId, runId, startedOn: clock.date() };
		memory.note(itemIndex, { is: 'started', fingerprint, run });
		const lastSeen = { status: 'pending', ...answer.body, run_id: runId };
		const askedMs = retryAfterMs(answer, clock.date());
		return { is: 'started', run, lastSeen, isEarlier: false, askedMs };
	}
	// With the option to repeat a create after a 5xx, the user takes such an answer for 'nothing started'.
	const isTakenForNothing = retryOnServerError && answer.kind === 'serverError';
	if (!answerKinds[answer.kind].mayHaveStarted || isTakenForNothing) memory.forget(itemIndex);
	if (answer.kind === 'aborted') return { is: 'stopped' };
	return failed(failWith(answer, { agentId, bindings, startsRun: true, baseUrl: service.baseUrl }));
}

/**
 * What an earlier attempt has left of an item to go on from, if anything.
 *
 * @param fingerprint of what it would start now; absent where that is not known yet
 */
export function goOnFrom(
	{ memory, itemIndex, service }: ItemWork,
	fingerprint?: string,
): Started | Step | undefined {
	const known = memory.recall(itemIndex, service.baseUrl, fingerprint);
	if (known?.is === 'inDoubt') return refuse(known);
	if (known?.is === 'started') {
		const lastSeen = { run_id: known.run.runId, status: 'pending' };
		return { is: 'started', run: known.run, lastSeen, isEarlier: true };
	}
	return known?.is === 'done' ? known : undefined;
}

/** Starts no run for an item that may have one. */
export function refuse({ agentId }: ItemMemory & { is: 'inDoubt' }): Step & { is: 'failed' } {
	const run = agentId === undefined ? 'a run' : `a run of agent ${agentId}`;
	return {
		is: 'failed',
		isRefused: true,
		failure: {
			message: `An earlier attempt may have started ${run} for this item, so this one starts none`,
			description:
				"The service did not answer clearly when the run was to be started, or n8n stopped at that moment. Check at the service whether it is there, and get its result with 'Get a run'. To start one in any case, execute the workflow anew instead of retrying it.",
			details: agentId === undefined ? {} : { agent_id: agentId },
		},
	};
}

/** Asks for no run whose ID would lead elsewhere, and so starts none in its place either. */
export function refuseRunId(run: KnownRun): Step {
	return failed({
		failure: {
			message: `The run was started, but its ID cannot be used in an address${nameRun(run)}`,
			description: 'Its result can only be looked up at the service itself.',
			details: { agent_id: run.agentId, run_id: run.runId },
		},
	});
}

/** A short text that is the same for the same service, agent and bindings. */
function fingerprintOf(baseUrl: string, agent: GivenAgent, bindings: ParameterBinding[]): string {
	const key = typeof agent === 'number' ? agent : nameKey(agent);
	const text = JSON.stringify([baseUrl, key, bindings.map(({ name, value }) => [name, value])]);
	return createHash('sha256').update(text).digest('base64').slice(0, 16);
}
