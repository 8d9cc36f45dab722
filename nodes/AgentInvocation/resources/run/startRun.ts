import { createHash } from 'node:crypto';

import { systemClock as clock } from '../../clock';
import type { KnownRun } from '../../runs/itemMemory';
import { failed, type Step } from '../../runs/itemState';
import { answerKinds } from '../../service/answerKinds';
import { createRun } from '../../service/endpoints';
import { failWith } from '../../service/explainAnswer';
import { isFinished } from '../../service/runStatus';
import { sendWithRetry } from '../../service/sendWithRetry';
import { isRun, isRunId, type ParameterBinding, type Run } from '../../service/types';
import type { ItemWork } from '../operation';
import { nameRun } from '../../wording';

/** An item's run. */
interface Started {
	is: 'started';
	run: KnownRun;
	/** What the service has answered about it. */
	lastSeen: Run;
	/** Whether an earlier attempt of the node has started it. */
	isEarlier: boolean;
}

/**
 * Starts an item's run, once: where an earlier attempt of the node has started one for the same item,
 * agent and bindings, that one, or its result, is given in its place. Where it is in doubt whether one was
 * started, nothing is sent.
 *
 * @param retryOnServerError whether a create may be sent again after a 5xx
 * @param deadline by the clock: until then it may be sent again
 */
export async function startRun(
	{ itemIndex, service, memory, signal }: ItemWork,
	agentId: number,
	bindings: ParameterBinding[],
	retryOnServerError: boolean,
	deadline: number,
): Promise<Started | Step> {
	const fingerprint = fingerprintOf(service.baseUrl, agentId, bindings);
	const known = memory.recall(itemIndex, fingerprint);
	if (known?.is === 'inDoubt') return refuseInDoubt(agentId);
	if (known?.is === 'started') {
		const lastSeen = { run_id: known.run.runId, status: 'pending' };
		return { is: 'started', run: known.run, lastSeen, isEarlier: true };
	}
	if (known?.is === 'done') {
		// That attempt did not wait for it, or gave it as it was at its time limit.
		const { run, outputs } = known;
		const [output] = outputs;
		if (!run || !isRun(output) || isFinished(output)) return known;
		return { is: 'started', run, lastSeen: output, isEarlier: true };
	}

	// In doubt from now on, until the answer says otherwise.
	memory.stored.baseUrl = service.baseUrl;
	memory.note(itemIndex, { is: 'inDoubt', fingerprint });
	const purpose = retryOnServerError ? 'createRetryingServerErrors' : 'create';
	const request = createRun(agentId, bindings);
	const answer = await sendWithRetry(service, request, purpose, { clock, deadline, signal });
	if (answer.kind === 'ok' && answer.body) {
		const runId = String(answer.body.run_id);
		const run = { agentId, runId, startedOn: clock.date() };
		memory.note(itemIndex, { is: 'started', fingerprint, run });
		if (!isRunId(runId)) return refuseRunId(run);
		const lastSeen = { status: 'pending', ...answer.body, run_id: runId };
		return { is: 'started', run, lastSeen, isEarlier: false };
	}
	// With the option to repeat a create after a 5xx, the user takes such an answer for 'nothing started'.
	const isTakenForNothing = retryOnServerError && answer.kind === 'serverError';
	if (!answerKinds[answer.kind].mayHaveStarted || isTakenForNothing) memory.forget(itemIndex);
	if (answer.kind === 'aborted') return { is: 'stopped' };
	return failed(failWith(answer, { agentId, bindings, startsRun: true, baseUrl: service.baseUrl }));
}

function refuseInDoubt(agentId: number): Step {
	return failed({
		failure: {
			message: `An earlier attempt may have started a run of agent ${agentId} for this item, so this one starts none`,
			description:
				"The service did not answer clearly when the run was to be started, or n8n stopped at that moment. Check at the service whether it is there, and get its result with 'Get a run'. To start one in any case, execute the workflow anew instead of retrying it.",
			details: { agent_id: agentId },
		},
	});
}

function refuseRunId(run: KnownRun): Step {
	return failed({
		failure: {
			message: `The run was started, but its ID cannot be used in an address${nameRun(run)}`,
			description: 'Its result can only be looked up at the service itself.',
			details: { agent_id: run.agentId, run_id: run.runId },
		},
	});
}

/** A short text that is the same for the same service, agent and bindings. */
function fingerprintOf(baseUrl: string, agentId: number, bindings: ParameterBinding[]): string {
	const text = JSON.stringify([baseUrl, agentId, bindings.map(({ name, value }) => [name, value])]);
	return createHash('sha256').update(text).digest('base64').slice(0, 16);
}
