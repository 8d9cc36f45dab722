import type { IDataObject } from 'n8n-workflow';

import { asError, fail, failureOf, succeed, type Result } from '../../api/failure';
import type { Service } from '../../api/service';
import { isFinished, type Run } from '../../api/types';
import type { Wait, WaitEnd } from '../../waiting/waitForRun';
import type { WaitOptions } from './waitOptions';

type Subject = Pick<Wait, 'agentId' | 'runId'>;

/**
 * Turns the end of a wait into the item's json, or into the failure that its options make of it.
 *
 * @returns undefined for a halted or parked wait, which has neither
 */
export function endOfWait(
	end: WaitEnd,
	wait: Wait,
	options: WaitOptions,
	service: Service,
): Result<IDataObject> | undefined {
	const { agentId, runId } = wait;
	switch (end.why) {
		case 'halted':
		case 'parked':
			return undefined;
		case 'finished':
			return endOfRun(end.run, wait, options);
		case 'rejected':
			return {
				ok: false,
				failure: failureOf(end.answer, { agentId, runId, baseUrl: service.baseUrl }),
			};
		case 'timeLimit': {
			const status = end.lastSeen?.status;
			if (options.onTimeout === 'output') {
				return succeed(outputOf(end.lastSeen ?? { status: 'pending' }, wait));
			}
			const trouble =
				end.answer && failureOf(end.answer, { agentId, runId, baseUrl: service.baseUrl });
			return fail({
				message: `Run ${runId} of agent ${agentId} has not finished within ${Math.round(wait.timeoutMs / 100) / 10} s`,
				description: [
					"It goes on at the service. Use 'Get a run' with this run ID to fetch its result later.",
					wait.endsWithWorkflow
						? "The workflow's own timeout, in its settings, leaves no more time."
						: "To wait longer, raise 'Time Limit' under 'Options'.",
					trouble && `The last look met trouble: ${trouble.message}. ${trouble.description}`,
				]
					.filter(Boolean)
					.join(' '),
				details: {
					...trouble?.details,
					agent_id: agentId,
					run_id: runId,
					...(status && { status }),
				},
			});
		}
	}
}

/** What becomes of a run as the service shows it, finished or not: output, or a failure. */
export function endOfRun(run: Run, subject: Subject, options: WaitOptions): Result<IDataObject> {
	const { agentId, runId } = subject;
	const details = { agent_id: agentId, run_id: runId, status: run.status };
	if (isFinished(run) && run.status !== 'succeeded' && options.onUnsuccessfulRun === 'error') {
		return fail({
			message: `Run ${runId} of agent ${agentId} ${describeEnd(run)}`,
			description:
				"This is how the run ended at the service. To get such runs as output instead, set 'If Run Does Not Succeed' under 'Options'.",
			details,
		});
	}

	const output = outputOf(run, subject);
	if (options.outputFormat === 'text' || typeof run.output !== 'string') return succeed(output);
	try {
		return succeed({ ...output, output: JSON.parse(run.output) });
	} catch (thrown) {
		return fail({
			message: `The output of run ${runId} of agent ${agentId} is not JSON`,
			description: `Set 'Output Format' under 'Options' to 'Text', or use 'Get a run' with this run ID and that format, to get the text. The JSON reader says: ${asError(thrown).message}`,
			details: { ...details, output: run.output },
		});
	}
}

function describeEnd(run: Run): string {
	if (run.status === 'cancelled') return 'was cancelled at the service';
	if (run.status !== 'failed') return `ended with the status '${run.status}'`;
	return run.error ? `failed: ${run.error}` : 'failed';
}

/** The run in the order in which a table shows it: what it brought comes first. */
function outputOf(run: Partial<Run>, { agentId, runId }: Subject): IDataObject {
	const { status, output, error, ...rest } = run;
	const all = { status, output, error, agent_id: agentId, run_id: runId, ...rest };
	return Object.fromEntries(
		Object.entries(all).filter(([, value]) => value !== undefined),
	) as IDataObject;
}
