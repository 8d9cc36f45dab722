import type { IDataObject } from 'n8n-workflow';

import {
	done,
	failed,
	type Item,
	type ItemThatIs,
	type KnownRun,
	type Waiting,
	type WaitOptions,
} from '../item';
import { asError, sentences, type Failure } from '../failure';
import { hasSucceeded, isFinished, statusOf } from '../service/runStatus';
import { isJsonObject, isRun, type Run } from '../service/types';
import { withoutPeriod } from '../wording';
import { parseJsonOutput } from './jsonOutput';

/** The item after its run was seen, finished or not: done, or failed. */
export function resultOf(item: Item & { run: KnownRun }, seen: Run, options: WaitOptions): Item {
	const details = { status: seen.status };
	const isUnsuccessful = isFinished(seen) && !hasSucceeded(seen);
	if (isUnsuccessful && options.onUnsuccessfulRun === 'error') {
		const failedItem = failed(item, {
			message: `The agent's run ${describeEnd(seen)}`,
			description:
				"This is how the run ended at the service. To output such runs instead, choose 'Output the Run' in 'If Run Does Not Succeed' under 'Options'.",
			advice: 'This run has ended. Start another one only if its result is still needed.',
			details,
		});
		// Without the run's record, so the next attempt begins the item again.
		return { ...failedItem, earlier: item.earlier };
	}

	const output = outputOf(seen, item.run);
	if (options.outputFormat === 'text' || typeof seen.output !== 'string') {
		return done(item, [output], { isUnsuccessful });
	}
	try {
		parseJsonOutput(seen.output);
		return done(item, [output], { isUnsuccessful, isJson: true });
	} catch (thrown) {
		// Only a run that has succeeded must have written JSON. What others wrote may be incomplete.
		if (!hasSucceeded(seen)) return done(item, [output], { isUnsuccessful });
		return failed(item, {
			message: "The agent's output is not JSON",
			description: `Set 'Output Format' under 'Options' to 'Text'. To get the text of this run, use 'Get a run' with its ID and that format. The JSON reader says: ${asError(thrown).message}`,
			details: { ...details, output: seen.output },
		});
	}
}

/** An earlier attempt's result under the current options; unchanged if its run had not finished. */
export function resultUnderOptions(item: ItemThatIs<'done'>, options: WaitOptions): Item {
	const { run } = item;
	const seen = finishedRunOf(item);
	return run && seen ? resultOf({ ...item, run }, seen, options) : item;
}

/** The finished run that is output; undefined if none is. */
export function finishedRunOf({ outputs: [output] }: ItemThatIs<'done'>): Run | undefined {
	return isRun(output) && isFinished(output) ? output : undefined;
}

/** What the item outputs, with what the agent has written in the form that the user has chosen. */
export function shownOf({ outputs, isJson }: ItemThatIs<'done'>): IDataObject[] {
	if (!isJson) return outputs;
	return outputs.map((output) => ({ ...output, output: parseJsonOutput(String(output.output)) }));
}

/** What a model that gets this item from its tool is to do; undefined if the output says all. */
export function adviceOn({ outputs: [output] }: ItemThatIs<'done'>): string | undefined {
	if (!isRun(output) || isFinished(output)) return undefined;
	return 'The run has not finished and continues at the service. Do not start another one: its result can be fetched later, by its agent_id and run_id.';
}

const WORKFLOW_ENDS =
	"The workflow's own timeout, or n8n's (EXECUTIONS_TIMEOUT), leaves no more time.";

/**
 * The item whose run had not finished at its time limit.
 *
 * @param seen the run as the service has just shown it
 * @param limitOn when the limit was reached, in ms since the epoch
 */
export function timeIsUp(item: Waiting, seen: Run, limitOn: number): Item {
	const { run, wait } = item;
	if (wait.options.onTimeout === 'output') return done(item, [outputOf(seen, run)]);
	const seconds = secondsOf(item, limitOn);
	// It is negative where a retry goes on with a run although the workflow's timeout is near already.
	const within = seconds < 0 ? "before the workflow's own timeout" : `within ${seconds} s`;
	return failed(item, {
		message: `The agent's run has not finished ${within}`,
		description: sentences(
			"It continues at the service. To get its result later, use 'Get a run' with its ID.",
			endsWithWorkflow(item, limitOn)
				? WORKFLOW_ENDS
				: "To wait longer, raise 'Time Limit (Seconds)' under 'Options'.",
		),
		details: { status: seen.status },
	});
}

/**
 * The item whose run may or may not have finished at its time limit, since the service did not tell.
 *
 * @param met the failure of the last poll
 * @param limitOn when the limit was reached, in ms since the epoch
 */
export function noAnswer(item: Waiting, met: Failure, limitOn: number): Item {
	const limit = endsWithWorkflow(item, limitOn)
		? "Before the workflow's own timeout"
		: `At the time limit of ${secondsOf(item, limitOn)} s`;
	return failed(item, {
		message: `${limit} the service did not say whether the agent's run had finished`,
		description: sentences(
			"To get its result, use 'Get a run' with its ID.",
			endsWithWorkflow(item, limitOn) && WORKFLOW_ENDS,
			`The last poll failed: ${withoutPeriod(met.message)}.`,
			met.description,
		),
		details: met.details,
	});
}

/** The longest wait in s, to a tenth. */
function secondsOf({ wait }: Waiting, limitOn: number): number {
	return Math.round((limitOn - wait.beganOn) / 100) / 10;
}

/** Whether the workflow's own timeout ends the wait, and not the time limit. */
function endsWithWorkflow({ wait }: Waiting, limitOn: number): boolean {
	const { timeoutMs } = wait.options;
	return timeoutMs === 0 || limitOn < wait.beganOn + timeoutMs;
}

function describeEnd(run: Run): string {
	const { error } = run;
	const status = statusOf(run);
	if (status === 'cancelled') return 'was cancelled at the service';
	const end = status === 'failed' ? 'failed' : `ended as '${run.status}'`;
	const why = error === undefined || error === null ? '' : withoutPeriod(say(error));
	return why === '' ? end : `${end}: ${why}`;
}

/** An error as text. It is documented as text; otherwise its message or its JSON is used. */
function say(error: unknown): string {
	if (typeof error === 'string') return error;
	if (isJsonObject(error) && typeof error.message === 'string') return error.message;
	return JSON.stringify(error);
}

/**
 * The run as an output item. Its keys are in the order in which a table shows them, the result first. An
 * empty error is left out: with Retry On Fail, n8n would take it for a failed attempt (n8n 1 also a null).
 */
export function outputOf(run: Run, { agentId, runId }: Omit<KnownRun, 'baseUrl'>): IDataObject {
	const { status, output, error, ...rest } = run;
	const said = isNothing(error) ? undefined : error;
	const ids = { agent_id: agentId, run_id: runId };
	// First for their place, and once more for their value: the service's own may be another one.
	const all = { status, output, error: said, ...ids, ...rest, ...ids };
	return Object.fromEntries(
		Object.entries(all).filter(([, value]) => value !== undefined),
	) as IDataObject;
}

function isNothing(error: unknown): boolean {
	return error === '' || error === null || error === false;
}
