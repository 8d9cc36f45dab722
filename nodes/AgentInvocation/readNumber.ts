import { asText, fail, succeed, type Result } from './result';

/** The first two are those of the parameter's `typeOptions`. */
interface Range {
	minValue: number;
	maxValue?: number;
	whole?: boolean;
}

/**
 * Reads a number that a user or an expression gave, as a number or as text.
 *
 * @param label the parameter's display name, for the message
 */
export function readNumber(
	value: unknown,
	label: string,
	{ minValue: min, maxValue: max = Number.MAX_SAFE_INTEGER, whole = false }: Range,
): Result<number> {
	const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
	if (
		typeof number === 'number' &&
		number >= min &&
		number <= max &&
		(!whole || Number.isInteger(number))
	) {
		return succeed(number);
	}
	const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
	return fail({
		message: `'${label}' must be a ${whole ? 'whole ' : ''}number ${range}, not '${asText(value)}'`,
		description: `Correct '${label}'. If it is an expression, see what it gives for this item.`,
	});
}
