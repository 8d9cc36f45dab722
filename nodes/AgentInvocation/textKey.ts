/**
 * The same text for all texts that differ only in case or Unicode form, such as the two forms of 'é'. Also
 * in capitals: some small letters have the same capital, and that of 'ß' is 'SS'; but 'ẞ' stays itself, so small
 * letters come first. A final 'ς' becomes 'σ', since the text may be part of a longer one.
 */
export function textKey(text: string): string {
	return text.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ').normalize('NFC');
}
