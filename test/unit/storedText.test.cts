import fc from 'fast-check';
import { traverseNodeParameters, type FromAIArgument } from 'n8n-workflow';

import { toColumn, toLabel, toParameterName } from '../../nodes/AgentInvocation/storedText.ts';

const anyText = fc.oneof(
	fc.string({ unit: 'binary' }),
	fc.string({ unit: fc.constantFrom('=', '%', '0', 'f', '"', ']', '\\', '$', '\ud83d', '\ude00') }),
	fc.constantFrom('__proto__', 'constructor', 'prototype', 'hasOwnProperty', '%0041', ''),
	fc.string().map((text) => `=${text}`),
	fc.string().map((text) => `$fromAI(${text}`),
);

test('a name comes back from its column, whatever it is', () => {
	fc.assert(
		fc.property(anyText, (name) => toParameterName(toColumn(name)) === name),
		{ numRuns: 2_000 },
	);
});

test('neither a column nor a label is anything but text to n8n', () => {
	fc.assert(
		fc.property(anyText, (text) => {
			for (const kept of [toColumn(text), toLabel(text)]) {
				const asked: FromAIArgument[] = [];
				traverseNodeParameters(kept, asked);
				expect(asked).toEqual([]);
				expect(kept.startsWith('=')).toBe(false);
			}
			const values: Record<string, string> = {};
			expect(values[toColumn(text)]).toBeUndefined();
			values[toColumn(text)] = 'kept';
			expect(Object.entries(values)).toEqual([[toColumn(text), 'kept']]);
		}),
		{ numRuns: 2_000 },
	);
});

test.each(['region', 'Due date', 'größe', 'e-mail (work)', 'región', 'שם', '地域'])(
	'an ordinary name is its own column: %s',
	(name) => expect(toColumn(name)).toBe(name),
);

test('a label is cut where it is long, and not within a character', () => {
	expect(toLabel('x'.repeat(1_000))).toHaveLength(1_000);
	expect(toLabel('x'.repeat(1_001))).toBe(`${'x'.repeat(999)}…`);
	expect(toLabel(`${'x'.repeat(998)}😀😀`)).toBe(`${'x'.repeat(998)}…`);
});
