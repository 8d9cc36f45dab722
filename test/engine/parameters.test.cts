import type { INodeParameters } from 'n8n-workflow';

import { byId, createRun, creates, run, useSandbox } from '../support/sandboxed.cts';

const sandbox = useSandbox();
const notWaiting = { waitForCompletion: false };

/** The body of the one create that was sent. */
const sentBindings = () =>
	(creates(sandbox.current)[0]!.body as { parameter_bindings: unknown }).parameter_bindings;

const schema = [
	{
		id: 'region',
		displayName: 'region',
		required: true,
		defaultMatch: false,
		display: true,
		type: 'string',
	},
	{
		id: 'quarter',
		displayName: 'quarter',
		required: false,
		defaultMatch: false,
		display: true,
		type: 'string',
	},
];

function fields(mappingMode: string, value: unknown): INodeParameters {
	return {
		resource: 'run',
		operation: 'create',
		agentId: byId(2),
		specifyParameters: 'fields',
		parameters: { mappingMode, value, matchingColumns: [], schema } as unknown as INodeParameters,
		...notWaiting,
	};
}

test('fields become bindings, empty ones left out', async () => {
	await run(sandbox.current, fields('defineBelow', { region: '={{ $json.r }}', quarter: '' }), {
		items: [{ r: 'north' }],
	});
	expect(sentBindings()).toEqual([{ name: 'region', value: 'north' }]);
});

test.each(['={{ $json.nothing }}', '={{ null }}', '={{ "" }}'])(
	'JSON of an expression that gives nothing is empty: %s',
	async (json) => {
		const { error } = await run(sandbox.current, createRun(2, json));
		expect(error?.message).toBe("'Parameters (JSON)' is empty");
	},
);

// What n8n's editor makes of these is 'There is no node …' and the like.
test.each([
	["={{ $('Nowhere').item.json.x }}", { nodeCause: 'Nowhere', descriptionKey: 'nodeNotFound' }],
	['={{ $json.a.toNumber() }}', { parameter: 'parametersJson' }],
])('an expression that cannot be evaluated is explained by n8n: %s', async (json, explained) => {
	const { error } = await run(sandbox.current, createRun(2, json), { items: [{ a: 'x' }] });
	expect(error?.context).toMatchObject(explained);
});

test('automatic mapping takes the fields of the input item that the agent has', async () => {
	await run(sandbox.current, fields('autoMapInputData', null), {
		items: [{ region: 'west', quarter: 'Q1', other: 'thing' }],
	});
	expect(sentBindings()).toEqual([
		{ name: 'region', value: 'west' },
		{ name: 'quarter', value: 'Q1' },
	]);
});

test.each([
	['defineBelow', { region: '={{ $json.nothing }}', quarter: 'Q1' }],
	['defineBelow', { region: '' }],
	// The list says which fields there are.
	['autoMapInputData', null],
])(
	'a required field without a value is refused before any other request (%s)',
	async (mode, value) => {
		const { error } = await run(sandbox.current, fields(mode, value), {
			items: [{ quarter: 'Q1' }],
		});
		expect(error!.message).toContain("'region'");
		const isMapped = mode === 'autoMapInputData';
		const { requests } = sandbox.current;
		expect(requests.filter(({ url }) => !isMapped || !url.includes('/agents?'))).toEqual([]);
	},
);

test.each([
	['the fields', (date: string) => fields('defineBelow', { region: date })],
	[
		'name-value pairs',
		(date: string) => ({
			...createRun(2),
			specifyParameters: 'keypair',
			parameterPairs: { values: [{ name: 'region', value: date }] },
			...notWaiting,
		}),
	],
	['JSON', (date: string) => createRun(2, `={{ { region: ${date.slice(3, -2)} } }}`, notWaiting)],
])("a date is text, n8n's or JavaScript's, in %s", async (_, nodeWith) => {
	await run(sandbox.current, nodeWith("={{ DateTime.fromISO('2026-01-02T03:04:05Z').toUTC() }}"));
	await run(sandbox.current, nodeWith("={{ new Date('2026-01-02T03:04:05Z') }}"));
	const body = { parameter_bindings: [{ name: 'region', value: '2026-01-02T03:04:05.000Z' }] };
	expect(creates(sandbox.current).map((create) => create.body)).toEqual([body, body]);
});

test('name-value pairs become bindings', async () => {
	await run(sandbox.current, {
		...createRun(2),
		specifyParameters: 'keypair',
		parameterPairs: {
			values: [
				{ name: 'region', value: 'south' },
				{ name: 'quarter', value: '' },
				{ name: '', value: '' },
			],
		},
		...notWaiting,
	});
	expect(sentBindings()).toEqual([{ name: 'region', value: 'south' }]);
});

test.each([
	['an object as text', '{ "seconds": 2.5, "text": "a \\"b\\": c", "status": null }'],
	[
		'an array of names and values',
		'[{"name":"seconds","value":2.5},{"name":"text","value":"a \\"b\\": c"}]',
	],
	['an object from an expression', '={{ { seconds: 2.5, text: "a \\"b\\": c", status: "" } }}'],
])('JSON: %s', async (_name, json) => {
	await run(sandbox.current, createRun(3, json, notWaiting));
	expect(sentBindings()).toEqual([
		{ name: 'seconds', value: '2.5' },
		{ name: 'text', value: 'a "b": c' },
	]);
});

test('numbers and booleans go out as text', async () => {
	await run(sandbox.current, createRun(3, { seconds: 0, text: false }, notWaiting));
	expect(sentBindings()).toEqual([
		{ name: 'seconds', value: '0' },
		{ name: 'text', value: 'false' },
	]);
});

test.each([createRun(1, '{}', notWaiting), fields('defineBelow', null)])(
	'no parameters: the body says so, since it is required (%#)',
	async (parameters) => {
		await run(sandbox.current, { ...parameters, agentId: byId(1), parameters: {} });
		expect(creates(sandbox.current)[0]!.body).toEqual({ parameter_bindings: null });
	},
);

test.each([
	['no JSON', '{ region: north }', 'not valid JSON'],
	['nothing', '', 'is empty'],
	['a number', '42', 'neither an object nor an array'],
	['an array of other things', '["north"]', 'without a name and a value: "north"'],
	[
		'an array with a name missing',
		'[{"name":"region","value":"x"},{"value":"y"}]',
		'without a name and a value: {"value":"y"}',
	],
	['a nested object', '{"text":{"a":1}}', "parameter 'text' is an object"],
	['a nested array', '{"text":["a"]}', "parameter 'text' is an array"],
	[
		'a name twice in an array',
		'[{"name":"text","value":"a"},{"name":"text","value":"b"}]',
		"'text' is given more than once",
	],
	[
		'a name twice in an object',
		'{"text":"a","seconds":1,"text":"b: \\"text\\": c"}',
		"'text' is given more than once",
	],
])('JSON with %s is refused before any request', async (_name, json, message) => {
	const { error } = await run(sandbox.current, createRun(3, json, notWaiting));
	expect(error!.message).toContain(message);
	expect(error!.description.length).toBeGreaterThan(20);
	expect(sandbox.current.requests).toEqual([]);
});

test.each([
	[
		'a name twice',
		[
			{ name: 'a', value: '1' },
			{ name: 'a', value: '2' },
		],
		"'a' is given more than once",
	],
	['a value without a name', [{ name: ' ', value: '1' }], 'name under'],
	['an object as value', [{ name: 'a', value: '={{ { x: 1 } }}' }], "parameter 'a' is an object"],
])('pairs with %s are refused before any request', async (_name, values, message) => {
	const { error } = await run(sandbox.current, {
		...createRun(3),
		specifyParameters: 'keypair',
		parameterPairs: { values },
	});
	expect(error!.message).toContain(message);
	expect(sandbox.current.requests).toEqual([]);
});

test.each(['reject', 'accept'] as const)(
	'whether a required parameter may be missing is for the service to say: %s',
	async (missingRequired) => {
		sandbox.with({ missingRequired });
		const { error } = await run(sandbox.current, createRun(2, {}, notWaiting));
		if (missingRequired === 'accept') expect(error).toBeUndefined();
		else {
			expect(error!.message).toBe("Parameter 'region' is required");
			expect(error!.description).toContain('missing_parameter');
		}
	},
);
