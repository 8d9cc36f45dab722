import type { INodeProperties } from 'n8n-workflow';

import { succeed } from '../../result';
import { fixedAt } from '../../items/concurrency';
import { failed, type Item, type ItemThatIs } from '../../item';
import { resultOf } from '../../waiting/output';
import { beginWait } from '../../waiting/wait';
import { getRun } from '../../service/endpoints';
import { read } from '../../service/read';
import { agentField } from '../agentField';
import { findAgent, readAgent } from '../findAgent';
import { readRunId } from '../ids';
import type { ItemWork, Operation } from '../../items/operation';
import { goOnFrom } from './startRun';
import { waitForCompletion, waitOptionFields } from './waitOptionFields';
import { readWaitPlan } from './waitPlan';

/** As many as there may be: the rate limiter paces the requests, and a wait costs next to nothing. */
const CONCURRENCY = 1_000;

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
	{ ...waitForCompletion, default: false, displayOptions },
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
export const get: Operation = {
	concurrency: () => succeed(fixedAt(CONCURRENCY)),
	runs: 'gets',
	begin,
};

async function begin(item: ItemThatIs<'notBegun'>, work: ItemWork): Promise<Item> {
	const { context, itemIndex, service, parking, signal } = work;
	const plan = await readWaitPlan(work, false);
	if (!plan.ok) return failed(item, plan.failure);
	const { waits, options } = plan.value;
	const earlier = waits ? goOnFrom(item, work, plan.value) : undefined;
	if (earlier) return earlier;
	const agent = readAgent(context.getNodeParameter('agentId', itemIndex, ''));
	if (!agent.ok) return failed(item, agent.failure);
	const id = readRunId(context.getNodeParameter('runId', itemIndex, ''));
	if (!id.ok) return failed(item, id.failure);
	const found = await findAgent(agent.value, work);
	if (signal.aborted) return item;
	if (!found.ok) return failed(item, found.failure);

	const run = { baseUrl: service.baseUrl, agentId: found.value, runId: id.value };
	if (waits) return beginWait(item, run, plan.value, parking);
	const seen = await read(service, getRun(run.agentId, run.runId), run, { signal });
	if (signal.aborted) return item;
	return seen.ok ? resultOf(item, seen.value, run, options) : failed(item, seen.failure);
}
