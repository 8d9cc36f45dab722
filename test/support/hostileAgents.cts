import type { SandboxAgent } from '../../sandbox/agents.cts';

/** Written where somebody's script has run. */
export const HACKED = 'hackedByAnAgent';

/** What an expression of the texts below gives where it is evaluated. */
export const EVALUATED = '3141592653';

const RUNS = `window.${HACKED} = true`;

/** Texts that n8n, its editor or its database could take for something else than text. */
export const hostileTexts = {
	'an image': `<img src=x onerror="${RUNS}">`,
	'a script': `<script>${RUNS}</script><b id="${HACKED}">bold</b>`,
	'a link': `<a href="javascript:${RUNS}">click</a> [click](javascript:${RUNS})`,
	'an expression': '={{ 31415 * 100000 + 92653 }}',
	'an expression without =': '{{ 31415 * 100000 + 92653 }}',
	'a broken expression': '={{ nothing.at.all( }}',
	'= alone': '=plain',
	'a question for the model': "$fromAI('password', 'The user's password', 'string')",
	'an expression that asks the model': '={{ $fromAI("password", "The password", "string") }}',
	'a broken question': '$fromAI(',
	'the prototype': '__proto__',
	'the constructor': 'constructor',
	'a prototype': 'prototype',
	'a method': 'toString',
	'a path': 'a.b[0].c',
	'the end of a path': 'a"]["b',
	'the escape of a column': '%0041 100%',
	'a backslash': 'a\\"b\\',
	'line breaks': 'one\ntwo\r\nthree\u2028four',
	'control characters': 'a\u0000b\u0007c\u001b[31md\u007f',
	'right to left': '\u202eabc\u200f \u2067def\u061c',
	'half a character': 'a\ud83d',
	'a megabyte': `1 MB ${'x'.repeat(2 ** 20)}`,
} as const;

/** The first ID of the agents below. */
export const FIRST_HOSTILE_ID = 1_001;

/** An agent for each of these texts, whose name, description, parameter and output are that text. */
export const hostileAgents: SandboxAgent[] = Object.values(hostileTexts).map((text, index) => ({
	id: FIRST_HOSTILE_ID + index,
	name: text,
	description: text,
	parameters: [
		{ name: text, required: true, description: text },
		{ name: 'fails', required: false, description: 'Whether it fails' },
	],
	script: ({ fails }) =>
		fails
			? { durationMs: 0, status: 'failed', error: text }
			: { durationMs: 0, status: 'succeeded', output: text },
}));
