import { asError, asText, fail, sentences } from '../../failure';
import { isJsonObject, toText } from '../../service/types';
import { shorten } from '../../wording';
import type { GivenParameter } from './bindings';

/**
 * Reads parameters that are given as JSON: as text, or as the value of an expression. They are an object of
 * names and values, or an array of objects with name and value.
 *
 * @param hasExpressions whether a text has expressions in it
 * @throws FailureError if they are neither
 */
export function readJson(source: unknown, hasExpressions = false): GivenParameter[] {
	const json = typeof source === 'string' ? parseJson(source, hasExpressions) : source;
	if (isPlainObject(json)) {
		const nameOf = (name: string) => (typeof source === 'string' ? withoutPlace(name) : name);
		const given = Object.entries(json).map(([name, value]) => ({ name: nameOf(name), value }));
		const isNamed = given.every(({ name }) => name !== '');
		return isNamed ? given : refuseJson("'Parameters (JSON)' has a value without a name");
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

/** Whether a value is an object of names and values: not a date, for example, nor a map. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
	if (!isJsonObject(value)) return false;
	const prototype: unknown = Object.getPrototypeOf(value);
	return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function isPair(entry: unknown): entry is { name: unknown; value: unknown } {
	return isJsonObject(entry) && toText(entry.name) !== '' && 'value' in entry;
}

/**
 * An entry as text for a message. An expression may give what has no JSON: `undefined`, a bigint, a cyclic
 * object.
 */
function show(entry: unknown): string {
	try {
		return String(JSON.stringify(entry));
	} catch {
		return asText(entry);
	}
}

/** How JSON stays valid whatever an expression gives. */
export const OF_EXPRESSIONS =
	'For the value of an expression, write {{ JSON.stringify($json.field) }} without quotation marks around it.';

/** The parsed JSON. If it is an object, its names have their {@link withoutPlace | places} before them. */
function parseJson(source: string, hasExpressions: boolean): unknown {
	// `trim` also removes a byte order mark.
	const json = hasExpressions ? withoutGaps(source.trim()) : source.trim();
	if (json === '') {
		return refuseJson(
			"'Parameters (JSON)' is empty",
			'If it is an expression, see what it gives for this item.',
		);
	}
	try {
		// Unchanged first, since `prepare` expects valid JSON.
		JSON.parse(json);
		return JSON.parse(prepare(json));
	} catch (thrown) {
		const reason = `The JSON reader says: ${asError(thrown).message}`;
		return refuseJson("'Parameters (JSON)' is not valid JSON", `${OF_EXPRESSIONS} ${reason}`);
	}
}

/** Puts `null` where an expression that gives nothing has left no value. */
function withoutGaps(source: string): string {
	let isText = false;
	return source.replace(/\\.|"|:(?=\s*[,}])/gs, (found) => {
		if (found === '"') isText = !isText;
		return found === ':' && !isText ? ': null' : found;
	});
}

/**
 * Rewrites valid JSON so that parsing loses nothing. Each number becomes a text and so keeps all its digits;
 * values are sent as text anyway. If the JSON is an object, each name gets its place before it, so that
 * `JSON.parse` keeps all of them, including repeated ones, in their order.
 *
 * The pattern matches characters and numbers, not whole strings: for those, a long string would need too
 * much stack.
 */
function prepare(source: string): string {
	const isObject = source.startsWith('{');
	let isText = false;
	let isName = false;
	let place = 0;
	return source.replace(/\\.|["{,:]|-?\d[\d.eE+-]*/gs, (found) => {
		if (found === '"') {
			isText = !isText;
			return isText && isName && isObject ? `"${place++} ` : found;
		}
		if (isText) return found;
		if (!'{,:'.includes(found)) return `"${found}"`;
		isName = found !== ':';
		return found;
	});
}

/** The name without its place. */
function withoutPlace(name: string): string {
	return name.slice(name.indexOf(' ') + 1);
}

function refuseJson(message: string, reason?: string): never {
	const forms =
		'Enter an object, such as { "region": "north" }, or an array, such as [{ "name": "region", "value": "north" }]. For no parameters, enter {}.';
	return fail({ message, description: sentences(forms, reason) });
}
