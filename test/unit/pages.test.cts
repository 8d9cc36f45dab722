import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import type { INodeProperties, NodePropertyTypes } from 'n8n-workflow';

import { projectRoot } from '../../hosts/pack.cts';
import { operationFields } from '../../nodes/AgentInvocation/operations';
import { evidencePage } from '../support/evidence.cts';

const fileOf = (page: string) => path.join(projectRoot, page);
const read = (page: string) => readFileSync(fileOf(page), 'utf8');

test('docs/evidence.md has the figures of the reports as they are', () => {
	const page = 'docs/evidence.md';
	if (process.env.UPDATE_REPORT) writeFileSync(fileOf(page), evidencePage());
	expect(read(page)).toBe(evidencePage());
});

test.each([
	['README.md', 1_500],
	['docs/waiting.md', 2_000],
])('%s has at most %d words, as wc counts them', (page, most) => {
	expect(read(page).trim().split(/\s+/).length).toBeLessThanOrEqual(most);
});

/** A row of a table of fields or options. */
interface Row {
	name: string;
	default: string;
	meaning: string;
}

/** The rows of the tables below a heading, up to the next heading of the same level. */
function rowsBelow(page: string, heading: string): Row[] {
	const [, section = ''] = read(page).split(`\n## ${heading}\n`);
	const [text = ''] = section.split('\n## ');
	return text
		.split('\n')
		.filter((line) => line.startsWith('|') && !/^\| (-|Field |Option )/.test(line))
		.map((line) => line.split('|').map((cell) => cell.trim()))
		.map(([, name = '', byDefault = '', meaning = '']) => ({ name, default: byDefault, meaning }));
}

/** What is no field that a user fills in. */
const NO_FIELD: NodePropertyTypes[] = ['hidden', 'notice', 'collection'];

function fieldsOf(resource: string, operation: string): INodeProperties[] {
	return operationFields.filter(({ name, type, displayOptions }) => {
		const { resource: resources = [], operation: operations = [] } = displayOptions?.show ?? {};
		const isOfOperation = resources.includes(resource) && operations.includes(operation);
		return isOfOperation && !NO_FIELD.includes(type) && name !== 'aboutParameters';
	});
}

function optionsOf(resource: string, operation: string): INodeProperties[] {
	const { options = [] } =
		operationFields.find(
			({ name, displayOptions: { show } = {} }) =>
				name === 'options' &&
				show?.resource?.includes(resource) &&
				show.operation?.includes(operation),
		) ?? {};
	return options.filter((option) => 'displayName' in option && 'type' in option);
}

/** The choices of a field that has some. */
const choicesOf = ({ type, options = [] }: INodeProperties) =>
	type === 'options' ? options.filter((option) => 'value' in option) : [];

/** A field's default as a page writes it. */
function defaultOf(field: INodeProperties): string {
	const { type, default: value } = field;
	if (type === 'boolean') return value ? 'on' : 'off';
	if (type === 'json' && typeof value === 'string') return `\`${value}\``;
	if (type === 'options') return choicesOf(field).find((one) => one.value === value)?.name ?? '';
	return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** The rows that a page has to have, each once. */
const described = (fields: INodeProperties[]) => [
	...new Map(fields.map((field) => [field.displayName, defaultOf(field)])),
];

const written = (rows: Row[]) => rows.map((row) => [row.name, row.default]);

describe('docs/options.md', () => {
	const OPTIONS = 'docs/options.md';
	const create = optionsOf('run', 'create');
	const get = optionsOf('run', 'get');
	const list = [...fieldsOf('agent', 'list'), ...optionsOf('agent', 'list')];

	test.each([
		['Create a run', fieldsOf('run', 'create')],
		['Get a run', fieldsOf('run', 'get')],
		['Options of runs', create],
		['List agents', list],
	])('%s: has every field with its default, and no other', (heading, fields) => {
		expect(fields.length).toBeGreaterThan(1);
		expect(written(rowsBelow(OPTIONS, heading)).sort()).toEqual(described(fields).sort());
	});

	test('names every choice', () => {
		const rows = ['Create a run', 'Options of runs'].flatMap((one) => rowsBelow(OPTIONS, one));
		for (const field of [...fieldsOf('run', 'create'), ...create]) {
			const { meaning = '' } = rows.find(({ name }) => name === field.displayName) ?? {};
			const missing = choicesOf(field).filter(({ name }) => !meaning.includes(`**${name}**`));
			expect({ field: field.name, missing }).toEqual({ field: field.name, missing: [] });
		}
	});

	test('marks those that Create a run alone has', () => {
		const alone = create.filter(({ name }) => !get.some((other) => other.name === name));
		const marked = rowsBelow(OPTIONS, 'Options of runs').filter(({ meaning }) =>
			meaning.startsWith('Only **Create a run**.'),
		);
		expect(marked.map(({ name }) => name)).toEqual(alone.map(({ displayName }) => displayName));
	});

	test('both operations have the same defaults', () => {
		const ofCreate = new Map(described(create));
		for (const [name, byDefault] of described(get)) expect(ofCreate.get(name)).toBe(byDefault);
	});
});

test('the options in README have the same defaults, in short', () => {
	const rows = new Map(
		written(rowsBelow('docs/options.md', 'Options of runs')) as [string, string][],
	);
	for (const { name, default: short } of rowsBelow('README.md', 'Options')) {
		expect(rows.get(name)?.startsWith(short)).toBe(true);
	}
});
