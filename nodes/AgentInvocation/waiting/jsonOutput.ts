import type { IDataObject } from 'n8n-workflow';

/** A fence that begins a line, perhaps as an entry of a list. */
const FENCE = /^\s*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})/;

/** The language behind a fence, such as 'json'. */
const LANGUAGE = /^[ \t]*[a-z.][\w+#./-]*/i;

/** More words behind the language, such as a file's name, unless JSON begins there. */
const TITLE = /^(?![ \t]*(?:["[\d-]|\{\s*["}])).*/;

/**
 * Parses JSON as language models write it: as it is, or in one Markdown code block, with or without words
 * around it.
 *
 * @throws SyntaxError if the text is neither
 */
export function parseJsonOutput(text: string): IDataObject[string] {
	const whole = tryParse(text);
	if (whole) return whole.value;
	const block = onlyBlockOf(text.trim());
	if (block === undefined) return parse(text);
	const code = block.replace(LANGUAGE, '');
	const inside = tryParse(block) ?? tryParse(code) ?? tryParse(code.replace(TITLE, ''));
	return inside ? inside.value : parse(code);
}

function tryParse(json: string): { value: IDataObject[string] } | undefined {
	try {
		return { value: parse(json) };
	} catch {
		return undefined;
	}
}

function parse(json: string): IDataObject[string] {
	// `trim` also removes a byte order mark.
	const value: IDataObject[string] = JSON.parse(json.trim());
	if (isDeeper(value, DEEPEST)) throw new SyntaxError('It is nested too deeply');
	if (hasInfinity(value)) throw new SyntaxError('It has a number that is too large');
	return value;
}

/** How many levels a value may have. n8n could not store many more. */
const DEEPEST = 500;

function isDeeper(value: unknown, levels: number): boolean {
	if (typeof value !== 'object' || value === null) return false;
	return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

function hasInfinity(value: unknown): boolean {
	if (typeof value !== 'object' || value === null) return value === Infinity || value === -Infinity;
	return Object.values(value).some(hasInfinity);
}

/**
 * The content of the only Markdown code block in a text; undefined if there is none.
 *
 * Models also write on the fence lines: a block may begin right after its language, and end at a fence that ends a line.
 * No line of JSON ends like that, since its texts end with a quotation mark.
 *
 * @throws SyntaxError if there is more than one, or one that does not end
 */
function onlyBlockOf(text: string): string | undefined {
	const blocks: string[] = [];
	let open: { fence: string; from: number } | undefined;
	for (const { 0: line, index } of text.matchAll(/[^\r\n]+/g)) {
		const found = open ? undefined : FENCE.exec(line);
		if (found) open = { fence: found[1] ?? '', from: index + found[0].length };
		if (!open) continue;
		const { fence, from } = open;
		const written = line.slice(Math.max(from - index, 0)).trimEnd();
		const left = withoutEnd(written, fence.charAt(0));
		if (written.length - left.length >= fence.length) {
			const to = index + line.trimEnd().length - (written.length - left.length);
			blocks.push(text.slice(from, to));
			open = undefined;
		} else if (found && fence.startsWith('`') && written.includes('`')) {
			// Code within a line of text is no block.
			open = undefined;
		}
	}
	if (open) throw new SyntaxError('Its code block does not end');
	if (blocks.length > 1) throw new SyntaxError('It has more than one code block');
	return blocks[0];
}

/** The text without the repetitions of a character at its end. */
function withoutEnd(text: string, character: string): string {
	let end = text.length;
	while (text.charAt(end - 1) === character) end--;
	return text.slice(0, end);
}
