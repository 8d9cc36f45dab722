import { labels } from '../../nodes/AgentInvocation/labels.ts';
import type { IDataObject, INodeProperties, INodePropertyOptions } from 'n8n-workflow';

import { AgentInvocation } from '../../nodes/AgentInvocation/AgentInvocation.node.ts';
import {
	readBoolean,
	readChoice,
	readNumber,
	readParameter,
} from '../../nodes/AgentInvocation/readValue.ts';
import { contextOf } from '../support/simulation/world/context.cts';
import { execute as executeIn } from '../support/simulation/ownWorld.cts';
import { outcomeOf } from '../support/outcome.cts';

// What a field or an expression gives, as the node takes it.
const description = "Correct 'X'. If it is an expression, see what it gives for this item.";
const refused = (message: string) => ({
	ok: false,
	failure: { message: `'X' must be ${message}`, description, details: {} },
});

describe('a boolean', () => {
	test.each([
		...[true, 'true', ' TRUE\n', 'True', 1, '1', ' 1 ', 1n].map((value) => [value, true] as const),
		...[false, 'false', 'False ', 0, '0', -0].map((value) => [value, false] as const),
	])('given as %p is %p', (value, expected) => {
		expect(outcomeOf(() => readBoolean(value, 'X'))).toEqual({ ok: true, value: expected });
	});

	test.each([
		[undefined, 'undefined'],
		[null, 'null'],
		['', ''],
		['yes', 'yes'],
		['truee', 'truee'],
		[2, '2'],
		[NaN, 'NaN'],
		[[true], 'an array'],
		[{}, 'an object'],
		['t'.repeat(61), `${'t'.repeat(60)}…`],
	])('given as %p is refused', (value, shown) => {
		expect(outcomeOf(() => readBoolean(value, 'X'))).toEqual(
			refused(`true or false, not '${shown}'`),
		);
	});
});

describe('a number', () => {
	const range = { minValue: 1, maxValue: 10 };

	test.each([
		[5, 5],
		[' 5 ', 5],
		['5.5', 5.5],
		['1e1', 10],
		[1, 1],
	])('given as %p is %p', (value, expected) => {
		expect(outcomeOf(() => readNumber(value, 'X', range))).toEqual({ ok: true, value: expected });
	});

	test.each([
		undefined,
		null,
		'',
		' ',
		NaN,
		'NaN',
		Infinity,
		'Infinity',
		-1,
		10.1,
		'5,5',
		true,
		5n,
	])('given as %p is refused', (value) => {
		expect(outcomeOf(() => readNumber(value, 'X', range))).toEqual(
			refused(`a number from 1 to 10, not '${String(value)}'`),
		);
	});

	test('is whole where it is to be, and of the range that is said', () => {
		expect(outcomeOf(() => readNumber(1.5, 'X', { minValue: 0, whole: true }))).toEqual(
			refused("a whole number of at least 0, not '1.5'"),
		);
		expect(outcomeOf(() => readNumber(2 ** 60, 'X', { minValue: 0 }))).toMatchObject({ ok: false });
	});

	test('may be 0 where that stands for something else', () => {
		const orZero = { ...range, orZero: true };
		for (const zero of [0, '0', -0]) {
			expect(outcomeOf(() => readNumber(zero, 'X', orZero))).toEqual({
				ok: true,
				value: Number(zero),
			});
		}
		expect(outcomeOf(() => readNumber(0.5, 'X', orZero))).toEqual(
			refused("0 or a number from 1 to 10, not '0.5'"),
		);
	});
});

describe('a choice', () => {
	const choices = ['text', 'json'] as const;

	test.each([
		['json', 'json'],
		[' JSON ', 'json'],
		['Text', 'text'],
	])('given as %p is %p', (value, expected) => {
		expect(outcomeOf(() => readChoice(value, 'X', choices))).toEqual({ ok: true, value: expected });
	});

	test.each([[undefined], [null], [''], ['xml'], [0], [{}]])(
		'given as %p is refused, and the choices are named',
		(value) => {
			expect(outcomeOf(() => readChoice(value, 'X', choices))).toMatchObject({
				ok: false,
				failure: {
					message: expect.stringMatching(/^'X' must be 'text' or 'json', not '/) as string,
				},
			});
		},
	);
});

test('an option that is not added is the default, and one whose expression gives nothing is none', () => {
	const read = (parameters: IDataObject, name: string) =>
		readParameter(contextOf({ parameters }), 0, `options.${name}`, 7);
	const options = { a: 1, b: null };
	expect(['a', 'b', 'c'].map((name) => read({ options }, name))).toEqual([1, null, 7]);
	expect(read({}, 'a')).toBe(7);
	expect(read({ options: null }, 'a')).toBe(7);
});

describe('every parameter of the node', () => {
	const { properties } = new AgentInvocation().description;

	test('is called in messages what the editor calls it', () => {
		const ofTop = properties.filter(({ type, name }) => {
			return type !== 'notice' && !['resource', 'operation', 'aboutParameters'].includes(name);
		});
		// Those that follow say of the first one of their name that it is not sent.
		const options = ofTop.flatMap(({ type, options }) =>
			type === 'collection' ? (options as INodeProperties[]) : [],
		);
		const named = [...ofTop, ...options].map(({ name, displayName }) => [name, displayName]);
		expect(labels).toEqual(Object.fromEntries(named.reverse()));
	});

	interface Known {
		field: INodeProperties;
		resource: string;
		operation: string;
		isOption: boolean;
	}

	/** The fields that take an expression, by the operation that has them. */
	const known: Known[] = properties.flatMap((property): Known[] => {
		const { resource, operation } = property.displayOptions?.show ?? {};
		const of = { resource: resource?.[0] as string, operation: operation?.[0] as string };
		const isTool = property.displayOptions?.show?.['@tool'] !== undefined;
		if (isTool || property.noDataExpression) return [];
		return property.name === 'options'
			? (property.options as INodeProperties[]).map((field) => ({ field, ...of, isOption: true }))
			: [{ field: property, ...of, isOption: false }];
	});

	/** Executes an operation with one value; gives what was thrown, and how many requests were sent. */
	async function execute({ field, resource, operation, isOption }: Known, value: unknown) {
		const set = { [field.name]: value } as IDataObject;
		const { error, world } = await executeIn({
			operation: operation === 'get' ? 'get' : 'create',
			hand: {
				parameters: () => ({
					resource,
					operation,
					options: isOption ? set : {},
					// Whichever way 'Specify Parameters' chooses.
					parameters: { mappingMode: 'defineBelow', value: { tag: 'e0t0i0' } },
					'parameterPairs.values': [{ name: 'tag', value: 'e0t0i0' }],
					...(isOption ? {} : set),
				}),
			},
		});
		return { thrown: error?.message ?? '', requests: world.requests.length };
	}

	const ofType = (type: string) =>
		known
			.filter(({ field }) => field.type === type)
			.map((one) => [`${one.field.displayName} of ${one.operation}`, one] as const);

	test('is among those of these tests', () => {
		const names = (type: string) => ofType(type).map(([name]) => name);
		expect(names('boolean')).toHaveLength(6);
		expect(names('options').length).toBeGreaterThanOrEqual(9);
		expect(names('number').length).toBeGreaterThanOrEqual(7);
	});

	test.each(ofType('boolean'))('%s is a boolean or refused', async (_, one) => {
		const results = new Map<unknown, number>();
		for (const value of [true, 'True', 1, false, 'FALSE', 0]) {
			const { thrown, requests } = await execute(one, value);
			expect(thrown).toBe('');
			results.set(value, requests);
		}
		expect([results.get('True'), results.get(1)]).toEqual([results.get(true), results.get(true)]);
		expect([results.get('FALSE'), results.get(0)]).toEqual([
			results.get(false),
			results.get(false),
		]);
		for (const value of ['', 'no', {}, 7]) {
			const { thrown, requests } = await execute(one, value);
			expect(thrown).toContain(`'${one.field.displayName}' must be true or false`);
			expect(requests).toBe(0);
		}
	});

	test.each(ofType('options'))('%s is one of its choices or refused', async (_, one) => {
		for (const { value } of one.field.options as INodePropertyOptions[]) {
			expect((await execute(one, value)).thrown).toBe('');
			const { thrown, requests } = await execute(one, `${String(value)}x`);
			expect(thrown).toContain(`'${one.field.displayName}' must be `);
			expect(thrown).toContain(`'${String(value)}'`);
			expect(requests).toBe(0);
		}
	});

	test.each(ofType('number'))('%s is a number or refused', async (_, one) => {
		for (const value of ['', 'x', -1, NaN, Infinity, 'Infinity', {}, true, '9'.repeat(5_000)]) {
			const { thrown, requests } = await execute(one, value);
			expect(thrown).toContain(`'${one.field.displayName}' must be `);
			expect(thrown.length).toBeLessThan(200);
			expect(requests).toBe(0);
		}
		expect((await execute(one, ' 1e1 ')).thrown).toBe('');
	});
});

test('an interval of less than a second is refused, since it floods the service', async () => {
	for (const pollInterval of [0.001, '0.5', 0.999]) {
		const { error, world } = await executeIn({ options: { pollInterval } });
		expect(error?.message).toBe(
			`'Poll Interval (Seconds)' must be 0 or a number from 1 to 86400, not '${pollInterval}'`,
		);
		expect(world.requests).toEqual([]);
	}
});

test('a dry run whose expression gives nothing starts none', async () => {
	const { error, world } = await executeIn({ hand: { parameters: () => ({ dryRun: '' }) } });
	expect(error?.message).toBe("'Dry Run' must be true or false, not ''");
	expect(world.requests).toEqual([]);
});
