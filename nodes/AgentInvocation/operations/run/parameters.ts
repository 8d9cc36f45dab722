import type { IExecuteFunctions } from 'n8n-workflow';

import type { Parking } from '../../engine/parking';
import { asStored, readChoice } from '../../readValue';
import { asText, fail } from '../../failure';
import {
	isJsonObject,
	toText,
	type AgentParameter,
	type ParameterBinding,
} from '../../service/types';
import { toParameterName } from '../../storedText';
import { byName, nameKey } from '../../textKey';
import { few, shorten } from '../../wording';
import { readJson, type GivenParameter } from './parametersJson';

/**
 * Reads an item's parameter values in whichever way the user gives them, as bindings for the service:
 * all values as text, empty ones left out, every name once.
 *
 * @param listed gives the parameters of the item's agent as the agents' list has them
 * @throws FailureError if they are not given as they have to be
 */
export async function readBindings(
	context: IExecuteFunctions,
	itemIndex: number,
	listed: () => Promise<AgentParameter[]>,
): Promise<ParameterBinding[]> {
	const how = readChoice(
		context.getNodeParameter('specifyParameters', itemIndex, 'fields'),
		'Specify Parameters',
		['fields', 'keypair', 'json'],
	);
	switch (asStored(context, 'specifyParameters', 'Specify Parameters', how)) {
		case 'keypair':
			return bind(
				readPairs(context.getNodeParameter('parameterPairs.values', itemIndex, []) ?? []),
			);
		case 'json':
			return bind(readJson(context.getNodeParameter('parametersJson', itemIndex, '') ?? ''));
		case 'fields':
			return bind(await readFields(context, itemIndex, listed));
	}
}

async function readFields(
	context: IExecuteFunctions,
	itemIndex: number,
	listed: () => Promise<AgentParameter[]>,
): Promise<GivenParameter[]> {
	// A workflow that was written by hand may hold anything.
	const fields: unknown = context.getNodeParameter('parameters', itemIndex, {});
	const isWellFormed =
		isJsonObject(fields) && (isEmpty(fields.value) || isJsonObject(fields.value));
	if (!isWellFormed || (Object.keys(fields).length > 0 && !('mappingMode' in fields))) {
		return fail({
			message: "'Parameters' holds something other than the values of the agent's parameters",
			description:
				"Choose the agent again, or set 'Specify Parameters' to 'Using JSON' to give an object.",
		});
	}
	const isMapped = fields.mappingMode === 'autoMapInputData';
	// The fields are those of the agent as the editor has loaded it, once: it may have others by now, or be another one.
	const parameters = isMapped ? await listed() : fieldsOf(fields.schema);
	const json = new Map<string, unknown>(
		Object.entries(isMapped ? (context.getInputData()[itemIndex]?.json ?? {}) : {}),
	);
	const fieldOf = fieldsByName(json, isMapped ? parameters.map(({ name }) => name) : []);
	const entered = Object.entries(fields.value || {});
	const values = new Map<string, unknown>(
		isMapped
			? parameters.map(({ name }) => [name, json.get(fieldOf(name))])
			: entered.map(([id, value]) => [toParameterName(id), value]),
	);
	const missing = parameters.find(({ name, required }) => required && isEmpty(values.get(name)));
	if (!missing) return [...values].map(([name, value]) => ({ name, value }));
	const name = shorten(missing.name);
	const lacks = json.has(fieldOf(missing.name))
		? `The input item's field '${name}' is empty. Fill it`
		: `The input item has no field '${name}'. Add it`;
	return fail({
		message: `Parameter '${name}' is required and has no value`,
		description: isMapped
			? `${lacks} before this node, or choose 'Map Each Column Manually'.`
			: 'Fill it in. An expression must give a value for every item.',
	});
}

/**
 * Tells which of an item's fields has the value of a parameter: that of its name, or else the only one that is not empty
 * and whose name looks the same, such as one with a space behind it, unless other parameters' names look the same, too.
 */
function fieldsByName(fields: Map<string, unknown>, names: string[]): (name: string) => string {
	const filled = [...fields.keys()].filter((field) => !isEmpty(fields.get(field)));
	const alike = byName(filled, (field) => field);
	const namesAlike = byName(names, (name) => name);
	return (name) => {
		const key = nameKey(name);
		const isOnly = namesAlike.get(key)?.length === 1;
		const [field = name, ...others] = fields.has(name) || !isOnly ? [name] : (alike.get(key) ?? []);
		if (others.length === 0) return field;
		return fail({
			message: `Several fields of the input item may be parameter '${shorten(name)}': ${few([field, ...others].map((one) => `'${shorten(one)}'`))}`,
			description: "Keep one of them before this node, or choose 'Map Each Column Manually'.",
		});
	};
}

/** The parameters whose fields the editor shows. */
function fieldsOf(schema: unknown) {
	return (Array.isArray(schema) ? schema : [])
		.filter((field) => isJsonObject(field) && field.removed !== true)
		.map(({ id, required }) => ({
			name: toParameterName(toText(id)),
			required: required === true,
		}));
}

function readPairs(pairs: unknown): GivenParameter[] {
	const isList = Array.isArray(pairs) && pairs.every((pair) => isEmpty(pair) || isJsonObject(pair));
	if (!isList) {
		return fail({
			message: "'Parameters' is not a list of name-value pairs",
			description: "Add each value under 'Parameters'.",
		});
	}
	const given = pairs
		.filter(isJsonObject)
		.map(({ name, value }) => ({ name: toText(name).trim(), value }));
	if (given.some(({ name, value }) => name === '' && !isEmpty(value))) {
		return fail({
			message: "A name under 'Parameters' is empty or not a text",
			description: "Give each value the name of one of the agent's parameters, or remove the pair.",
		});
	}
	return given.filter(({ name }) => name !== '');
}

function bind(given: GivenParameter[]): ParameterBinding[] {
	const wrong = given.find(({ value }) => whyRefused(value) !== undefined);
	if (wrong) {
		const what = whyRefused(wrong.value);
		return fail({
			message: `The value of parameter '${shorten(wrong.name)}' is ${what}`,
			description:
				what === NO_DATE || what === NO_NUMBER
					? 'The expression could not read it, or expects another format. Correct the expression, or the value that it reads.'
					: 'The service takes text. Give a single value, or turn it into text first, for example with {{ JSON.stringify($json.field) }}.',
		});
	}
	const seen = new Set<string>();
	for (const { name } of given) {
		if (seen.has(name)) {
			fail({
				message: `Parameter '${shorten(name)}' is given more than once`,
				description: 'Keep one value for each parameter.',
			});
		}
		seen.add(name);
	}
	return given
		.filter(({ value }) => !isEmpty(value))
		.map(({ name, value }) => ({ name, value: textOfDate(value) ?? String(value) }));
}

/** Adds a hint if an expression seems to have joined what is no text with other text. */
export function hintAtJoined(
	bindings: ParameterBinding[],
	{ hints }: Pick<Parking, 'hints'>,
): void {
	const joined = bindings.find(({ value }) => /\[object Object\]|Invalid Date/.test(value));
	if (!joined) return;
	hints.add(
		`The value of parameter '${shorten(joined.name)}' contains '[object Object]' or an invalid date. If an expression has put it there, correct the expression.`,
	);
}

function isEmpty(value: unknown): boolean {
	return value === undefined || value === null || value === '';
}

const NO_DATE = 'not a valid date';

const NO_NUMBER = 'not a number';

/** What n8n makes of values that an expression joins with other text, be it a space. */
const NOT_TEXT = new Map([
	['Invalid DateTime', NO_DATE],
	['Invalid Date', NO_DATE],
	['[object Object]', 'an object'],
]);

/** What a value is that cannot be sent as text. */
function whyRefused(value: unknown): string | undefined {
	if (typeof value === 'string') return NOT_TEXT.get(value.trim());
	if (typeof value === 'number') return Number.isFinite(value) ? undefined : NO_NUMBER;
	const date = textOfDate(value);
	if (date !== undefined) return date === null ? NO_DATE : undefined;
	return isEmpty(value) || ['boolean', 'bigint'].includes(typeof value) ? undefined : asText(value);
}

/**
 * The text of a date, or of one of Luxon's: n8n turns those of expressions into text, but not those of an input item.
 *
 * @returns null if the date is invalid, undefined if the value is no date
 */
function textOfDate(value: unknown): string | null | undefined {
	const isDate = value instanceof Date || (isJsonObject(value) && value.isLuxonDateTime === true);
	if (!isDate || typeof value.toJSON !== 'function') return undefined;
	const text: unknown = value.toJSON();
	return typeof text === 'string' || text === null ? text : undefined;
}
