/** A key that looks another way in every format that escapes something. */
export const SECRET = 'k3y"of\\the/org+&<x>%=that-stays-home';

/** A text of the same kind that is no secret: where it is found, the key would be. */
export const DECOY = 'd3c"oy\\of/the+&<x>%=that-shows-up';

/** How a text may be written, by name. */
export function formsOf(text: string): Map<string, Buffer> {
	const forms = new Map([
		['as it is', Buffer.from(text)],
		['in JSON', inJson(text, 1)],
		['in JSON in JSON', inJson(text, 2)],
		['in JSON in JSON in JSON', inJson(text, 3)],
		['in JSON, each character by its number', Buffer.from(inJsonByNumbers(text))],
		['in a URL', Buffer.from(encodeURI(text))],
		['in a query', Buffer.from(encodeURIComponent(text))],
		['in a query in a query', Buffer.from(encodeURIComponent(encodeURIComponent(text)))],
		['in a form', Buffer.from(new URLSearchParams({ '': text }).toString().slice(1))],
		['in HTML', Buffer.from(inHtml(text))],
		['in hex', Buffer.from(Buffer.from(text).toString('hex'))],
		['in capital hex', Buffer.from(Buffer.from(text).toString('hex').toUpperCase())],
		['in UTF-16, little end first', Buffer.from(text, 'utf16le')],
		['in UTF-16, big end first', Buffer.from(text, 'utf16le').swap16()],
	]);
	for (const alphabet of ['base64', 'base64url'] as const) {
		for (const offset of [0, 1, 2]) {
			forms.set(`in ${alphabet}, ${offset} bytes in`, inBase64(text, alphabet, offset));
		}
	}
	return forms;
}

/** The same without those in UTF-16, which no answer could have: its body is text already. */
export function textFormsOf(text: string): Map<string, string> {
	const forms = [...formsOf(text)].filter(([name]) => !name.includes('UTF-16'));
	return new Map(forms.map(([name, form]) => [name, form.toString()]));
}

/** The forms in which a text is there. */
export function formsIn(bytes: Buffer | string, text: string): string[] {
	const haystack = Buffer.from(bytes);
	return [...formsOf(text)].filter(([, form]) => haystack.includes(form)).map(([name]) => name);
}

/** The places where a text is, each with its forms. */
export function placesOf(text: string, places: Record<string, Buffer | string>): string[] {
	return Object.entries(places).flatMap(([place, bytes]) => {
		const forms = formsIn(bytes, text);
		return forms.length > 0 ? [`${place}: ${forms.join(', ')}`] : [];
	});
}

function inJson(text: string, times: number): Buffer {
	let written = text;
	for (let time = 0; time < times; time++) written = JSON.stringify(written).slice(1, -1);
	return Buffer.from(written);
}

/** As some writers have it, with capital digits. */
function inJsonByNumbers(text: string): string {
	const numbers = text.split('').map((unit) => unit.charCodeAt(0).toString(16).toUpperCase());
	return numbers.map((number) => `\\u${number.padStart(4, '0')}`).join('');
}

function inHtml(text: string): string {
	const entities: Record<string, string> = {
		'&': '&amp;',
		'<': '&lt;',
		'>': '&gt;',
		'"': '&quot;',
	};
	return text.replace(/[&<>"]/g, (character) => entities[character]!);
}

/** What is the same of a text within base64 whatever stands before and after it. */
function inBase64(text: string, alphabet: 'base64' | 'base64url', offset: number): Buffer {
	const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)]);
	const first = Math.ceil((offset * 8) / 6);
	const end = Math.floor((bytes.length * 8) / 6);
	return Buffer.from(bytes.toString(alphabet).slice(first, end));
}
