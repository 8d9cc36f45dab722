import type { INodeProperties } from 'n8n-workflow';

import { systemClock as clock } from '../../clock';
import { succeed } from '../../result';
import { fixedAt } from '../../items/concurrency';
import { failed, type Step } from '../../itemState';
import { resultOf } from '../../waiting/output';
import { readWaitOptions } from '../../waiting/options';
import { getRun } from '../../service/endpoints';
import { read } from '../../service/read';
import { agentField } from '../agentField';
import { findAgent, readAgent } from '../findAgent';
import { readRunId } from '../ids';
import type { ItemWork, Operation } from '../../items/operation';
import { waitFor } from '../../items/itemWait';
import { goOnFrom } from './startRun';
import { readWaits, waitForCompletion, waitOptionFields } from './waitOptionFields';

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

async function begin(work: ItemWork): Promise<Step> {
	const { context, itemIndex, service, memory, signal } = work;
	const options = readWaitOptions(context, itemIndex);
	if (!options.ok) return failed(options);
	const waits = readWaits(context, itemIndex, false);
	if (!waits.ok) return failed(waits);
	const earlier = waits.value ? goOnFrom(work) : undefined;
	if (earlier) {
		return earlier.is === 'started' ? waitFor(earlier.run, options.value, work, earlier) : earlier;
	}
	const agent = readAgent(context.getNodeParameter('agentId', itemIndex, ''));
	if (!agent.ok) return failed(agent);
	const id = readRunId(context.getNodeParameter('runId', itemIndex, ''));
	if (!id.ok) return failed(id);
	const found = await findAgent(agent.value, work);
	if (signal.aborted) return { is: 'stopped' };
	if (!found.ok) return failed(found);

	const agentId = found.value;
	const runId = id.value;
	if (waits.value) {
		const run = { baseUrl: service.baseUrl, agentId, runId, startedOn: clock.date() };
		memory.note(itemIndex, { is: 'started', fingerprint: '', run });
		return waitFor(run, options.value, work);
	}

	const run = await read(service, getRun(agentId, runId), { agentId, runId }, { signal });
	if (signal.aborted) return { is: 'stopped' };
	return run.ok ? resultOf(run.value, { agentId, runId }, options.value) : failed(run);
}
