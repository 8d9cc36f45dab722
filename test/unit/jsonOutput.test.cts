import fc from 'fast-check';

import { parseJsonOutput } from '../../nodes/AgentInvocation/waiting/jsonOutput.ts';

const VALUE = { a: [1, 'x'] };
const JSON_TEXT = '{\n  "a": [1, "x"]\n}';

describe('JSON is taken', () => {
	test.each<[string, string]>([
		['as it is', JSON_TEXT],
		['with a byte order mark', `\ufeff${JSON_TEXT}`],
		['in a code block', `\`\`\`json\n${JSON_TEXT}\n\`\`\``],
		['in a code block without a language', `\`\`\`\n${JSON_TEXT}\n\`\`\``],
		['with another name for the language', `\`\`\` application/json\n${JSON_TEXT}\n\`\`\``],
		['in capitals', `\`\`\`JSON\n${JSON_TEXT}\n\`\`\``],
		['with tildes', `~~~json\n${JSON_TEXT}\n~~~`],
		['with longer fences', `\`\`\`\`json\n${JSON_TEXT}\n\`\`\`\`\``],
		['with words around', `Here it is:\n\n\`\`\`json\n${JSON_TEXT}\n\`\`\`\n\nAnything else?`],
		['with CRLF', `Here:\r\n\`\`\`json\r\n{"a":[1,\r\n"x"]}\r\n\`\`\`\r\nDone.\r\n`],
		['with CR', 'Here:\r```json\r{"a":[1,"x"]}\r```\r'],
		['with spaces at the ends of lines', '```json  \n{"a":[1,"x"]}  \n```  \n'],
		['with a title', '```json title="a.json"\n{"a":[1,"x"]}\n```'],
		['with the name of a file', '```json:out/a.json\n{"a":[1,"x"]}\n```'],
		['with other spaces around it', '```json\n\u00a0\ufeff{"a":[1,"x"]}\u00a0\n```'],
		['indented', '   ```json\n   {"a":[1,"x"]}\n   ```'],
		['in a list', '1. The result:\n\n   - ```json\n     {"a":[1,"x"]}\n     ```\n2. Done'],
		['in a code block after a byte order mark', '\ufeff```json\n{"a":[1,"x"]}\n```'],
		['all on one line', '```json {"a":[1,"x"]}```'],
		['with attributes', '```{.json}\n{"a":[1,"x"]}\n```'],
		['on the line of the first fence', '```{"a":[1,\n"x"]}\n```'],
		['on the line of the last fence', 'So:\n```json\n{"a":[1,"x"]}```\nThat is all.'],
		['beside code within a line', 'The key `a`:\n```foo``` is no block.\n```\n{"a":[1,"x"]}\n```'],
		['beside fences within a line', 'A block begins with ``` or ~~~.\n```\n{"a":[1,"x"]}\n```'],
	])('%s', (_, text) => {
		expect(parseJsonOutput(text)).toEqual(VALUE);
	});

	test.each([42, -1.5, true, null, 'text', [], {}])('if it is %j', (value) => {
		expect(parseJsonOutput(JSON.stringify(value))).toEqual(value);
		expect(parseJsonOutput(`\`\`\`json\n${JSON.stringify(value)}\n\`\`\``)).toEqual(value);
		expect(parseJsonOutput(`\`\`\`${JSON.stringify(value)}\`\`\``)).toEqual(value);
	});

	test('as it is where it only holds a code block in a text', () => {
		const markdown = 'Run:\n```json\n{"b": 2}\n```\n';
		for (const value of [markdown, { markdown }, [markdown, markdown]]) {
			expect(parseJsonOutput(JSON.stringify(value))).toEqual(value);
			expect(parseJsonOutput(JSON.stringify(value, undefined, 2))).toEqual(value);
		}
	});

	test('with whatever texts in it, in a code block of either fence', () => {
		const texts = fc.array(fc.constantFrom('```', '~~~', '\n', '\\', '"', 'json', ' ', '- ', '{}'));
		fc.assert(
			fc.property(texts, texts, fc.constantFrom('```', '~~~~'), (some, more, fence) => {
				const value = { [some.join('')]: [more.join('')] };
				for (const indent of [0, 2]) {
					const json = JSON.stringify(value, undefined, indent);
					expect(parseJsonOutput(`So:\n${fence}json\n${json}\n${fence}\n`)).toEqual(value);
				}
			}),
		);
	});
});

describe('it is no JSON', () => {
	const block = '```json\n{}\n```\n';
	test.each([
		[`${block}and\n${block}`, 'It has more than one code block'],
		['```json\n{}', 'Its code block does not end'],
	])('and why: %j', (text, reason) => {
		expect(() => parseJsonOutput(text)).toThrow(new SyntaxError(reason));
	});

	test.each<[string, string]>([
		['if there is no block', 'It is done.'],
		['with words around it alone', `Here: ${JSON_TEXT}`],
		['with two blocks', `${block}and\n${block}`],
		['with two blocks of which one is none', `${block}and\n\`\`\`bash\nls\n\`\`\``],
		['in a block without an end', '```json\n{}'],
		['in a block without a beginning', '{}\n```'],
		['in a whole block before half of one', `${block}\`\`\`json\n{`],
		['in a block that ends with the other fence', '```json\n{}\n~~~'],
		['in a block that ends with a shorter fence', '````json\n{}\n```'],
		['in a block within a block', '````markdown\n```json\n{}\n```\n````'],
		['if the block is of something else', '```python\nprint({})\n```'],
		['if the block is empty', '```json\n```'],
		['if the block has only spaces', '```json\n \n```'],
		['if the block has two values', '```json\n{}\n{}\n```'],
		['if the first of two values is on the line of the fence', '```json {"a":1}\n{"b":2}\n```'],
		['if a cut object begins on the line of the fence', '```json { "a": [1,\n2\n```'],
		['if the first of two numbers is on the line of the fence', '```1\n2\n```'],
		['if the first of two arrays is on the line of the fence', '``` []\n[2]\n```'],
		['if the block is cut', '```json\n{"a": [1,\n```'],
		['in code within a line', 'The result is ```json {}``` here.'],
		['if it is empty', ''],
		['if it has more levels than n8n could store', `${'['.repeat(5_000)}${']'.repeat(5_000)}`],
	])('%s', (_, text) => {
		expect(() => parseJsonOutput(text)).toThrow(SyntaxError);
	});

	test.each(['`', '~', ' ', '\n', '```', '```\n', '- ', '- ```\n', '1', '```x', '`\n~~~'])(
		'if it is %j two hundred thousand times over, and that is soon known',
		(part) => {
			expect(() => parseJsonOutput(`x${part.repeat(200_000)}x`)).toThrow(SyntaxError);
			expect(() => parseJsonOutput(`\n${part.repeat(200_000)}x`)).toThrow(SyntaxError);
		},
	);
});
