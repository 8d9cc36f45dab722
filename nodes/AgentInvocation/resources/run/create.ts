import type {
	IDataObject,
	IDisplayOptions,
	IExecuteFunctions,
	INodeExecutionData,
	INodeProperties,
} from 'n8n-workflow';

import { dryRun } from '../../api/endpoints';
import { failureOf, succeed, type Result } from '../../api/failure';
import { readAgentId } from '../../api/ids';
import { READ_PATIENCE_MS } from '../../api/retryPolicy';
import { sendPatiently } from '../../api/sendPatiently';
import { isJsonObject, type ParameterBinding } from '../../api/types';
import { systemClock as clock } from '../../waiting/clock';
import { RunMemory } from '../../waiting/runMemory';
import { agentField } from '../agentField';
import { readNumber } from '../readNumber';
import { workThroughItems, type Work } from '../workThroughItems';
import { readBindings } from './parameters';
import { startRun } from './startRun';
import { waitForItem } from './waitForItem';
import { readWaitOptions, waitOptionFields, whileWaiting } from './waitOptions';

const DEFAULT_CONCURRENCY = 10;
const LARGEST_CONCURRENCY = 1_000;

const NOTHING_MAPPED = { mappingMode: 'defineBelow', value: null };

const displayOptions = { show: { resource: ['run'], operation: ['create'] } };

function whenSpecified(...how: string[]) {
	return { show: { ...displayOptions.show, specifyParameters: how } };
}

/**
 * Keeps what was entered one way while another is chosen, and says so. The editor drops the value of a
 * parameter that is shown no more, unless a notice of the same name is; and n8n one that no property
 * holds, whatever its conditions on its own value. Those begin with a slash: n8n 1 takes them for a circle
 * without one.
 */
function kept(
	name: string,
	whenEmpty: INodeProperties['default'],
	notice: string,
	others: string[],
	hasValue: IDisplayOptions = {},
): INodeProperties[] {
	// A model is asked for every `$fromAI` that a tool has stored, so a tool keeps none that is not sent.
	const show = { ...whenSpecified(...others).show, '@tool': [false] };
	const property = { displayName: notice, name, default: whenEmpty };
	return [
		{ ...property, type: 'hidden', displayOptions: { show } },
		{
			...property,
			type: 'notice',
			displayOptions: { ...hasValue, show: { ...show, ...hasValue.show } },
		},
	];
}

export const createFields: INodeProperties[] = [
	{ ...agentField, displayOptions },
	{
		displayName: 'Specify Parameters',
		name: 'specifyParameters',
		type: 'options',
		options: [
			{
				name: 'Using Fields Below',
				value: 'fields',
				description: "A field for each of the agent's parameters",
			},
			{
				name: 'Using Name-Value Pairs',
				value: 'keypair',
				description: 'Names and values that you enter',
			},
			{
				name: 'Using JSON',
				value: 'json',
				description: 'An object, or an array of names and values',
			},
		],
		default: 'fields',
		description: "How to give values to the agent's parameters",
		displayOptions,
	},
	{
		displayName: 'Parameters',
		name: 'parameters',
		type: 'resourceMapper',
		noDataExpression: true,
		default: NOTHING_MAPPED,
		typeOptions: {
			loadOptionsDependsOn: ['agentId.value'],
			resourceMapper: {
				resourceMapperMethod: 'getAgentParameters',
				mode: 'add',
				fieldWords: { singular: 'parameter', plural: 'parameters' },
				addAllFields: true,
				supportAutoMap: true,
				hideNoDataError: true,
			},
		},
		// There are none before an agent is chosen.
		displayOptions: { ...whenSpecified('fields'), hide: { agentId: [''] } },
	},
	{
		displayName: 'Parameters',
		name: 'parameterPairs',
		type: 'fixedCollection',
		typeOptions: { multipleValues: true },
		placeholder: 'Add Parameter',
		default: {},
		options: [
			{
				displayName: 'Parameter',
				name: 'values',
				values: [
					{
						displayName: 'Name',
						name: 'name',
						type: 'string',
						default: '',
						description: "The parameter's name, as the agent has it",
					},
					{
						displayName: 'Value',
						name: 'value',
						type: 'string',
						default: '',
						description: 'Left out when empty',
					},
				],
			},
		],
		displayOptions: whenSpecified('keypair'),
	},
	{
		displayName: 'Parameters (JSON)',
		name: 'parametersJson',
		type: 'json',
		default: '{}',
		description: 'An object of names and values, or an array of objects with name and value',
		displayOptions: whenSpecified('json'),
	},
	...kept(
		'parameters',
		NOTHING_MAPPED,
		"The names are the agent's own, as 'Using Fields Below' shows them. What is entered there is kept, but not sent.",
		['keypair', 'json'],
	),
	...kept(
		'parameterPairs',
		{},
		"What is entered under 'Using Name-Value Pairs' is kept, but not sent.",
		['fields', 'json'],
		{ show: { '/parameterPairs.values': [{ _cnd: { exists: true } }] } },
	),
	...kept(
		'parametersJson',
		'{}',
		"What is entered under 'Using JSON' is kept, but not sent.",
		['fields', 'keypair'],
		{
			show: { '/parametersJson': [{ _cnd: { exists: true } }] },
			hide: { '/parametersJson': ['{}'] },
		},
	),
	{
		displayName: 'Dry Run',
		name: 'dryRun',
		type: 'boolean',
		default: false,
		description: 'Whether to get the compiled prompt and parameters without running the agent',
		displayOptions,
	},
	{
		displayName: 'Wait for Completion',
		name: 'waitForCompletion',
		type: 'boolean',
		default: true,
		description: 'Whether to wait until the run has finished and output its result',
		displayOptions: { show: { ...displayOptions.show, dryRun: [false] } },
	},
	{
		displayName: 'Options',
		name: 'options',
		type: 'collection',
		placeholder: 'Add option',
		default: {},
		options: [
			...waitOptionFields.map((field) => ({ ...field, ...whileWaiting })),
			{
				displayName: 'Max Concurrency',
				name: 'maxConcurrency',
				type: 'number',
				typeOptions: { minValue: 1, maxValue: LARGEST_CONCURRENCY },
				default: DEFAULT_CONCURRENCY,
				description: 'How many input items are worked on at a time',
			},
			{
				displayName: 'Retry Create on Server Error',
				name: 'retryCreateOnServerError',
				type: 'boolean',
				default: false,
				description:
					'Whether to send a create again after the service answered with a status of 500 or more. The first one may have started a run all the same, so a run can then be started twice.',
			},
		],
		displayOptions,
	},
];

/** Starts a run for each input item and, unless told otherwise, waits for it. */
export async function create(this: IExecuteFunctions): Promise<INodeExecutionData[]> {
	const memory = new RunMemory(this);
	const concurrency = readConcurrency(this);
	const { items, isParked } = await workThroughItems(this, concurrency, async (itemIndex, work) => {
		const json = await createForItem(this, itemIndex, memory, work);
		return json?.ok ? succeed([json.value]) : json;
	});
	// With Retry On Fail, n8n takes an output that begins with `error` for a failed try.
	if (!isParked && !items.some(({ json }) => 'error' in json)) memory.clear();
	return items;
}

function readConcurrency(context: IExecuteFunctions): Result<number> {
	const { maxConcurrency } = context.getNodeParameter('options', 0, {}) as IDataObject;
	return readNumber(maxConcurrency ?? DEFAULT_CONCURRENCY, 'Max Concurrency', {
		min: 1,
		max: LARGEST_CONCURRENCY,
		whole: true,
	});
}

async function createForItem(
	context: IExecuteFunctions,
	itemIndex: number,
	memory: RunMemory,
	work: Work,
): Promise<Result<IDataObject> | undefined> {
	const agent = readAgentId(
		context.getNodeParameter('agentId', itemIndex, '', { extractValue: true }),
	);
	if (!agent.ok) return agent;
	const bindings = readBindings(context, itemIndex);
	if (!bindings.ok) return bindings;
	const options = readWaitOptions(context, itemIndex);
	if (!options.ok) return options;
	if (context.getNodeParameter('dryRun', itemIndex, false)) {
		return await compileOnly(agent.value, bindings.value, work);
	}

	const { timeoutMs, pollIntervalMs, onUnsuccessfulRun } = options.value;
	const agentId = agent.value;
	const waits = context.getNodeParameter('waitForCompletion', itemIndex, true) === true;
	const { retryCreateOnServerError } = context.getNodeParameter(
		'options',
		itemIndex,
		{},
	) as IDataObject;
	const run = await startRun(
		{
			itemIndex,
			agentId,
			bindings: bindings.value,
			retryOnServerError: retryCreateOnServerError === true,
			waits,
			acceptsUnsuccessful: onUnsuccessfulRun === 'output',
		},
		memory,
		work,
		{
			clock,
			deadline: clock.now() + (waits ? timeoutMs || Infinity : READ_PATIENCE_MS),
			signal: work.halt,
		},
	);
	if (!run?.ok) return run;
	if (!waits) return succeed({ agent_id: agentId, ...run.value });

	const wait = {
		agentId,
		runId: run.value.run_id,
		lastSeen: run.value,
		startedAt: clock.now(),
		timeoutMs,
		pollIntervalMs,
	};
	return await waitForItem(itemIndex, wait, options.value, work);
}

/** Gives exactly what the service answered; what is no object goes under `result`. */
async function compileOnly(
	agentId: number,
	bindings: ParameterBinding[],
	{ service, halt }: Work,
): Promise<Result<IDataObject> | undefined> {
	const answer = await sendPatiently(service, dryRun(agentId, bindings), 'read', {
		clock,
		deadline: clock.now() + READ_PATIENCE_MS,
		signal: halt,
	});
	if (halt.aborted) return undefined;
	if (answer.kind !== 'ok') {
		return { ok: false, failure: failureOf(answer, { agentId, baseUrl: service.baseUrl }) };
	}
	return succeed(
		(isJsonObject(answer.body) ? answer.body : { result: answer.body }) as IDataObject,
	);
}
