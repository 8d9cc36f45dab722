import { createRun, getRun } from '../../api/endpoints';
import { fail, failureOf, mayHaveStarted, succeed, type Result } from '../../api/failure';
import { sendPatiently, type Patience } from '../../api/sendPatiently';
import { isFinished, type ParameterBinding, type Run } from '../../api/types';
import {
	fingerprintOf,
	UNKNOWN_RUN,
	type RunMemory,
	type StartedBefore,
} from '../../waiting/runMemory';
import { NOT_FOUND_GRACE_MS } from '../../waiting/waitForRun';
import type { Work } from '../workThroughItems';

/** What an item is to start, and how. */
export interface Start {
	itemIndex: number;
	agentId: number;
	bindings: ParameterBinding[];
	/** Whether a create may be sent again after a 5xx. */
	retryOnServerError: boolean;
	/** Whether the run is waited for, so that a run of an earlier try is worth a look. */
	waits: boolean;
	/** Whether a run that failed or was cancelled is a result, and not to be started anew. */
	acceptsUnsuccessful: boolean;
}

/**
 * Starts an item's run, once: a run that an earlier try of the node has started for the same item,
 * agent and bindings is taken in its place. One that has failed since, was cancelled or is gone is
 * started anew. Where an earlier try cannot know whether it started one, nothing is sent. Without
 * waiting, the run of an earlier try is not looked at.
 *
 * @returns the run as last seen, or undefined when halted before anything was sent
 */
export async function startRun(
	start: Start,
	memory: RunMemory,
	work: Work,
	patience: Patience,
): Promise<Result<Run> | undefined> {
	const { itemIndex, agentId, bindings } = start;
	const { service, noteRun } = work;
	const { clock } = patience;
	const fingerprint = fingerprintOf(service.baseUrl, agentId, bindings);

	const remembered = memory.recall(itemIndex, fingerprint);
	if (remembered?.runId === UNKNOWN_RUN) return refuseInDoubt(agentId);
	if (remembered) {
		noteRun({ itemIndex, agentId, runId: remembered.runId });
		if (!start.waits) return succeed(justStarted(remembered));
		const found = await findAgain(start, remembered, work, patience);
		if (found !== 'gone') return found;
	}

	// In doubt from now on, until the answer says otherwise.
	const note = (runId: string) =>
		memory.note(itemIndex, { fingerprint, runId, notedOn: clock.date() });
	note(UNKNOWN_RUN);
	const answer = await sendPatiently(
		service,
		createRun(agentId, bindings),
		start.retryOnServerError ? 'createRetryingServerErrors' : 'create',
		patience,
	);
	if (answer.kind === 'ok' && answer.body) {
		const { run_id: runId } = answer.body;
		note(runId);
		noteRun({ itemIndex, agentId, runId });
		return succeed(answer.body);
	}
	const isTakenForNothing = start.retryOnServerError && answer.kind === 'serverError';
	if (isTakenForNothing || !mayHaveStarted(answer)) memory.forget(itemIndex);
	if (answer.kind === 'halted') return undefined;
	const failure = failureOf(answer, { agentId, startsRun: true, baseUrl: service.baseUrl });
	return { ok: false, failure };
}

/** Looks at the run of an earlier try; `gone` when another one is to be started. */
async function findAgain(
	{ agentId, acceptsUnsuccessful }: Start,
	remembered: StartedBefore,
	{ service }: Work,
	patience: Patience,
): Promise<Result<Run> | 'gone' | undefined> {
	const { runId, notedOn } = remembered;
	const answer = await sendPatiently(service, getRun(agentId, runId), 'firstLook', patience);
	if (answer.kind === 'halted') return undefined;
	if (answer.kind === 'ok' && answer.body) {
		const run = answer.body;
		const isOver = isFinished(run) && run.status !== 'succeeded';
		return isOver && !acceptsUnsuccessful ? 'gone' : succeed({ ...run, run_id: runId });
	}
	if (answer.serviceError?.code === 'run_not_found') {
		const isNew = patience.clock.date() - notedOn < NOT_FOUND_GRACE_MS;
		return isNew ? succeed(justStarted(remembered)) : 'gone';
	}
	return { ok: false, failure: failureOf(answer, { agentId, runId, baseUrl: service.baseUrl }) };
}

/** A run as it was when it was started. */
function justStarted({ runId }: StartedBefore): Run {
	return { run_id: runId, status: 'pending' };
}

function refuseInDoubt(agentId: number): Result<never> {
	return fail({
		message: `An earlier try may have started a run of agent ${agentId} for this item, so this try starts none`,
		description:
			"The service did not answer clearly when the run was to be started. Look there whether it is, and fetch its result with 'Get a run'. To start one in any case, execute the workflow anew instead of retrying it.",
		details: { agent_id: agentId },
	});
}
