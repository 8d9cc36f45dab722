import type { IDataObject } from 'n8n-workflow';

import { asError, sentences, type Failure } from '../result';
import { isFinished } from '../service/runStatus';
import { isJsonObject, type Run } from '../service/types';
import { nameRun, withoutPeriod } from '../wording';
import { done, type Step, type Wait } from '../itemState';
import type { WaitOptions } from './options';

type Subject = Pick<Wait, 'agentId' | 'runId'>;

/** What becomes of a run as the service shows it, finished or not: output, or a failure. */
export function resultOf(run: Run, subject: Subject, options: WaitOptions): Step {
	const { agentId, runId } = subject;
	const details = { agent_id: agentId, run_id: runId, status: run.status };
	const isUnsuccessful = isFinished(run) && run.status !== 'succeeded';
	if (isUnsuccessful && options.onUnsuccessfulRun === 'error') {
		const failure = {
			message: `The agent's run ${describeEnd(run)}${nameRun(subject)}`,
			description:
				"This is how the run ended at the service. To output such runs instead, choose 'Output the Run' in 'If Run Does Not Succeed' under 'Options'.",
			details,
		};
		return { is: 'failed', failure, runEnded: true };
	}

	const output = outputOf(run, subject);
	if (options.outputFormat === 'text' || typeof run.output !== 'string') {
		return done(output, isUnsuccessful);
	}
	try {
		return done({ ...output, output: JSON.parse(run.output) }, isUnsuccessful);
	} catch (thrown) {
		const failure = {
			message: `The agent's output is not JSON${nameRun(subject)}`,
			description: `Set 'Output Format' under 'Options' to 'Text'. To get the text of this run, use 'Get a run' with its ID and that format. The JSON reader says: ${asError(thrown).message}`,
			details: { ...details, output: run.output },
		};
		return { is: 'failed', failure };
	}
}

const WORKFLOW_ENDS = "The workflow's own timeout, in its settings, leaves no more time.";

/** What becomes of a run that goes on at its time limit. */
export function timeIsUp(wait: Wait): Step {
	const { agentId, runId, options, lastSeen } = wait;
	if (options.onTimeout === 'output') {
		return done(outputOf(lastSeen ?? { status: 'pending' }, wait));
	}
	const failure = {
		message: `The agent's run has not finished within ${secondsOf(wait)} s${nameRun(wait)}`,
		description: sentences(
			"It goes on at the service. To get its result later, use 'Get a run' with its ID.",
			endsWithWorkflow(wait)
				? WORKFLOW_ENDS
				: "To wait longer, raise 'Time Limit (Seconds)' under 'Options'.",
		),
		details: {
			agent_id: agentId,
			run_id: runId,
			...(lastSeen && { status: lastSeen.status }),
		},
	};
	return { is: 'failed', failure };
}

/**
 * What becomes of a run of which nothing could be learned at its time limit, so that it may have finished.
 *
 * @param trouble that the last poll met
 */
export function noAnswer(wait: Wait, trouble: Failure): Step {
	const failure = {
		message: `At the time limit of ${secondsOf(wait)} s the service did not tell whether the agent's run has finished${nameRun(wait)}`,
		description: sentences(
			"To get its result, use 'Get a run' with its ID.",
			endsWithWorkflow(wait) && WORKFLOW_ENDS,
			`What the last poll met: ${withoutPeriod(trouble.message.replace(nameRun(wait), ''))}.`,
			trouble.description,
		),
		details: { ...trouble.details, agent_id: wait.agentId, run_id: wait.runId },
	};
	return { is: 'failed', failure };
}

/** The time limit in s, to a tenth. */
function secondsOf({ startedAt, deadline }: Wait): number {
	return Math.max(Math.round((deadline - startedAt) / 100) / 10, 0);
}

/** Whether the workflow's own timeout ends the wait, and not the time limit. */
function endsWithWorkflow({ options, startedAt, deadline }: Wait): boolean {
	return options.timeoutMs === 0 || Math.round(deadline - startedAt) < options.timeoutMs;
}

function describeEnd({ status, error }: Run): string {
	if (status === 'cancelled') return 'was cancelled at the service';
	if (status !== 'failed') return `ended as '${status}'`;
	const why = error === undefined || error === null ? '' : withoutPeriod(say(error));
	return why === '' ? 'failed' : `failed: ${why}`;
}

/** An error is documented as text; of another form, its message or its JSON is said. */
function say(error: unknown): string {
	if (typeof error === 'string') return error;
	if (isJsonObject(error) && typeof error.message === 'string') return error.message;
	return JSON.stringify(error);
}

/**
 * The run in the order in which a table shows it: what it brought comes first. An empty error says nothing,
 * but with Retry On Fail n8n would take it for a failed attempt.
 */
function outputOf(run: Partial<Run>, { agentId, runId }: Subject): IDataObject {
	const { status, output, error, ...rest } = run;
	const said = error === '' ? undefined : error;
	const all = { status, output, error: said, agent_id: agentId, run_id: runId, ...rest };
	return Object.fromEntries(
		Object.entries({ ...all, agent_id: agentId, run_id: runId }).filter(
			([, value]) => value !== undefined,
		),
	) as IDataObject;
}
