import type { IDataObject, IExecuteFunctions, INodeProperties } from 'n8n-workflow';

import { readBoolean, readNumber, readOptions } from '../../readValue';
import { AUTOMATIC, fixedAt, type Concurrency } from '../../items/concurrency';
import { done, type Item, type ItemThatIs } from '../../item';
import { dryRun } from '../../service/endpoints';
import { read } from '../../service/read';
import { READ_PATIENCE_MS } from '../../service/retryPolicy';
import { isJsonObject, type ParameterBinding } from '../../service/types';
import { agentField } from '../agentField';
import { findAgent, readAgent, type GivenAgent } from '../findAgent';
import type { ItemWork, Operation } from '../../items/operation';
import { notInTools, parameterFields } from './parameterFields';
import { readBindings } from './parameters';
import { goOnFrom, startRun } from './startRun';
import { waitForCompletion, waitOptionFields, whileWaiting } from './waitOptionFields';
import { readWaitPlan } from './waitPlan';

/** The range of 'Max Concurrency'. 0 is automatic. */
const CONCURRENCY_RANGE = { minValue: 0, maxValue: 1_000 };

const displayOptions = { show: { resource: ['run'], operation: ['create'] } };

const createOptionFields: INodeProperties[] = [
	...waitOptionFields.map((field) => ({ ...field, ...whileWaiting })),
	{
		displayName: 'Max Concurrency',
		name: 'maxConcurrency',
		type: 'number',
		typeOptions: CONCURRENCY_RANGE,
		default: 0,
		description:
			'How many input items are worked on at a time; an expression is evaluated for the first item. 0 is automatic: of many items, ten begin; once one run has succeeded, or all have gone on for 5 seconds, the others begin as fast as the service takes them.',
	},
	{
		displayName: 'Retry Create on Server Error',
		name: 'retryCreateOnServerError',
		type: 'boolean',
		default: false,
		description:
			'Whether to send a create up to four more times after the service answered with a status of 500 or more. Each may have started a run all the same, so there can then be several.',
	},
];

export const createFields: INodeProperties[] = [
	{
		...agentField,
		description: 'The published agent. Each input item starts a run of its own.',
		displayOptions,
	},
	...parameterFields,
	{
		displayName: 'Dry Run',
		name: 'dryRun',
		type: 'boolean',
		default: false,
		description: 'Whether to get the compiled prompt and parameters without running the agent',
		displayOptions: { ...displayOptions, ...notInTools },
	},
	{
		...waitForCompletion,
		displayOptions: { show: { ...displayOptions.show, dryRun: [false] }, ...notInTools },
	},
	{
		...waitForCompletion,
		// Without expressions, the editor offers no button to let the model fill it in.
		noDataExpression: true,
		displayOptions: { show: { ...displayOptions.show, '@tool': [true] } },
	},
	{
		displayName: 'Options',
		name: 'options',
		type: 'collection',
		placeholder: 'Add option',
		default: {},
		options: createOptionFields.sort((a, b) => a.displayName.localeCompare(b.displayName)),
		displayOptions,
	},
];

/** Starts a run for each input item and, unless told otherwise, waits for it. */
export const create: Operation = { concurrency, runs: 'starts', begin };

function concurrency(context: IExecuteFunctions): Concurrency {
	const maxConcurrency = readOptions(context, 0)('maxConcurrency', 0);
	const range = { ...CONCURRENCY_RANGE, whole: true };
	const count = readNumber(maxConcurrency, 'Max Concurrency', range);
	return count === 0 ? AUTOMATIC : fixedAt(count);
}

async function begin(item: ItemThatIs<'notBegun'>, work: ItemWork): Promise<Item> {
	const { context, itemIndex } = work;
	const plan = await readWaitPlan(work, true);
	const earlier = goOnFrom(item, work, plan);
	if (earlier) return earlier;
	const agent = readAgent(context.getNodeParameter('agentId', itemIndex, ''));
	const bindings = readBindings(context, itemIndex);
	const isDry = readBoolean(context.getNodeParameter('dryRun', itemIndex, false), 'Dry Run');
	if (isDry) return await compileOnly(item, agent, bindings, work);
	const retryOnServerError = readBoolean(
		readOptions(context, itemIndex)('retryCreateOnServerError', false),
		'Retry Create on Server Error',
	);
	// The service may be busy for as long as the run would be waited for.
	const waitsMs = plan.waits ? plan.options.timeoutMs || Infinity : 0;
	const patienceMs = Math.max(waitsMs, READ_PATIENCE_MS);
	return await startRun(item, { agent, bindings, retryOnServerError, patienceMs }, work, plan);
}

/** Outputs exactly what the service answered. An answer that is not an object goes under `result`. */
async function compileOnly(
	item: Item,
	given: GivenAgent,
	bindings: ParameterBinding[],
	work: ItemWork,
): Promise<Item> {
	const { service, signal } = work;
	const agentId = await findAgent(given, work);
	const request = dryRun(agentId, bindings);
	const compiled = await read(service, request, { agentId, bindings }, { signal });
	return done(item, [(isJsonObject(compiled) ? compiled : { result: compiled }) as IDataObject]);
}
