import type {
	IDataObject,
	IExecuteFunctions,
	INodeExecutionData,
	INodeProperties,
} from 'n8n-workflow';

import { getRun } from '../../api/endpoints';
import { failureOf, succeed, type Result } from '../../api/failure';
import { readAgentId, readRunId } from '../../api/ids';
import { READ_PATIENCE_MS } from '../../api/retryPolicy';
import { sendPatiently } from '../../api/sendPatiently';
import { systemClock as clock } from '../../waiting/clock';
import { agentField } from '../agentField';
import { workThroughItems, type Work } from '../workThroughItems';
import { endOfRun } from './runEnd';
import { waitForItem } from './waitForItem';
import { readWaitOptions, waitOptionFields } from './waitOptions';

const CONCURRENCY = 10;
/** Waits are parked once every item waits, so as many as there may be do. */
const CONCURRENT_WAITS = 1_000;

const displayOptions = { show: { resource: ['run'], operation: ['get'] } };

export const getFields: INodeProperties[] = [
	{ ...agentField, description: 'The agent that the run was created with', displayOptions },
	{
		displayName: 'Run ID',
		name: 'runId',
		type: 'string',
		default: '',
		required: true,
		placeholder: 'e.g. 123e4567-e89b-12d3-a456-426614174000',
		description: "The run_id in the output of 'Create a run'",
		displayOptions,
	},
	{
		displayName: 'Wait for Completion',
		name: 'waitForCompletion',
		type: 'boolean',
		default: false,
		description: 'Whether to wait until the run has finished and output its result',
		displayOptions,
	},
	{
		displayName: 'Options',
		name: 'options',
		type: 'collection',
		placeholder: 'Add option',
		default: {},
		options: waitOptionFields,
		displayOptions,
	},
];

/** Gets the run of each input item as it is now, or as it is once it has finished. */
export async function get(this: IExecuteFunctions): Promise<INodeExecutionData[]> {
	const waits = this.getNodeParameter('waitForCompletion', 0, false) === true;
	const concurrency = succeed(waits ? CONCURRENT_WAITS : CONCURRENCY);
	const { items } = await workThroughItems(this, concurrency, async (itemIndex, work) => {
		const json = await getForItem(this, itemIndex, work);
		return json?.ok ? succeed([json.value]) : json;
	});
	return items;
}

async function getForItem(
	context: IExecuteFunctions,
	itemIndex: number,
	work: Work,
): Promise<Result<IDataObject> | undefined> {
	const agent = readAgentId(
		context.getNodeParameter('agentId', itemIndex, '', { extractValue: true }),
	);
	if (!agent.ok) return agent;
	const run = readRunId(context.getNodeParameter('runId', itemIndex, ''));
	if (!run.ok) return run;
	const options = readWaitOptions(context, itemIndex);
	if (!options.ok) return options;

	const subject = { agentId: agent.value, runId: run.value };
	if (context.getNodeParameter('waitForCompletion', itemIndex, false) === true) {
		work.noteRun({ itemIndex, ...subject });
		const { timeoutMs, pollIntervalMs } = options.value;
		const wait = { ...subject, startedAt: clock.now(), timeoutMs, pollIntervalMs };
		return await waitForItem(itemIndex, wait, options.value, work);
	}

	const { service, halt } = work;
	const answer = await sendPatiently(service, getRun(subject.agentId, subject.runId), 'read', {
		clock,
		deadline: clock.now() + READ_PATIENCE_MS,
		signal: halt,
	});
	if (halt.aborted) return undefined;
	if (answer.kind !== 'ok' || !answer.body) {
		return { ok: false, failure: failureOf(answer, { ...subject, baseUrl: service.baseUrl }) };
	}
	return endOfRun(answer.body, subject, options.value);
}
