import type { IExecuteFunctions } from 'n8n-workflow';

import { isTool } from '../../engine/host';
import { asStored, isExpression, readChoice, readParameter, storedIn } from '../../readValue';
import { asText, fail } from '../../failure';
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
	switch (asStored(context, 'specifyParameters', how)) {
		case 'keypair':
			return bind(readPairs(given('parameterPairs.values', []) ?? [], context), hints);
		case 'json':
			return bind(readJsonField(given('parametersJson', '') ?? '', context, hints), hints);
		case 'fields':
			return bind(
				await readFields(given('parameters', {}), context, itemIndex, listed, hints),
				hints,
			);
	}
}

/** Whether a value has an expression of its own, which then is expected to give one. */
function isExpected(context: IExecuteFunctions, ...path: Array<string | number>): boolean {
	// What a model need not fill in, it leaves out.
	return !isTool(context) && isExpression(storedIn(context, ...path));
}

const QUOTED = `'Parameters (JSON)' has expressions between quotation marks. A quotation mark or a backslash in what they give changes the JSON. ${OF_EXPRESSIONS}`;

/** The beginning of a text in JSON that is put together of what an expression gives. */
const TEXT_OF_EXPRESSION = /"[^":,{}]*\{\{/;

function readJsonField(
	source: unknown,
	context: IExecuteFunctions,
	hints: Set<string>,
): GivenParameter[] {
	const stored = storedIn(context, 'parametersJson');
	const text = isExpression(stored) ? asText(stored) : '';
	const isWhole = isExpected(context, 'parametersJson') && typeof source !== 'string';
	if (TEXT_OF_EXPRESSION.test(text) && !text.includes('JSON.stringify')) addHint(hints, QUOTED);
	return readJson(source).map((parameter) => ({ ...parameter, isExpected: isWhole }));
}

/** @param fields may be anything in a workflow that was written by hand */
async function readFields(
	fields: unknown,
	context: IExecuteFunctions,
	itemIndex: number,
	listed: () => Promise<AgentParameter[]>,
	hints: Set<string>,
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
	if (fields.mappingMode === 'autoMapInputData') {
		return mapItem(context.getInputData()[itemIndex]?.json ?? {}, await listed(), hints);
	}
	const given = Object.entries(fields.value || {}).map(([id, value]) => ({
		name: toParameterName(id),
		value,
		isExpected: isExpected(context, 'parameters', 'value', id),
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

function readPairs(pairs: unknown, context: IExecuteFunctions): GivenParameter[] {
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
		isExpected: isExpected(context, 'parameterPairs', 'values', index, 'value'),
	}));
	if (given.some(({ name, value }) => name === '' && !isEmpty(value))) {
		return fail({
			message: "A name under 'Parameters' is empty or not a text",
			description: "Give each value the name of one of the agent's parameters, or remove the pair.",
		});
	}
	return given.filter(({ name }) => name !== '');
}
