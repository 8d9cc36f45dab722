import { asText, fail } from '../../failure';
import { isJsonObject, type ParameterBinding } from '../../service/types';
import { shorten } from '../../wording';

/** A parameter as the user gave it. */
export interface GivenParameter {
	name: string;
	value: unknown;
	/** Whether it comes from an expression, which is expected to give a value. */
	isExpected?: boolean;
}

/**
 * Makes bindings for the service from what the user gave: all values as text, empty ones left out, every name once.
 *
 * @param hints get one for each value that may not be what the user expects
 * @param textOfObject the expression that turns an object into text where the values are entered
 * @throws FailureError if a value cannot be sent as text, or a name is given twice
 */
export function bind(
	given: GivenParameter[],
	hints: Set<string>,
	textOfObject = '{{ JSON.stringify($json.field) }}',
): ParameterBinding[] {
	const wrong = given.find(({ value }) => whyRefused(value) !== undefined);
	if (wrong) {
		const what = whyRefused(wrong.value);
		return fail({
			message: `The value of parameter '${shorten(wrong.name)}' is ${what}`,
			description:
				what === NO_DATE || what === NO_NUMBER
					? 'The expression could not read it, or expects another format. Correct the expression, or the value that it reads.'
					: `The service takes text. Give a single value, or turn it into text first, for example with ${textOfObject}.`,
			advice: 'Call this tool again with a single text or number as this value.',
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
	// An empty text may be meant.
	const missing = given.find(
		({ value, isExpected }) => isExpected && (value === undefined || value === null),
	);
	if (missing) {
		addHint(
			hints,
			`Parameter '${shorten(missing.name)}' was not sent for some items, since the expression gave no value for it.`,
		);
	}
	const bindings = given
		.filter(({ value }) => !isEmpty(value))
		.map(({ name, value }) => ({ name, value: textOfDate(value) ?? String(value) }));
	const joined = bindings.find(({ value }) => /\[object Object\]|Invalid Date/.test(value));
	if (joined) {
		addHint(
			hints,
			`The value of parameter '${shorten(joined.name)}' contains '[object Object]' or an invalid date. If an expression has put it there, correct the expression.`,
		);
	}
	return bindings;
}

/** As many as a user may read, however many parameters there are. */
const MOST_HINTS = 10;

export function addHint(hints: Set<string>, hint: string): void {
	if (hints.size < MOST_HINTS) hints.add(hint);
}

export function isEmpty(value: unknown): boolean {
	return value === undefined || value === null || value === '';
}

const NO_DATE = 'not a valid date';

const NO_NUMBER = 'not a number';

/** What n8n turns such values into if an expression joins them with other text, even a single space. */
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
