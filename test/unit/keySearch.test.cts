import { DECOY, formsIn, formsOf, SECRET } from '../support/keySearch.cts';

const around = (form: Buffer) =>
	Buffer.concat([Buffer.from('before '), form, Buffer.from(' after')]);

test.each([...formsOf(SECRET)])('the search for the key finds it %s', (name, form) => {
	expect(formsIn(around(form), SECRET)).toContain(name);
	expect(formsIn(around(form), DECOY)).toEqual([]);
});

test('and finds it within text that was encoded as a whole', () => {
	const rows = [0, 1, 2].map((length) => ({ pad: 'x'.repeat(length), key: SECRET }));
	for (const row of rows) {
		for (const encoding of ['base64', 'base64url', 'hex', 'utf16le'] as const) {
			const text = `${row.pad}${SECRET}, and more`;
			const encoded =
				encoding === 'utf16le' ? Buffer.from(text, encoding) : Buffer.from(text).toString(encoding);
			expect(formsIn(encoded, SECRET)).not.toEqual([]);
		}
		expect(formsIn(JSON.stringify([JSON.stringify(row)]), SECRET)).toEqual(['in JSON in JSON']);
	}
});
