import type { IDisplayOptions, INodeProperties, NodeParameterValue } from 'n8n-workflow';

const NOTHING_MAPPED = { mappingMode: 'defineBelow', value: null };

/**
 * What the editor stores of a mapper without fields, as soon as the node is opened. As the default, it changes
 * nothing. Otherwise, n8n would mark the node's output as stale.
 */
const NO_FIELDS = {
	...NOTHING_MAPPED,
	value: {},
	matchingColumns: [],
	schema: [],
	attemptToConvertTypes: false,
	convertFieldsToString: false,
};

/**
 * What the editor stores if no field is filled in: an empty object. n8n compares it by value, but the type
 * allows no plain object.
 */
const NO_VALUES: NodeParameterValue = Object.create(null);

export const displayOptions = { show: { resource: ['run'], operation: ['create'] } };

/**
 * A condition to hide, not to show: n8n 1.85 does not know `'@tool'`, and would never show a field on
 * `'@tool': [false]`.
 */
export const notInTools: IDisplayOptions = { hide: { '@tool': [true] } };

/** Before an agent is chosen, there are no parameters. */
const onceAgentIsChosen = { ...displayOptions, hide: { agentId: [''] } };

function whenSpecified(...how: string[]) {
	return { show: { ...displayOptions.show, specifyParameters: how } };
}

/**
 * Keeps what was entered in one way while another way is chosen, and tells the user so. The editor drops the
 * value of a parameter that is no longer shown, unless a notice of the same name is shown. n8n drops a value
 * that no property holds, hence the hidden one, which does not depend on the value. The leading `/` in a
 * condition keeps n8n 1 from reporting a cyclic dependency.
 */
function kept(
	name: string,
	whenEmpty: INodeProperties['default'],
	notice: string,
	others: string[],
	hasValue: IDisplayOptions,
): INodeProperties[] {
	const { show } = whenSpecified(...others);
	const property = { displayName: notice, name, default: whenEmpty };
	return [
		// Not in tools: a model is asked for every `$fromAI` that is stored, also for values that are not sent.
		{ ...property, type: 'hidden', displayOptions: { show, ...notInTools } },
		{
			...property,
			type: 'notice',
			displayOptions: {
				show: { ...show, ...hasValue.show },
				hide: { ...notInTools.hide, ...hasValue.hide },
			},
		},
	];
}

/** The fields of the agent's parameters. */
function fieldsOfAgent(
	mapping: { supportAutoMap: boolean },
	{ show, hide }: IDisplayOptions,
): INodeProperties {
	return {
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
				valuesLabel: 'Parameter Values',
				addAllFields: true,
				hideNoDataError: true,
				...mapping,
			},
		},
		displayOptions: {
			show: { ...whenSpecified('fields').show, ...show },
			hide: { ...onceAgentIsChosen.hide, ...hide },
		},
	};
}

/** Three ways of giving values to the agent's parameters. */
export const parameterFields: INodeProperties[] = [
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
		displayOptions,
	},
	fieldsOfAgent({ supportAutoMap: true }, notInTools),
	// A tool gets no input item that could be mapped.
	fieldsOfAgent({ supportAutoMap: false }, { show: { '@tool': [true] } }),
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
		description:
			'An object of names and values, or an array of objects with name and value. For the value of an expression, write {{ JSON.stringify(…) }} without quotation marks around it.',
		displayOptions: whenSpecified('json'),
	},
	{
		// Names and descriptions, which the editor shows as this mapper's notice.
		displayName: 'About the Parameters',
		name: 'aboutParameters',
		type: 'resourceMapper',
		noDataExpression: true,
		default: NO_FIELDS,
		typeOptions: {
			loadOptionsDependsOn: ['agentId.value'],
			resourceMapper: {
				resourceMapperMethod: 'describeParameters',
				mode: 'add',
				fieldWords: { singular: 'parameter', plural: 'parameters' },
				supportAutoMap: false,
			},
		},
		displayOptions: onceAgentIsChosen,
	},
	...kept(
		'parameters',
		NOTHING_MAPPED,
		"What is entered under 'Using Fields Below' is kept, but not sent.",
		['keypair', 'json'],
		{
			show: { '/parameters.value': [{ _cnd: { exists: true } }] },
			hide: { '/parameters.value': [{ _cnd: { eq: NO_VALUES } }] },
		},
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
];
