import type { INodeProperties } from 'n8n-workflow';

import { fixedAt } from '../../items/concurrency';
import type { Item, NotBegun } from '../../item';
import { resultOf } from '../../waiting/output';
import { beginWait } from '../../waiting/wait';
import { readParameter } from '../../readValue';
import { getRun } from '../../service/endpoints';
import { read } from '../../service/read';
import { agentField } from '../agentField';
import { findAgent, readAgent } from '../findAgent';
import { readRunId } from '../ids';
import type { ItemWork, Operation } from '../../items/operation';
import { continueFrom } from './startRun';
import { waitForCompletion, waitOptionFields } from './waitOptionFields';
import { beginsUntil, readWaitPlan } from '../../items/waitPlan';

/** Enough not to matter: the rate limiter paces the requests, and a wait costs next to nothing. */
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
export const get: Operation = { concurrency: () => fixedAt(CONCURRENCY), runs: 'gets', begin };

async function begin(item: NotBegun, work: ItemWork): Promise<Item> {
	const { context, itemIndex, service, parking, signal } = work;
	const plan = await readWaitPlan(work, false);
	const continued = plan.waits ? continueFrom(item, work, plan) : undefined;
	if (continued) return continued;
	const given = readAgent(readParameter(context, itemIndex, 'agentId', ''));
	const runId = readRunId(readParameter(context, itemIndex, 'runId', ''));
	const agentId = await findAgent(given, work, beginsUntil(plan, work));
	const run = { baseUrl: service.baseUrl, agentId, runId };
	if (plan.waits) return beginWait(item, run, plan, parking);
	const seen = await read(service, getRun(agentId, runId), run, { signal });
	return resultOf({ ...item, run }, seen, plan.options);
}
