/**
 * Makes the texts of an agent safe for the editor to store with the node. On execution, n8n evaluates every
 * stored text that begins with '=', asks a model for every `$fromAI(...)` in one, and loses values under
 * names such as `__proto__` or `a"]b` (docs/n8n.md, The editor).
 */

/** The longest label, in UTF-16 units. The editor stores labels with the workflow. */
const LONGEST_LABEL = 1_000;

/** An invisible character at which no line breaks. */
export const WORD_JOINER = '\u2060';

/** A text that is only shown, such as the name of an agent or of a field. A cut is shown as '…'. */
export function toLabel(text: string): string {
	return cut(text, LONGEST_LABEL)
		.replace(/^=/, `${WORD_JOINER}=`)
		.replace(/\$(?=fromAI)/gi, `$${WORD_JOINER}`);
}

/** Cuts a text that is longer than so many UTF-16 units, but never between the two halves of a character. */
export function cut(text: string, longest: number): string {
	if (text.length <= longest) return text;
	return `${text.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Names that are column IDs as they are. */
const PLAIN = /^[\p{L}\p{M}\p{N} _.,:;()/&+*?!@#'-]+$/u;

/** What `toColumn` makes of one UTF-16 unit. */
const ESCAPED = /%([0-9a-f]{4})/g;

/**
 * The ID of the resource mapper's column for a parameter: its name, if that is safe to store. {@link
 * toParameterName} gives the name back.
 */
export function toColumn(name: string): string {
	// Not names such as `constructor`, which every object inherits, nor `prototype`, which n8n's lodash does
	// not take.
	if (PLAIN.test(name) && !(name in {}) && name !== 'prototype') return name;
	return name.replace(/^.|[^\p{L}\p{M}\p{N} ]/gsu, (character) =>
		character.replace(/./gs, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
	);
}

/** The name of the parameter whose column has this ID. */
export function toParameterName(column: string): string {
	return column.replace(ESCAPED, (_, unit: string) => String.fromCharCode(parseInt(unit, 16)));
}
