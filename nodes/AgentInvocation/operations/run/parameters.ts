import type { IExecuteFunctions } from 'n8n-workflow';

import { readChoice } from '../../readValue';
import { asError, asText, fail, sentences } from '../../failure';
import { isJsonObject, toText, type ParameterBinding } from '../../service/types';
import { toParameterName } from '../../storedText';
import { shorten } from '../../wording';

/** A parameter as the user gave it. */
interface Given {
	name: string;
	value: unknown;
}

/**
 * Reads an item's parameter values in whichever way the user gives them, as bindings for the service:
 * all values as text, empty ones left out, every name once.
 *
 * @throws FailureError if they are not given as they have to be
 */
export function readBindings(context: IExecuteFunctions, itemIndex: number): ParameterBinding[] {
	return bind(readGiven(context, itemIndex));
}

function readGiven(context: IExecuteFunctions, itemIndex: number): Given[] {
	const how = readChoice(
		context.getNodeParameter('specifyParameters', itemIndex, 'fields'),
		'Specify Parameters',
		['fields', 'keypair', 'json'],
	);
	switch (how) {
		case 'keypair':
			return readPairs(context.getNodeParameter('parameterPairs.values', itemIndex, []) ?? []);
		case 'json':
			return readJson(context.getNodeParameter('parametersJson', itemIndex, ''));
		case 'fields':
			return readFields(context, itemIndex);
	}
}

function readFields(context: IExecuteFunctions, itemIndex: number): Given[] {
	// A workflow that was written by hand may hold anything.
	const fields: unknown = context.getNodeParameter('parameters', itemIndex, {});
	if (!isJsonObject(fields) || (Object.keys(fields).length > 0 && !('mappingMode' in fields))) {
		return fail({
			message: "'Parameters' does not hold the fields of the agent's parameters",
			description:
				"Choose the agent anew, or set 'Specify Parameters' to 'Using JSON' to give an object.",
		});
	}
	const columns: unknown = fields.schema;
	const schema = (Array.isArray(columns) ? columns : [])
		.filter(isJsonObject)
		.filter(({ removed }) => removed !== true)
		.map(({ id, required }) => ({ id: toText(id), required: required === true }));
	const isMapped = fields.mappingMode === 'autoMapInputData';
	if (isMapped && schema.length === 0 && isAgentExpression(context)) {
		return fail({
			message: "The agent's parameters are not known, so nothing can be mapped to them",
			description:
				"'Agent' is an expression. Execute the previous nodes and refresh the parameters, or set 'Specify Parameters' to 'Using Name-Value Pairs' or 'Using JSON'.",
		});
	}
	const json = new Map(Object.entries(context.getInputData()[itemIndex]?.json ?? {}));
	const values = new Map(
		isMapped
			? schema.map(({ id }) => [toParameterName(id), json.get(toParameterName(id))])
			: Object.entries(isJsonObject(fields.value) ? fields.value : {}).map(([id, value]) => [
					toParameterName(id),
					value,
				]),
	);
	const missing = schema.find(
		({ id, required }) => required && isEmpty(values.get(toParameterName(id))),
	);
	if (missing) {
		const name = toParameterName(missing.id);
		return fail({
			message: `Parameter '${shorten(name)}' is required and has no value`,
			description: isMapped
				? `The input item has no field '${shorten(name)}'. Add it before this node, or choose 'Map Each Column Manually'.`
				: 'Fill it in. An expression must give a value for every item.',
		});
	}
	return [...values].map(([name, value]) => ({ name, value }));
}

function isAgentExpression(context: IExecuteFunctions): boolean {
	const agent: unknown = context.getNode().parameters?.agentId;
	const value = isJsonObject(agent) ? agent.value : agent;
	return typeof value === 'string' && value.startsWith('=');
}

function readPairs(pairs: unknown): Given[] {
	if (!Array.isArray(pairs)) {
		return fail({
			message: "'Parameters' is no list of name-value pairs",
			description: "Add each value under 'Parameters'. An expression must give a list of them.",
		});
	}
	const given = pairs
		.filter(isJsonObject)
		.map(({ name, value }) => ({ name: toText(name).trim(), value }));
	if (given.some(({ name, value }) => name === '' && !isEmpty(value))) {
		return fail({
			message: "A name under 'Parameters' is empty",
			description: "Give each value the name of one of the agent's parameters, or remove the pair.",
		});
	}
	return given.filter(({ name }) => name !== '');
}

function refuseJson(message: string, reason?: string): never {
	const forms =
		'Enter an object, such as { "region": "north" }, or an array, such as [{ "name": "region", "value": "north" }]. For no parameters, enter {}.';
	return fail({ message, description: sentences(forms, reason) });
}

function readJson(source: unknown): Given[] {
	const json = typeof source === 'string' ? parseJson(source) : source;
	if (isPlainObject(json)) {
		const repeated = typeof source === 'string' ? repeatedName(namesIn(source)) : undefined;
		const isFlat = Object.values(json).every(isScalar);
		if (repeated !== undefined && isFlat) return refuseRepeated(repeated);
		return Object.entries(json).map(([name, value]) => ({ name, value }));
	}
	if (!Array.isArray(json)) {
		return refuseJson("'Parameters (JSON)' is neither an object nor an array");
	}
	const pairs = json.filter(isPair);
	if (pairs.length === json.length) {
		return pairs.map(({ name, value }) => ({ name: toText(name), value }));
	}
	const entry = shorten(show(json.find((one) => !isPair(one))));
	return refuseJson(`'Parameters (JSON)' has an entry without a name and a value: ${entry}`);
}

/** A date or a map has no fields of its own, though it is an object. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
	return isJsonObject(value) && (Object.keys(value).length > 0 || isEmptyRecord(value));
}

function isEmptyRecord(value: object): boolean {
	const prototype: unknown = Object.getPrototypeOf(value);
	return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function isPair(entry: unknown): entry is { name: unknown; value: unknown } {
	return isJsonObject(entry) && toText(entry.name) !== '' && 'value' in entry;
}

/** An expression may give what has no JSON, such as `undefined`, a big number or a circle. */
function show(entry: unknown): string {
	try {
		return String(JSON.stringify(entry));
	} catch {
		return asText(entry);
	}
}

function parseJson(source: string): unknown {
	if (source.trim() === '') return refuseJson("'Parameters (JSON)' is empty");
	try {
		JSON.parse(source);
		return JSON.parse(withNumbersAsText(source));
	} catch (thrown) {
		const reason = `The JSON reader says: ${asError(thrown).message}`;
		return refuseJson("'Parameters (JSON)' is not valid JSON", reason);
	}
}

/** All values are sent as text: a number as it is written, with all of its digits. */
function withNumbersAsText(source: string): string {
	let isText = false;
	return source.replace(/\\.|"|-?\d[\d.eE+-]*/gs, (found) => {
		if (found === '"') isText = !isText;
		return isText || !/^[-\d]/.test(found) ? found : `"${found}"`;
	});
}

/**
 * The names in a JSON object that holds no other; `JSON.parse` keeps the last of a repeated name. It goes from
 * quote to quote: a pattern of a whole text takes more of the stack the longer the text is.
 */
function namesIn(source: string): string[] {
	const names: string[] = [];
	const colon = /\s*:/y;
	let begin: number | undefined;
	for (const { 0: found, index } of source.matchAll(/\\.|"/g)) {
		if (found !== '"') continue;
		if (begin === undefined) {
			begin = index;
			continue;
		}
		colon.lastIndex = index + 1;
		if (colon.test(source)) names.push(String(JSON.parse(source.slice(begin, index + 1))));
		begin = undefined;
	}
	return names;
}

function bind(given: Given[]): ParameterBinding[] {
	const nested = given.find(({ value }) => !isEmpty(value) && !isScalar(value));
	if (nested) {
		return fail({
			message: `The value of parameter '${shorten(nested.name)}' is ${kindOf(nested.value)}`,
			description:
				'The service takes text. Give a single value, or turn it into text first, for example with {{ JSON.stringify($json.field) }}.',
		});
	}
	const repeated = repeatedName(given.map(({ name }) => name));
	if (repeated !== undefined) return refuseRepeated(repeated);
	return given
		.filter(({ value }) => !isEmpty(value))
		.map(({ name, value }) => ({ name, value: String(value) }));
}

function repeatedName(names: string[]): string | undefined {
	const seen = new Set<string>();
	return names.find((name) => seen.size === seen.add(name).size);
}

function refuseRepeated(name: string): never {
	return fail({
		message: `Parameter '${shorten(name)}' is given more than once`,
		description: 'Keep one value for each parameter.',
	});
}

function kindOf(value: unknown): string {
	return typeof value === 'number' ? 'no number' : asText(value);
}

function isEmpty(value: unknown): boolean {
	return value === undefined || value === null || value === '';
}

function isScalar(value: unknown): boolean {
	if (typeof value === 'number') return Number.isFinite(value);
	return isEmpty(value) || ['string', 'boolean', 'bigint'].includes(typeof value);
}
