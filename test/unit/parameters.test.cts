import { DateTime } from 'luxon';

import { readBindings } from '../../nodes/AgentInvocation/operations/run/parameters.ts';
import { FailureError } from '../../nodes/AgentInvocation/failure.ts';
import type { AgentParameter } from '../../nodes/AgentInvocation/service/types.ts';
import { readJson } from '../../nodes/AgentInvocation/operations/run/parametersJson.ts';
import { contextOf, type Told } from '../support/simulation/world/context.cts';
import { settled } from '../support/outcome.cts';

// What an item's parameters become: bindings of text, or what is wrong and what to do.
const read = (
	parameters: Record<string, unknown>,
	{
		listed,
		hints = new Set(),
		...told
	}: Told & { listed?: () => Promise<AgentParameter[]>; hints?: Set<string> } = {},
) =>
	settled(
		readBindings(
			contextOf({ parameters, ...told }),
			0,
			listed ?? (() => Promise.resolve([])),
			hints,
		),
	);

const bound = (values: Record<string, string>) => ({
	ok: true,
	value: Object.entries(values).map(([name, value]) => ({ name, value })),
});

async function expectRefusal(
	result: Promise<unknown>,
	message: string,
	remedy: RegExp,
): Promise<void> {
	expect(await result).toEqual({
		ok: false,
		failure: expect.objectContaining({
			message,
			description: expect.stringMatching(remedy) as string,
			details: {},
		}) as object,
	});
}

test('the node, which n8n copies each time, is read as often for many fields as for few', async () => {
	const timesRead = async (count: number) => {
		const names = Array.from({ length: count }, (_, number) => `field ${number}`);
		const value = Object.fromEntries(names.map((name) => [name, '={{ $json.x }}']));
		const context = contextOf({
			parameters: { parameters: { mappingMode: 'defineBelow', value, schema: [] } },
		});
		const getNode = jest.spyOn(context, 'getNode');
		await readBindings(context, 0, () => Promise.resolve([]), new Set());
		return getNode.mock.calls.length;
	};
	expect(await timesRead(200)).toBe(await timesRead(2));
});

describe('values of any kind', () => {
	test('become text, and empty ones are left out', async () => {
		const values = {
			text: ' a ',
			number: 0,
			big: 2n ** 64n,
			truth: false,
			date: new Date(0),
			none: null,
			empty: '',
		};
		expect(await read({ specifyParameters: 'json', parametersJson: values })).toEqual(
			bound({
				text: ' a ',
				number: '0',
				big: '18446744073709551616',
				truth: 'false',
				date: '1970-01-01T00:00:00.000Z',
			}),
		);
	});

	test.each([NaN, Infinity])('but %p is no number that could be sent', async (value) => {
		await expectRefusal(
			read({ specifyParameters: 'json', parametersJson: { city: value } }),
			"The value of parameter 'city' is not a number",
			/^The expression could not read it/,
		);
	});

	test.each([
		[[], 'an array'],
		[{}, 'an object'],
		['[object Object] ', 'an object'],
	])('but %j is refused', async (value, kind) => {
		await expectRefusal(
			read({ specifyParameters: 'json', parametersJson: { a: 1, city: value } }),
			`The value of parameter 'city' is ${kind}`,
			/^The service takes text\. .*JSON\.stringify/,
		);
	});
});

test.each([
	[new Date('2026-01-02T03:04:05Z'), '2026-01-02T03:04:05.000Z'],
	[DateTime.fromISO('2026-01-02T03:04:05', { zone: 'utc' }), '2026-01-02T03:04:05.000Z'],
])('a date of an input item is sent in ISO format: %s', async (value, day) => {
	expect(await read({ specifyParameters: 'json', parametersJson: { day: value } })).toEqual(
		bound({ day }),
	);
});

test.each([{}, { toJSON: () => ({}) }])('what only says that it is a date is an object', (toJson) =>
	expectRefusal(
		read({
			specifyParameters: 'json',
			parametersJson: { day: { isLuxonDateTime: true, ...toJson } },
		}),
		"The value of parameter 'day' is an object",
		/^The service takes text/,
	),
);

test.each([
	['Invalid DateTime'],
	['Invalid DateTime\n'],
	['Invalid Date'],
	[new Date(NaN)],
	[DateTime.fromISO('soon')],
])('a date that is none is refused: %s', async (value) => {
	await expectRefusal(
		read({ specifyParameters: 'json', parametersJson: { day: value } }),
		"The value of parameter 'day' is not a valid date",
		/^The expression could not read it/,
	);
});

describe('JSON as text', () => {
	const json = (parametersJson: unknown) => read({ specifyParameters: 'json', parametersJson });

	test('keeps each number as it is written, and what is in a text as it is', async () => {
		const text = String.raw`{ "id": 12345678901234567890, "price": 1.10, "huge": -1e999, "text": "a \"7\" 1.10", "yes": true }`;
		expect(await json(text)).toEqual(
			bound({
				id: '12345678901234567890',
				price: '1.10',
				huge: '-1e999',
				text: 'a "7" 1.10',
				yes: 'true',
			}),
		);
		expect(await json('[{ "name": 7, "value": 1.50 }]')).toEqual(bound({ 7: '1.50' }));
	});

	test.each([new Date(), new Map([['city', 'Paris']])])(
		'of %s, which has no fields, is refused',
		async (value) => {
			await expectRefusal(
				json(value),
				"'Parameters (JSON)' is neither an object nor an array",
				/^Enter an object/,
			);
		},
	);
});

describe('fields', () => {
	const column = (id: string, more = {}) => ({ id, displayName: id, required: false, ...more });
	const fields = (value: unknown, schema?: unknown, mappingMode = 'defineBelow') => ({
		parameters: { mappingMode, value, schema },
	});

	test('are read where nothing else is chosen', async () => {
		expect(await read(fields({ city: 'Paris', empty: '' }))).toEqual(bound({ city: 'Paris' }));
		expect(await read({})).toEqual(bound({}));
	});

	test.each([
		'odd',
		[],
		{ city: 'Paris' },
		{ mappingMode: 'defineBelow', value: '{ "city": "Paris" }' },
		{ mappingMode: 'defineBelow', value: ['Paris'] },
	])('that are none, %j, are refused', async (parameters) => {
		await expectRefusal(
			read({ parameters }),
			"'Parameters' holds something other than the values of the agent's parameters",
			/^Choose the agent again/,
		);
	});

	test.each([undefined, null, ''])('that are required and have %j are named', async (value) => {
		await expectRefusal(
			read(fields({ city: value }, [column('more'), column('city', { required: true })])),
			"Parameter 'city' is required and has no value",
			/^Fill it in\. An expression must give a value for every item\.$/,
		);
	});

	test.each(['odd', 7, {}, [null, 'odd', 7, {}, { id: {} }]])(
		'that an odd workflow describes as %j break nothing',
		async (schema) => {
			expect(await read(fields({ city: 'Paris' }, schema))).toEqual(bound({ city: 'Paris' }));
			expect(await read(fields('', schema))).toEqual(bound({}));
			expect(await read(fields(null, schema, 'autoMapInputData'))).toEqual(bound({}));
		},
	);

	test('that the user has removed are not required', async () => {
		const schema = [column('city', { required: true, removed: true })];
		expect(await read(fields({}, schema))).toEqual(bound({}));
	});

	test('that are required and have a value are bound', async () => {
		expect(await read(fields({ city: 0 }, [column('city', { required: true })]))).toEqual(
			bound({ city: '0' }),
		);
	});

	describe('of the input item', () => {
		const items = [{ json: { city: 'Rome', other: 'thing' } }];
		// The editor has loaded the fields once; the agent may have others by now.
		const schema = [column('gone', { required: true }), column('other')];
		const mapped = fields(null, schema, 'autoMapInputData');
		const listing = (...parameters: Array<Partial<AgentParameter>>) => ({
			items,
			listed: () =>
				Promise.resolve(
					parameters.map((one) => ({ name: '', required: false, description: '', ...one })),
				),
		});
		const required = { required: true };

		test('are those that the agent has', async () => {
			const given = listing({ name: 'city' }, { name: 'absent' });
			expect(await read(mapped, given)).toEqual(bound({ city: 'Rome' }));
		});

		test('are not known without the list', async () => {
			const failure = { message: 'No', description: '', details: {} };
			const listed = () => Promise.reject(new FailureError(failure));
			expect(await read(mapped, { items, listed })).toEqual({ ok: false, failure });
		});

		test('are found in either form of a letter', async () => {
			const [one, other] = ['région'.normalize('NFC'), 'région'.normalize('NFD')];
			for (const [name, field] of [
				[one, other],
				[other, one],
			] as const) {
				const given = { ...listing({ name }), items: [{ json: { [field]: 'Lazio' } }] };
				expect(await read(mapped, given)).toEqual(bound({ [name]: 'Lazio' }));
			}
		});

		test.each([['Region'], ['region '], ['\ufeffregion'], ['REG\u00adION']])(
			'are found where the name of a field looks the same: %j',
			async (field) => {
				const given = { ...listing({ name: 'region' }), items: [{ json: { [field]: 'Lazio' } }] };
				expect(await read(mapped, given)).toEqual(bound({ region: 'Lazio' }));
			},
		);

		test('but not where it is that of another parameter', async () => {
			const given = {
				...listing({ name: 'region' }, { name: 'Region' }),
				items: [{ json: { Region: 'Lazio' } }],
			};
			expect(await read(mapped, given)).toEqual(bound({ Region: 'Lazio' }));
		});

		test('nor where two parameters look the same', async () => {
			const given = {
				...listing({ name: 'topic' }, { name: 'Topic' }),
				items: [{ json: { TOPIC: 'a' } }],
			};
			expect(await read(mapped, given)).toEqual(bound({}));
		});

		test('of which none fits give nothing, and a hint', async () => {
			const hints = new Set<string>();
			await read(mapped, { ...listing({ name: 'region' }, { name: 'day' }), hints });
			expect([...hints]).toEqual([
				"In some input items, no field with the name of one of the agent's parameters (region, day) has a value, so their runs get no values.",
			]);
			hints.clear();
			await read(mapped, { ...listing({ name: 'region' }, { name: 'city' }), hints });
			await read(mapped, { ...listing(), hints });
			expect([...hints]).toEqual([]);
		});

		test('nor where it is empty', async () => {
			const given = {
				...listing({ name: 'region' }),
				items: [{ json: { Region: '', 'region ': 'Lazio' } }],
			};
			expect(await read(mapped, given)).toEqual(bound({ region: 'Lazio' }));
		});

		test('nor where it is not the only one', async () => {
			const given = {
				...listing({ name: 'region' }),
				items: [{ json: { Region: 'Lazio', 'region ': 'Lazio' } }],
			};
			await expectRefusal(
				read(mapped, given),
				"Several fields of the input item may be parameter 'region': 'Region', 'region '",
				/^Keep one of them/,
			);
		});

		test('are those of exactly this name, where there are both forms', async () => {
			const [one, other] = ['région'.normalize('NFC'), 'région'.normalize('NFD')];
			for (const name of [one, other]) {
				const json = { [one]: 'Lazio', [other]: 'Lazio', [name]: '' };
				expect(await read(mapped, { ...listing({ name }), items: [{ json }] })).toEqual(bound({}));
			}
		});

		test('that are required are to be there', async () => {
			await expectRefusal(
				read(mapped, listing({ name: 'country', ...required })),
				"Parameter 'country' is required and has no value",
				/^The input item has no field 'country'\. .*'Map Each Column Manually'\.$/,
			);
		});

		test.each([[''], [null], [undefined]])('that are required are not to be %j', async (value) => {
			const given = {
				...listing({ name: 'city', ...required }),
				items: [{ json: { city: value } }],
			};
			await expectRefusal(
				read(mapped, given),
				"Parameter 'city' is required and has no value",
				/^The input item's field 'city' is empty\. Fill it before this node, /,
			);
		});

		test('are none without an item', async () => {
			expect(await read(mapped, { ...listing({ name: 'city' }), items: [] })).toEqual(bound({}));
		});
	});
});

describe('name-value pairs', () => {
	const pairs = (values: unknown) =>
		read({ specifyParameters: 'keypair', 'parameterPairs.values': values });

	test('are bound, and those without a name and a value are passed over', async () => {
		const values = [
			{ name: ' city ', value: 'Paris' },
			{ name: '', value: '' },
			null,
			{ value: null },
		];
		expect(await pairs(values)).toEqual(bound({ city: 'Paris' }));
	});

	test.each([undefined, null, []])('that are none, %j, bind nothing', async (values) => {
		expect(await pairs(values)).toEqual(bound({}));
	});

	test.each(['odd', {}, { name: 'city', value: 'Paris' }, [['city', 'Paris']], ['city=Paris']])(
		'that are no list, %j, are refused',
		async (values) => {
			await expectRefusal(
				pairs(values),
				"'Parameters' is not a list of name-value pairs",
				/^Add each value under 'Parameters'\./,
			);
		},
	);

	test.each([[{ name: ' ', value: 'x' }], [{ value: 'x' }], [{ name: {}, value: 'x' }]])(
		'with a value need a name: %j',
		async (pair) => {
			await expectRefusal(
				pairs([{ name: 'a', value: 1 }, pair]),
				"A name under 'Parameters' is empty or not a text",
				/^Give each value the name of one of the agent's parameters, or remove the pair\.$/,
			);
		},
	);

	test('may have numbers and booleans for names', async () => {
		const values = [7, 0, 2.5, true, false].map((name) => ({ name, value: 'x' }));
		const expected = { 7: 'x', 0: 'x', 2.5: 'x', true: 'x', false: 'x' };
		const read = await pairs(values);
		expect(read).toMatchObject({ ok: true });
		expect(new Set(read.ok ? read.value : [])).toEqual(new Set(bound(expected).value));
	});

	test('have each name once', async () => {
		await expectRefusal(
			pairs([
				{ name: 7, value: 1 },
				{ name: '7', value: 2 },
			]),
			"Parameter '7' is given more than once",
			/^Keep one value/,
		);
		await expectRefusal(
			pairs([
				{ name: 'a', value: 1 },
				{ name: 'b', value: 1 },
				{ name: 'b', value: '' },
			]),
			"Parameter 'b' is given more than once",
			/^Keep one value for each parameter\.$/,
		);
	});
});

describe('JSON', () => {
	const json = (source: unknown) => read({ specifyParameters: 'json', parametersJson: source });
	test.each<[string, unknown[]]>([
		[
			'{ "a": , "b": 1 }',
			[
				{ name: 'a', value: null },
				{ name: 'b', value: '1' },
			],
		],
		['{ "a":\n}', [{ name: 'a', value: null }]],
		['[{ "name": "a", "value": }]', [{ name: 'a', value: null }]],
		[
			'{ "a": "x: , \\" y: }", "b": }',
			[
				{ name: 'a', value: 'x: , " y: }' },
				{ name: 'b', value: null },
			],
		],
	])('%j, from an expression that gave nothing, has no value there', async (source, given) => {
		expect(readJson(source, true)).toEqual(given);
		expect(await json(source)).toMatchObject({ ok: false });
	});

	const forms = 'Enter an object, such as .* For no parameters, enter \\{\\}\\.';

	test.each<[unknown, Record<string, string>]>([
		['{ "a": "1", "b": 2 }', { a: '1', b: '2' }],
		[{ a: '1' }, { a: '1' }],
		['[{ "name": "a", "value": 1 }, { "name": "b", "value": null }]', { a: '1' }],
		['{}', {}],
		['[]', {}],
		['[{ "name": 7, "value": 1 }, { "name": false, "value": "x" }]', { 7: '1', false: 'x' }],
		['{ "a\\"b": "\\\\", "c\\\\" : "\\"d\\": " }', { 'a"b': '\\', 'c\\': '"d": ' }],
		['{ "a": "has \\"a\\": in it" }', { a: 'has "a": in it' }],
		['{ "a": "b", "b": "b" }', { a: 'b', b: 'b' }],
	])('%j is bound', async (source, values) => {
		expect(await json(source)).toEqual(bound(values));
	});

	test.each(['{ "": 1 }', { '': 1 }])('has a value without a name: %j', async (source) => {
		await expectRefusal(
			json(source),
			"'Parameters (JSON)' has a value without a name",
			new RegExp(`^${forms}$`),
		);
	});

	test.each([undefined, '', '  '])('is empty: %j', async (source) => {
		await expectRefusal(
			json(source),
			"'Parameters (JSON)' is empty",
			new RegExp(`^${forms} If it is an expression,`),
		);
	});

	test('that cannot be read says why', async () => {
		await expectRefusal(
			json('{ a: 1 }'),
			"'Parameters (JSON)' is not valid JSON",
			new RegExp(`^${forms} For the value of an expression, .+ The JSON reader says: .+ JSON`),
		);
	});

	test.each(['7', 'null', '"text"', 7])('is neither an object nor an array: %j', async (source) => {
		await expectRefusal(
			json(source),
			"'Parameters (JSON)' is neither an object nor an array",
			new RegExp(`^${forms}$`),
		);
	});

	test.each([
		[{ value: 1 }],
		[{ name: 'a' }],
		[{ name: '', value: 1 }],
		[{ name: {}, value: 1 }],
		[7],
		[null],
	])('an array has entries with a name and a value, and not %j', async (entry) => {
		await expectRefusal(
			json([{ name: 'b', value: 2 }, entry]),
			`'Parameters (JSON)' has an entry without a name and a value: ${JSON.stringify(entry)}`,
			new RegExp(`^${forms}$`),
		);
		expect(await json([entry])).toMatchObject({ ok: false });
	});

	test('an entry that has no JSON itself is refused too', async () => {
		const circle: unknown[] = [];
		circle.push(circle);
		for (const entry of [undefined, circle, { value: 1n }]) {
			const message = expect.stringContaining(
				'has an entry without a name and a value: ',
			) as string;
			expect(await json([entry])).toMatchObject({ ok: false, failure: { message } });
		}
	});

	test.each(['{ "a": 1, "b": 2, "a" : 3 }', '{ "a": 1, "\\u0061": 3 }'])(
		'has each name once: %s',
		async (source) => {
			await expectRefusal(
				json(source),
				"Parameter 'a' is given more than once",
				/^Keep one value for each parameter\.$/,
			);
		},
	);

	test.each([
		['long', 'x'.repeat(8 * 2 ** 20)],
		['quotes', '"'.repeat(2 ** 20)],
		['backslashes', '\\'.repeat(2 ** 20)],
		['line breaks', '\n'.repeat(2 ** 20)],
	])('may have a value of megabytes: %s', async (_, value) => {
		expect(await json(JSON.stringify({ a: value, b: 'c' }))).toEqual(bound({ a: value, b: 'c' }));
		expect(await json(`{"a":${JSON.stringify(value)},"a":1}`)).toMatchObject({ ok: false });
	});

	test('may have tens of thousands of names, and says a long one in short', async () => {
		const names = Array.from({ length: 50_000 }, (_, index) => `name ${index}`);
		const values = Object.fromEntries(names.map((name) => [name, 'x']));
		expect(await json(JSON.stringify(values))).toEqual(bound(values));
		const long = 'n'.repeat(2 ** 20);
		for (const source of [`{"${long}":1,"${long}":2}`, `{"${long}":{}}`]) {
			const read = await json(source);
			expect(read.ok || read.failure.message.length).toBeLessThan(200);
		}
	});

	test('with an object as a value is refused for that, whatever names are in it', async () => {
		await expectRefusal(
			json('{ "a": { "b": 1 }, "b": 2 }'),
			"The value of parameter 'a' is an object",
			/^The service takes text/,
		);
	});
});
