import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';

import { systemClock as clock } from '../../clock';
import { readNumber } from '../../readNumber';
import { succeed, type Result } from '../../result';
import { AUTOMATIC, fixedAt, type Concurrency } from '../../runs/concurrency';
import { done, failed, type Step } from '../../runs/itemState';
import { startRun } from '../../runs/startRun';
import { dryRun } from '../../service/endpoints';
import { failWith } from '../../service/explainAnswer';
import { READ_PATIENCE_MS } from '../../service/retryPolicy';
import { sendWithRetry } from '../../service/sendWithRetry';
import { isJsonObject, type ParameterBinding } from '../../service/types';
import { readAgentId } from '../ids';
import type { ItemWork, Operation } from '../operation';
import { LARGEST_CONCURRENCY } from './createFields';
import { readItemOptions, waitFor } from './itemWait';
import { readBindings } from './parameters';

/** Starts a run for each input item and, unless told otherwise, waits for it. */
export const create: Operation = { concurrency, runs: 'starts', begin };

function concurrency(context: IExecuteFunctions): Result<Concurrency> {
	const { maxConcurrency = 0 } = context.getNodeParameter('options', 0, {}) as IDataObject;
	const range = { min: 0, max: LARGEST_CONCURRENCY, whole: true };
	const count = readNumber(maxConcurrency, 'Max Concurrency', range);
	if (!count.ok) return count;
	return succeed(count.value === 0 ? AUTOMATIC : fixedAt(count.value));
}

async function begin(work: ItemWork): Promise<Step> {
	const { context, itemIndex } = work;
	const given = context.getNodeParameter('agentId', itemIndex, '', { extractValue: true });
	const agent = readAgentId(given);
	if (!agent.ok) return failed(agent);
	const bindings = readBindings(context, itemIndex);
	if (!bindings.ok) return failed(bindings);
	const options = readItemOptions(context, itemIndex);
	if (!options.ok) return failed(options);
	if (context.getNodeParameter('dryRun', itemIndex, false)) {
		return await compileOnly(agent.value, bindings.value, work);
	}
	const waits = context.getNodeParameter('waitForCompletion', itemIndex, true) === true;
	const retryOnServerError =
		context.getNodeParameter('options.retryCreateOnServerError', itemIndex, false) === true;
	const started = await startRun(
		{ itemIndex, agentId: agent.value, bindings: bindings.value, retryOnServerError },
		work.memory,
		work.service,
		{
			clock,
			deadline: clock.now() + (waits ? options.value.timeoutMs || Infinity : READ_PATIENCE_MS),
			signal: work.signal,
		},
	);
	if (started.is !== 'started') return started;
	const { run, lastSeen, isEarlier } = started;
	if (!waits) return done({ agent_id: run.agentId, ...lastSeen } as IDataObject);
	return waitFor(run, options.value, work, lastSeen, isEarlier);
}

/** Gives exactly what the service answered; what is no object goes under `result`. */
async function compileOnly(
	agentId: number,
	bindings: ParameterBinding[],
	{ service, signal }: ItemWork,
): Promise<Step> {
	const answer = await sendWithRetry(service, dryRun(agentId, bindings), 'read', {
		clock,
		deadline: clock.now() + READ_PATIENCE_MS,
		signal,
	});
	if (signal.aborted) return { is: 'stopped' };
	const { kind, body } = answer;
	if (kind !== 'ok') return failed(failWith(answer, { agentId, baseUrl: service.baseUrl }));
	return done((isJsonObject(body) ? body : { result: body }) as IDataObject);
}
