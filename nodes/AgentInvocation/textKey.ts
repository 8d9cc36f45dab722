/** What two texts have in common that differ in case or in their Unicode form alone, such as two forms of 'é'. */
export function textKey(text: string): string {
	return text.toLowerCase().normalize('NFC');
}
