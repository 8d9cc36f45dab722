/**
 * What two texts have in common that differ in case or in their Unicode form alone, such as two forms of 'é'.
 * By way of capitals, since some small letters share theirs, and 'ß' is 'SS'.
 */
export function textKey(text: string): string {
	return text.toUpperCase().toLowerCase().normalize('NFC');
}
