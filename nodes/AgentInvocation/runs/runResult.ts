import type { IDataObject } from 'n8n-workflow';

import { asError, sentences, type Failure } from '../result';
import { explainAnswer } from '../service/explainAnswer';
import { isFinished, isJsonObject, type Run } from '../service/types';
import { done, type Step } from './loop';
import type { Poll, Wait } from './waitForRun';
import type { WaitOptions } from './waitOptions';

type Subject = Pick<Wait, 'agentId' | 'runId'>;

/**
 * Turns what a poll tells into the item's output, or into the failure that its options make of it.
 */
export function stepAfter(poll: Poll, wait: Wait, baseUrl: string): Step {
	const { agentId, runId, options } = wait;
	switch (poll.is) {
		case 'stopped':
		case 'waiting':
			return poll;
		case 'finished':
			return resultOf(poll.run, wait, options);
		case 'rejected':
			return { is: 'failed', failure: explainAnswer(poll.answer, { agentId, runId, baseUrl }) };
		case 'timeLimit': {
			const { lastSeen, answer } = poll;
			if (options.onTimeout === 'output') {
				return done(outputOf(lastSeen ?? { status: 'pending' }, wait));
			}
			const trouble = answer && explainAnswer(answer, { agentId, runId, baseUrl });
			return { is: 'failed', failure: timeIsUp(wait, lastSeen, trouble) };
		}
	}
}

/** What becomes of a run as the service shows it, finished or not: output, or a failure. */
export function resultOf(run: Run, subject: Subject, options: WaitOptions): Step {
	const { agentId, runId } = subject;
	const details = { agent_id: agentId, run_id: runId, status: run.status };
	if (isFinished(run) && run.status !== 'succeeded' && options.onUnsuccessfulRun === 'error') {
		const failure = {
			message: `Run ${runId} of agent ${agentId} ${describeEnd(run)}`,
			description:
				"This is how the run ended at the service. To get such runs as output instead, set 'If Run Does Not Succeed' under 'Options'.",
			details,
		};
		return { is: 'failed', failure, runEnded: true };
	}

	const output = outputOf(run, subject);
	if (options.outputFormat === 'text' || typeof run.output !== 'string') return done(output);
	try {
		return done({ ...output, output: JSON.parse(run.output) });
	} catch (thrown) {
		const failure = {
			message: `The output of run ${runId} of agent ${agentId} is not JSON`,
			description: `Set 'Output Format' under 'Options' to 'Text', or use 'Get a run' with this run ID and that format, to get the text. The JSON reader says: ${asError(thrown).message}`,
			details: { ...details, output: run.output },
		};
		return { is: 'failed', failure };
	}
}

function timeIsUp(wait: Wait, lastSeen?: Run, trouble?: Failure): Failure {
	const { agentId, runId, options, startedAt, deadline } = wait;
	const seconds = Math.round((deadline - startedAt) / 100) / 10;
	const endsWithWorkflow =
		options.timeoutMs === 0 || Math.round(deadline - startedAt) < options.timeoutMs;
	return {
		message: `Run ${runId} of agent ${agentId} has not finished within ${seconds} s`,
		description: sentences(
			"It goes on at the service. Use 'Get a run' with this run ID to fetch its result later.",
			endsWithWorkflow
				? "The workflow's own timeout, in its settings, leaves no more time."
				: "To wait longer, raise 'Time Limit' under 'Options'.",
			trouble && `The last poll met trouble: ${trouble.message}. ${trouble.description}`,
		),
		details: {
			...trouble?.details,
			agent_id: agentId,
			run_id: runId,
			...(lastSeen && { status: lastSeen.status }),
		},
	};
}

function describeEnd({ status, error }: Run): string {
	if (status === 'cancelled') return 'was cancelled at the service';
	if (status !== 'failed') return `ended with the status '${status}'`;
	return error === undefined || error === null || error === '' ? 'failed' : `failed: ${say(error)}`;
}

/** An error is documented as text; of another form, its message or its JSON is said. */
function say(error: unknown): string {
	if (typeof error === 'string') return error;
	if (isJsonObject(error) && typeof error.message === 'string') return error.message;
	return JSON.stringify(error);
}

/** The run in the order in which a table shows it: what it brought comes first. */
function outputOf(run: Partial<Run>, { agentId, runId }: Subject): IDataObject {
	const { status, output, error, ...rest } = run;
	const all = { status, output, error, agent_id: agentId, run_id: runId, ...rest };
	return Object.fromEntries(
		Object.entries({ ...all, run_id: runId }).filter(([, value]) => value !== undefined),
	) as IDataObject;
}
