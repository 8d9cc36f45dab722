import type { IExecuteFunctions } from 'n8n-workflow';

import { isTool } from '../../engine/host';
import { asStored, isExpression, readChoice, readParameter } from '../../readValue';
import { fail } from '../../failure';
import {
	isJsonObject,
	toText,
	type AgentParameter,
	type ParameterBinding,
} from '../../service/types';
import { toParameterName } from '../../storedText';
import { addHint, bind, isEmpty, type GivenParameter } from './bindings';
import { failAsMissing, mapItem } from './mapItem';
import { OF_EXPRESSIONS, readJson } from './parametersJson';

/**
 * Reads an item's parameter values in whichever way the user gives them, as bindings for the service.
 *
 * @param listed gives the parameters of the item's agent as the agents' list has them
 * @param hints get one for each value that may not be what the user expects
 * @throws FailureError if they are not given as they have to be
 */
export async function readBindings(
	context: IExecuteFunctions,
	itemIndex: number,
	listed: () => Promise<AgentParameter[]>,
	hints: Set<string>,
): Promise<ParameterBinding[]> {
	const given = (name: string, byDefault: unknown) =>
		readParameter(context, itemIndex, name, byDefault);
	const how = readChoice(given('specifyParameters', 'fields'), 'specifyParameters', [
		'fields',
		'keypair',
		'json',
	]);
	// Once for an item, since n8n copies the node each time.
	const { parameters: stored } = context.getNode();
	const isOfTool = isTool(context);
	// What a model need not fill in, it leaves out.
	const isExpected: IsExpected = (...path) => !isOfTool && isExpression(storedIn(stored, ...path));
	const mapped = async () =>
		mapItem(context.getInputData()[itemIndex]?.json ?? {}, await listed(), hints);
	switch (asStored(context, 'specifyParameters', how)) {
		case 'keypair':
			return bind(readPairs(given('parameterPairs.values', []) ?? [], isExpected), hints);
		case 'json':
			return readJsonField(
				given('parametersJson', '') ?? '',
				storedIn(stored, 'parametersJson'),
				isExpected('parametersJson'),
				hints,
			);
		case 'fields':
			return bind(await readFields(given('parameters', {}), isExpected, mapped), hints);
	}
}

/** Whether the value at a path of the node's parameters has an expression of its own, which then is expected to give one. */
type IsExpected = (...path: Array<string | number>) => boolean;

/** What is at a path of a node's stored parameters. Expressions are as the user has written them. */
function storedIn(parameters: unknown, ...path: Array<string | number>): unknown {
	let stored = parameters;
	for (const key of path) stored = (stored as Record<string, unknown> | undefined | null)?.[key];
	return stored;
}

const QUOTED = `'Parameters (JSON)' has expressions between quotation marks. A quotation mark or a backslash in what they give changes the JSON. ${OF_EXPRESSIONS}`;

/** How an object becomes the text of a value in JSON: once as text, once more as JSON. */
const WITHIN_JSON = '{{ JSON.stringify(JSON.stringify($json.field)) }}';

/** The beginning of a text in JSON that is put together of what an expression gives. */
const TEXT_OF_EXPRESSION = /"[^":,{}]*\{\{/;

/** @param stored the field as the user has written it */
function readJsonField(
	source: unknown,
	stored: unknown,
	isExpected: boolean,
	hints: Set<string>,
): ParameterBinding[] {
	const hasExpressions = isExpression(stored);
	if (hasExpressions && TEXT_OF_EXPRESSION.test(stored) && !stored.includes('JSON.stringify'))
		addHint(hints, QUOTED);
	const given = readJson(source, hasExpressions).map((one) => ({ ...one, isExpected }));
	return bind(given, hints, typeof source === 'string' ? WITHIN_JSON : undefined);
}

/**
 * @param fields may be anything in a workflow that was written by hand
 * @param mapped gives what is mapped automatically
 */
async function readFields(
	fields: unknown,
	isExpected: IsExpected,
	mapped: () => Promise<GivenParameter[]>,
): Promise<GivenParameter[]> {
	const isWellFormed =
		isJsonObject(fields) && (isEmpty(fields.value) || isJsonObject(fields.value));
	if (!isWellFormed || (Object.keys(fields).length > 0 && !('mappingMode' in fields))) {
		return fail({
			message: "'Parameters' holds something other than the values of the agent's parameters",
			description:
				"Choose the agent again, or set 'Specify Parameters' to 'Using JSON' to give an object.",
		});
	}
	if (fields.mappingMode === 'autoMapInputData') return await mapped();
	const given = Object.entries(fields.value || {}).map(([id, value]) => ({
		name: toParameterName(id),
		value,
		isExpected: isExpected('parameters', 'value', id),
	}));
	const filled = new Set(given.filter(({ value }) => !isEmpty(value)).map(({ name }) => name));
	const missing = requiredOf(fields.schema).find((name) => !filled.has(name));
	if (missing === undefined) return given;
	return failAsMissing(missing, 'Fill it in. An expression must give a value for every item.');
}

/** The required parameters among those that the editor shows as fields. */
function requiredOf(schema: unknown): string[] {
	return (Array.isArray(schema) ? schema : [])
		.filter((field) => isJsonObject(field) && field.removed !== true && field.required === true)
		.map(({ id }) => toParameterName(toText(id)));
}

function readPairs(pairs: unknown, isExpected: IsExpected): GivenParameter[] {
	const isList = Array.isArray(pairs) && pairs.every((pair) => isEmpty(pair) || isJsonObject(pair));
	if (!isList) {
		return fail({
			message: "'Parameters' is not a list of name-value pairs",
			description: "Add each value under 'Parameters'.",
		});
	}
	const given = pairs.map((pair, index) => ({
		name: toText(pair?.name).trim(),
		value: pair?.value,
		isExpected: isExpected('parameterPairs', 'values', index, 'value'),
	}));
	if (given.some(({ name, value }) => name === '' && !isEmpty(value))) {
		return fail({
			message: "A name under 'Parameters' is empty or not a text",
			description: "Give each value the name of one of the agent's parameters, or remove the pair.",
		});
	}
	return given.filter(({ name }) => name !== '');
}
