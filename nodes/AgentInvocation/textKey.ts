/** Characters that may come with a pasted text, and that nobody sees. */
export const INVISIBLE = /[\u00AD\u200B-\u200F\u202A-\u202E\u2060\u2066-\u2069\uFEFF]/g;

/** A text without invisible characters and surrounding space. */
export function visibleIn(text: string): string {
	return text.replace(INVISIBLE, '').trim();
}

/**
 * Gives the same key for texts that look the same. It ignores case, invisible characters, the width of spaces, and Unicode
 * form ('é' has two). Upper case brings together letters that share a capital, and turns 'ß' into 'SS'. Lower case comes
 * first, since 'ẞ' is a capital already and would stay. A final 'ς' becomes 'σ', since the text may be part of a longer one.
 */
export function textKey(text: string): string {
	const letters = text.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ');
	return letters.replace(INVISIBLE, '').replace(/\s+/g, ' ').normalize('NFC');
}

/** The same text for all names that look the same: space around a name is no part of it (see {@link textKey}). */
export function nameKey(name: string): string {
	return textKey(name).trim();
}

/** Things by the {@link nameKey} of their names. */
export function byName<T>(things: T[], nameOf: (thing: T) => string): Map<string, T[]> {
	const named = new Map<string, T[]>();
	for (const thing of things) {
		const key = nameKey(nameOf(thing));
		named.set(key, [...(named.get(key) ?? []), thing]);
	}
	return named;
}
