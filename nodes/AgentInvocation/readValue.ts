import type { IExecuteFunctions } from 'n8n-workflow';

import { asText, fail } from './failure';
import { shorten } from './wording';

/** `minValue` and `maxValue` are those of the parameter's `typeOptions`. */
interface Range {
	minValue: number;
	maxValue?: number;
	whole?: boolean;
	/** Whether 0 is taken too, though it is less than `minValue`. */
	orZero?: boolean;
}

/**
 * Reads a number that a user or an expression gave, as a number or as text.
 *
 * @param label the parameter's display name, for the message
 * @throws FailureError if it is not a number, or out of its range
 */
export function readNumber(
	value: unknown,
	label: string,
	{ minValue: min, maxValue: max = Number.MAX_SAFE_INTEGER, whole = false, orZero = false }: Range,
): number {
	const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
	if (
		typeof number === 'number' &&
		((number >= min && number <= max) || (orZero && number === 0)) &&
		(!whole || Number.isInteger(number))
	) {
		return number;
	}
	const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
	return refuse(value, label, `${orZero ? '0 or ' : ''}a ${whole ? 'whole ' : ''}number ${range}`);
}

/** Reads a boolean likewise: also as 1 or 0, and as the text of any of these. */
export function readBoolean(value: unknown, label: string): boolean {
	const word = wordOf(value);
	if (word === 'true' || word === '1') return true;
	return word === 'false' || word === '0' ? false : refuse(value, label, 'true or false');
}

/** Reads a text. Undefined and null count as an empty one; a number or a boolean is taken as text. */
export function readText(value: unknown, label: string): string {
	if (value === undefined || value === null) return '';
	const isText = typeof value !== 'object' && typeof value !== 'function' && !Number.isNaN(value);
	return isText ? asText(value).trim() : refuse(value, label, 'a text');
}

/** Reads one of the values of a parameter of fixed choices likewise. */
export function readChoice<T extends string>(
	value: unknown,
	label: string,
	choices: readonly T[],
): T {
	const choice = choices.find((one) => one.toLowerCase() === wordOf(value));
	return choice ?? refuse(value, label, choices.map((one) => `'${one}'`).join(' or '));
}

/**
 * Gives what was read of a parameter on which it depends whether others are shown. n8n compares what is stored,
 * unless it is an expression, and drops what it takes for hidden. So it may be stored in no other form.
 *
 * @throws FailureError if it is
 */
export function asStored<T extends string | boolean>(
	context: IExecuteFunctions,
	name: string,
	label: string,
	read: T,
): T {
	const stored = context.getNode().parameters?.[name] ?? read;
	if (stored === read || asText(stored).startsWith('=')) return read;
	return refuse(stored, label, typeof read === 'boolean' ? `a boolean, ${read}` : `'${read}'`);
}

/** Reads a boolean parameter on which it depends whether others are shown (see {@link asStored}). */
export function readSwitch(
	context: IExecuteFunctions,
	itemIndex: number,
	{ name, displayName }: { name: string; displayName: string },
	byDefault = false,
): boolean {
	const given = context.getNodeParameter(name, itemIndex, byDefault);
	return asStored(context, name, displayName, readBoolean(given, displayName));
}

/**
 * Gives a function that reads an item's options from the collection 'Options': the value of an option, or the
 * default if the user has not added it. An option whose expression gives nothing does not get the default: it
 * has a value, and a wrong one.
 */
export function readOptions(
	context: IExecuteFunctions,
	itemIndex: number,
): (name: string, byDefault: unknown) => unknown {
	const given = context.getNodeParameter('options', itemIndex, {});
	const options = new Map<string, unknown>(Object.entries(given ?? {}));
	return (name, byDefault) => (options.has(name) ? options.get(name) : byDefault);
}

/** A value in the form in which it is compared: as text, without case and surrounding space. */
function wordOf(value: unknown): string {
	return asText(value).trim().toLowerCase();
}

function refuse(value: unknown, label: string, expected: string): never {
	return fail({
		message: `'${label}' must be ${expected}, not '${shorten(asText(value))}'`,
		description: `Correct '${label}'. If it is an expression, see what it gives for this item.`,
	});
}
