import type { IDataObject } from 'n8n-workflow';

import type { Failure } from '../result';
import type { Answer } from '../service/answer';
import { createRun } from '../service/endpoints';
import { explainAnswer, mayHaveStarted } from '../service/explainAnswer';
import { sendWithRetry, type Patience } from '../service/sendWithRetry';
import type { Service } from '../service/service';
import { isRunId, type ParameterBinding, type Run } from '../service/types';
import { fingerprintOf, type KnownRun } from './itemMemory';
import type { RunMemory } from './runMemory';

/** What an item is to start, and how. */
export interface Start {
	itemIndex: number;
	agentId: number;
	bindings: ParameterBinding[];
	/** Whether a create may be sent again after a 5xx. */
	retryOnServerError: boolean;
}

/**
 * What became of a start. `known` is a run, and `done` a result, that an earlier attempt of the node has
 * brought about for the same item, agent and bindings.
 */
export type Started =
	| { is: 'started'; run: KnownRun; answer: Run }
	| { is: 'known'; run: KnownRun }
	| { is: 'done'; run?: KnownRun; outputs: IDataObject[] }
	| { is: 'failed'; failure: Failure }
	| { is: 'stopped' };

/**
 * Starts an item's run, once: where an earlier attempt of the node has started one for the same item,
 * agent and bindings, that one is given in its place. Where it is in doubt whether one was started,
 * nothing is sent.
 */
export async function startRun(
	{ itemIndex, agentId, bindings, retryOnServerError }: Start,
	memory: RunMemory,
	service: Service,
	patience: Patience,
): Promise<Started> {
	const fingerprint = fingerprintOf(service.baseUrl, agentId, bindings);
	const known = memory.recall(itemIndex, fingerprint);
	if (known?.is === 'inDoubt') return refuseInDoubt(agentId);
	if (known?.is === 'started') return { is: 'known', run: known.run };
	if (known?.is === 'done') return known;

	// In doubt from now on, until the answer says otherwise.
	memory.baseUrl = service.baseUrl;
	memory.note(itemIndex, { is: 'inDoubt', fingerprint });
	const answer = await sendWithRetry(
		service,
		createRun(agentId, bindings),
		retryOnServerError ? 'createRetryingServerErrors' : 'create',
		patience,
	);
	if (answer.kind === 'ok' && answer.body) {
		const runId = String(answer.body.run_id);
		const run = { agentId, runId, startedOn: patience.clock.date() };
		memory.note(itemIndex, { is: 'started', fingerprint, run });
		if (!isRunId(runId)) return refuseRunId(run);
		return { is: 'started', run, answer: { status: 'pending', ...answer.body, run_id: runId } };
	}
	if (!isInDoubt(answer, retryOnServerError)) memory.forget(itemIndex);
	if (answer.kind === 'aborted') return { is: 'stopped' };
	const subject = { agentId, startsRun: true, baseUrl: service.baseUrl };
	return { is: 'failed', failure: explainAnswer(answer, subject) };
}

/** With the option to repeat a create after a 5xx, the user takes such an answer for 'nothing started'. */
function isInDoubt(answer: Answer, retryOnServerError: boolean): boolean {
	return mayHaveStarted(answer) && !(retryOnServerError && answer.kind === 'serverError');
}

function refuseInDoubt(agentId: number): Started {
	const failure = {
		message: `An earlier attempt may have started a run of agent ${agentId} for this item, so this one starts none`,
		description:
			"The service did not answer clearly when the run was to be started, or n8n was ended while it was. Look at the service whether it is there, and fetch its result with 'Get a run'. To start one in any case, execute the workflow anew instead of retrying it.",
		details: { agent_id: agentId },
	};
	return { is: 'failed', failure };
}

function refuseRunId({ agentId, runId }: KnownRun): Started {
	const failure = {
		message: `The service has started a run whose ID cannot be used in an address: ${runId}`,
		description: 'Its status can only be looked up at the service itself.',
		details: { agent_id: agentId, run_id: runId },
	};
	return { is: 'failed', failure };
}
