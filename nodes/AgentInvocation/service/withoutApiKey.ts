import type { Answer } from './answer';

/**
 * The shortest key that is searched for everywhere. A shorter one, or its Base64, may be part of an ordinary word: it stays
 * in bodies, and is elsewhere taken out only as text.
 */
const SHORTEST_SECRET = 8;

/** How many of the key's first characters are looked for in all their forms. More takes too long. */
const MOST_SEARCHED = 100;

/** Takes the API key out of an answer, since what a service or a proxy quotes is shown to users and stored by n8n. */
export function withoutApiKey<T>(answer: Answer<T>, apiKey: string): Answer<T> {
	const { body, serviceError, requestId, reason } = answer;
	const isSecret = apiKey.length >= SHORTEST_SECRET;
	const start = apiKey.slice(0, MOST_SEARCHED);
	const rest = escaped(apiKey.slice(MOST_SEARCHED));
	// The rest is matched as it is. In any other form, all up to the next space counts as the rest.
	const text = rest === '' ? inText(start) : `${inText(start)}(?:${rest}|\\S*)`;
	const bytes = rest === '' ? inBytes(start) : inBytes(start).map((form) => `${form}[\\w+/=-]*`);
	const forms = isSecret ? [text, ...bytes] : [text];
	const key = new RegExp(forms.join('|'), 'g');
	// A short key stays in the body, of which only what is nested too deeply is cut off.
	const inBody = isSecret ? key : /(?!)/g;
	const clean = <V>(value: V) => replaceIn(value, key);
	return {
		...answer,
		...(body !== undefined && { body: replaceIn(body, inBody) }),
		...(serviceError && { serviceError: clean(serviceError) }),
		...(requestId !== undefined && { requestId: clean(requestId) }),
		...(reason !== undefined && { reason: clean(reason) }),
	};
}

/** The pattern for the key as it is, or with characters as they stand in an address, in a form, in JSON or in HTML. */
function inText(apiKey: string): string {
	// Backslashes form one part with the character after them. As parts of their own, they could be matched in many ways,
	// which takes very long.
	const parts = apiKey.split(/(?<=[^\\])/u).map((part) => {
		const character = part.replaceAll('\\', '');
		const forms = [escaped(character), inAddress(character), inJson(character)];
		if (character === ' ') forms.push('\\+');
		if (/\W/.test(character)) forms.unshift('&#?\\w{2,6};');
		return `${slashes(part.length - character.length)}(?:${forms.join('|')})`;
	});
	return parts.join('');
}

/**
 * A pattern for backslashes: as many as JSON within JSON within JSON has for them and the next character. Without a bound,
 * matching could take minutes.
 */
function slashes(own: number): string {
	const asTheyAre = `\\\\{${own},${8 * (own + 1)}}`;
	if (own === 0) return asTheyAre;
	const byNumber = `(?:${slashes(0)}${inJson('\\')}){${own}}${slashes(0)}`;
	return `(?:${asTheyAre}|${inAddress('\\'.repeat(own))}|${byNumber})`;
}

/** In an address that is within another one, the percent sign is escaped, too. */
function inAddress(text: string): string {
	return inHex(Buffer.from(text), '%(?:25)*');
}

function inJson(character: string): string {
	const units = character.split('').map((unit) => Buffer.from(unit, 'utf16le').swap16());
	return units.map((unit) => `u${inHex(unit)}`).join(slashes(0));
}

/** Finds the key's bytes in hexadecimal, and in Base64 wherever they begin: a name and a colon may come before them. */
function inBytes(apiKey: string): string[] {
	const inBase64 = [0, 1, 2].map((before) => {
		const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(apiKey)]);
		// Some bits of the characters at both ends are those of other bytes.
		const [from, to] = [Math.ceil((before * 4) / 3), Math.floor((bytes.length * 4) / 3)];
		const own = escaped(bytes.toString('base64').slice(from, to));
		return own.replaceAll('\\+', '[+-]').replaceAll('\\/', '[/_]');
	});
	return [inHex(Buffer.from(apiKey)), ...inBase64];
}

/** Two digits for each byte, in upper or lower case. */
function inHex(bytes: Buffer, before = ''): string {
	const digits = bytes.toString('hex').replace(/../g, `${before}$&`);
	return digits.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

function escaped(text: string): string {
	return text.replace(/\W/g, '\\$&');
}

/** How many levels of an answer are kept; an object counts as two. n8n could not store deeper ones. */
const DEEPEST = 500;

/** The same JSON without the key. */
function replaceIn<V>(value: V, key: RegExp, depth?: number): V;
function replaceIn(value: unknown, key: RegExp, depth = 0): unknown {
	if (typeof value === 'string') return value.replace(key, '(API key)');
	if (typeof value !== 'object' || value === null) return value;
	if (depth > DEEPEST) return null;
	if (Array.isArray(value)) {
		return value.map((entry: unknown) => replaceIn(entry, key, depth + 1));
	}
	const entries = Object.entries(value).map((entry) => replaceIn(entry, key, depth + 1));
	return Object.fromEntries(entries);
}
