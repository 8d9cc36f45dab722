import type { IExecuteFunctions } from 'n8n-workflow';

import { asError, asText, fail, failureOf } from './failure';
import { labelOf } from './labels';
import { shorten } from './wording';

/**
 * Reads what the user has entered for an item in a field, or in an option: `options.` and its name.
 *
 * @param byDefault is given if nothing is stored. An expression that gives nothing gives undefined or null.
 * @throws FailureError that names the field and its expression, if the expression cannot be evaluated
 */
export function readParameter(
	context: IExecuteFunctions,
	itemIndex: number,
	name: string,
	byDefault: unknown,
): unknown {
	try {
		return context.getNodeParameter(name, itemIndex, byDefault);
	} catch (thrown) {
		const failure = failureOf(thrown);
		const expression = failingIn(asError(thrown).cause, context, itemIndex);
		const what =
			expression === undefined ? 'The expression' : `The expression ${shorten(expression)}`;
		return fail(
			{
				...failure,
				message: `${what} in '${labelOf(name)}' failed: ${failure.message}`,
				description: failure.description || 'Correct the expression, or the value that it reads.',
			},
			thrown,
		);
	}
}

/**
 * The first expression that cannot be evaluated in what n8n stores of a parameter, since n8n does not always tell it.
 *
 * @param stored what n8n gives as its error's cause
 */
function failingIn(
	stored: unknown,
	context: IExecuteFunctions,
	itemIndex: number,
): string | undefined {
	if (typeof stored === 'object' && stored !== null) {
		for (const inner of Object.values(stored)) {
			const found = failingIn(inner, context, itemIndex);
			if (found !== undefined) return found;
		}
		return undefined;
	}
	if (typeof stored !== 'string' || !isExpression(stored)) return undefined;
	const expression = stored.slice(1);
	try {
		context.evaluateExpression(expression, itemIndex);
		return undefined;
	} catch {
		return expression;
	}
}

/** `minValue` and `maxValue` are those of the parameter's `typeOptions`, except that a field with `orZero` has the minimum 0. */
export interface Range {
	minValue: number;
	maxValue?: number;
	whole?: boolean;
	/** Whether 0 is allowed although it is less than `minValue`. */
	orZero?: boolean;
}

/**
 * Reads a number that a user or an expression gave, as a number or as text.
 *
 * @param name the parameter's, for the message
 * @throws FailureError if it is not a number, or out of its range
 */
export function readNumber(
	value: unknown,
	name: string,
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
	return refuse(value, name, `${orZero ? '0 or ' : ''}a ${whole ? 'whole ' : ''}number ${range}`);
}

/** Reads a boolean: true, false, 1 or 0, or one of these as text. */
export function readBoolean(value: unknown, name: string): boolean {
	const word = wordOf(value);
	if (word === 'true' || word === '1') return true;
	return word === 'false' || word === '0' ? false : refuse(value, name, 'true or false');
}

/** Reads a text. Undefined and null count as an empty one; a number or a boolean is taken as text. */
export function readText(value: unknown, name: string): string {
	if (value === undefined || value === null) return '';
	const isText = typeof value !== 'object' && typeof value !== 'function' && !Number.isNaN(value);
	return isText ? asText(value).trim() : refuse(value, name, 'a text');
}

/** Reads one of a parameter's choices. Not case-sensitive. */
export function readChoice<T extends string>(
	value: unknown,
	name: string,
	choices: readonly T[],
): T {
	const choice = choices.find((one) => one.toLowerCase() === wordOf(value));
	return choice ?? refuse(value, name, choices.map((one) => `'${one}'`).join(' or '));
}

export function isExpression(stored: unknown): stored is string {
	return typeof stored === 'string' && stored.startsWith('=');
}

/**
 * Refuses a parameter that shows or hides others if it is stored in another form than the value that was read, such as the
 * text 'true'. n8n compares the stored value, unless it is an expression, and drops the parameters that it takes for hidden.
 *
 * @returns what was read
 * @throws FailureError if it is stored in another form
 */
export function asStored<T extends string | boolean>(
	context: IExecuteFunctions,
	name: string,
	read: T,
): T {
	const stored = context.getNode().parameters?.[name] ?? read;
	if (stored === read || isExpression(stored)) return read;
	return refuse(stored, name, typeof read === 'boolean' ? `a boolean, ${read}` : `'${read}'`);
}

/** Reads a boolean parameter on which it depends whether others are shown (see {@link asStored}). */
export function readSwitch(
	context: IExecuteFunctions,
	itemIndex: number,
	name: string,
	byDefault = false,
): boolean {
	const given = readParameter(context, itemIndex, name, byDefault);
	return asStored(context, name, readBoolean(given, name));
}

/** A value in the form in which it is compared: as text, without case and surrounding space. */
function wordOf(value: unknown): string {
	return asText(value).trim().toLowerCase();
}

function refuse(value: unknown, name: string, expected: string): never {
	const label = labelOf(name);
	return fail({
		message: `'${label}' must be ${expected}, not '${shorten(asText(value))}'`,
		description: `Correct '${label}'. If it is an expression, see what it gives for this item.`,
	});
}
