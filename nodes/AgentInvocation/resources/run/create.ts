import type { EngineResponse, IDataObject, IExecuteFunctions, NodeOutput } from 'n8n-workflow';

import { systemClock as clock } from '../../clock';
import { readNumber } from '../../readNumber';
import type { Result } from '../../result';
import { done, failed, type Step } from '../../runs/loop';
import { startRun } from '../../runs/startRun';
import type { WaitOptions } from '../../runs/waitOptions';
import { dryRun } from '../../service/endpoints';
import { failWith } from '../../service/explainAnswer';
import { READ_PATIENCE_MS } from '../../service/retryPolicy';
import { sendWithRetry } from '../../service/sendWithRetry';
import { isFinished, isJsonObject, isRun, type ParameterBinding } from '../../service/types';
import { readAgentId } from '../ids';
import type { ItemWork } from '../operation';
import { processItems } from '../processItems';
import { DEFAULT_CONCURRENCY, LARGEST_CONCURRENCY } from './createFields';
import { readItemOptions, waitFor, waitsOf } from './itemWait';
import { readBindings } from './parameters';

/** Starts a run for each input item and, unless told otherwise, waits for it. */
export async function create(
	this: IExecuteFunctions,
	response?: EngineResponse,
): Promise<NodeOutput> {
	const begin = (itemIndex: number, work: ItemWork) => beginItem(this, itemIndex, work);
	return await processItems(this, response, {
		concurrency: () => readConcurrency(this),
		startsRuns: true,
		begin,
		waits: waitsOf(this, begin),
	});
}

function readConcurrency(context: IExecuteFunctions): Result<number> {
	const { maxConcurrency } = context.getNodeParameter('options', 0, {}) as IDataObject;
	return readNumber(maxConcurrency ?? DEFAULT_CONCURRENCY, 'Max Concurrency', {
		min: 1,
		max: LARGEST_CONCURRENCY,
		whole: true,
	});
}

async function beginItem(
	context: IExecuteFunctions,
	itemIndex: number,
	work: ItemWork,
): Promise<Step> {
	const agent = readAgentId(
		context.getNodeParameter('agentId', itemIndex, '', { extractValue: true }),
	);
	if (!agent.ok) return failed(agent);
	const bindings = readBindings(context, itemIndex);
	if (!bindings.ok) return failed(bindings);
	const options = readItemOptions(context, itemIndex);
	if (!options.ok) return failed(options);
	if (context.getNodeParameter('dryRun', itemIndex, false)) {
		return await compileOnly(agent.value, bindings.value, work);
	}
	const { retryCreateOnServerError } = context.getNodeParameter(
		'options',
		itemIndex,
		{},
	) as IDataObject;
	const start = {
		itemIndex,
		agentId: agent.value,
		bindings: bindings.value,
		retryOnServerError: retryCreateOnServerError === true,
	};
	const waits = context.getNodeParameter('waitForCompletion', itemIndex, true) === true;
	return await startItem(start, waits, options.value, work);
}

async function startItem(
	start: Parameters<typeof startRun>[0],
	waits: boolean,
	options: WaitOptions,
	work: ItemWork,
): Promise<Step> {
	const { memory, service, signal } = work;
	const patienceMs = waits ? options.timeoutMs || Infinity : READ_PATIENCE_MS;
	const patience = { clock, deadline: clock.now() + patienceMs, signal };
	const started = await startRun(start, memory, service, patience);
	switch (started.is) {
		case 'done': {
			// An earlier attempt did not wait for it, or gave it as it was at its time limit.
			const [output] = started.outputs;
			const isUnfinished = isRun(output) && !isFinished(output);
			if (!waits || !started.run || !isUnfinished) return started;
			return waitFor(started.run, options, work, {
				lastSeen: output,
				isDueNow: true,
				isEarlier: true,
			});
		}
		case 'started': {
			const { run, answer } = started;
			if (!waits) return done({ agent_id: run.agentId, ...answer } as IDataObject);
			// A create may answer with a finished run, but not with its output.
			return waitFor(run, options, work, { lastSeen: answer, isDueNow: isFinished(answer) });
		}
		case 'known': {
			const { agentId, runId } = started.run;
			const lastSeen = { run_id: runId, status: 'pending' };
			if (!waits) return done({ agent_id: agentId, ...lastSeen });
			return waitFor(started.run, options, work, { lastSeen, isDueNow: true, isEarlier: true });
		}
		default:
			return started;
	}
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
	if (kind !== 'ok') {
		return failed(failWith(answer, { agentId, baseUrl: service.baseUrl }));
	}
	return done((isJsonObject(body) ? body : { result: body }) as IDataObject);
}
