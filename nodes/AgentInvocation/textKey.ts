/**
 * The same text for all texts that differ only in case or Unicode form, such as the two forms of 'é'. First
 * in capitals: some small letters have the same capital, and that of 'ß' is 'SS'. The last letter of a word has
 * the form that it has within one, since the text may be a part of another: 'ς' is 'σ'.
 */
export function textKey(text: string): string {
	return text.toUpperCase().toLowerCase().replaceAll('ς', 'σ').normalize('NFC');
}
