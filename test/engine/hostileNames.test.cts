import {
	traverseNodeParameters,
	type FromAIArgument,
	type INodeParameters,
	type ResourceMapperField,
} from 'n8n-workflow';

import { searchAgents } from '../../nodes/AgentInvocation/editor/searchAgents.ts';
import { getAgentParameters } from '../../nodes/AgentInvocation/editor/getAgentParameters.ts';
import { hostileAgents, hostileTexts, FIRST_HOSTILE_ID } from '../support/hostileAgents.cts';
import { loadOptionsContext } from '../support/engine.cts';
import {
	createRun,
	creates,
	getRun,
	jsonOf,
	onError,
	run,
	useSandbox,
} from '../support/sandboxed.cts';

const sandbox = useSandbox();
beforeEach(() => sandbox.with({ moreAgents: hostileAgents }));

const texts = Object.entries(hostileTexts).map(
	([what, text], index) => [what, text, FIRST_HOSTILE_ID + index] as const,
);

function context(agentId: number) {
	const { baseUrl } = sandbox.current;
	return loadOptionsContext({
		credential: { baseUrl, apiKey: 'sandbox-key' },
		parameters: createRun(agentId),
	});
}

/** A label or message as it is read. */
const visible = (text = '') => text.replaceAll('\u2060', '');

/** What the editor stores once an agent is chosen from the list and its parameter is filled in. */
async function stored(id: number, value: string, mappingMode = 'defineBelow') {
	const { results } = await searchAgents.call(context(id));
	const { name } = results.find((entry) => entry.value === id)!;
	const { fields } = await getAgentParameters.call(context(id));
	const values: Record<string, string> = {};
	values[columnOf(fields)] = value;
	const parameters = {
		resource: 'run',
		operation: 'create',
		agentId: { __rl: true, mode: 'list', value: id, cachedResultName: name },
		specifyParameters: 'fields',
		parameters: {
			mappingMode,
			value: mappingMode === 'defineBelow' ? values : null,
			matchingColumns: [],
			schema: fields,
		},
		waitForCompletion: false,
	};
	return { name, fields, parameters: parameters as unknown as INodeParameters };
}

const columnOf = ([first]: ResourceMapperField[]) => first!.id;

const sent = () =>
	creates(sandbox.current).map(
		({ body }) => (body as { parameter_bindings: unknown }).parameter_bindings,
	);

describe.each(texts)('an agent whose texts are %s', (what, text, id) => {
	// A message is not longer than 2,000 characters.
	const said = what === 'a megabyte' ? text.slice(0, 500) : text;
	test('is shown as it is, and where it is cut, that is seen', async () => {
		const { name, fields } = await stored(id, 'mine');
		for (const label of [name, fields[0]!.displayName]) {
			const shown = visible(label);
			if (what === 'a megabyte') expect(shown).toMatch(/^1 MB x+…$/);
			else expect(shown.startsWith(text)).toBe(true);
		}
	});

	test('has its parameter filled in under its true name, and nothing of it is evaluated', async () => {
		const { parameters } = await stored(id, 'mine');
		const { error } = await run(sandbox.current, parameters);
		expect(error).toBeUndefined();
		expect(sent()).toEqual([[{ name: text, value: 'mine' }]]);
	});

	test('has it asked for by its true name', async () => {
		const { parameters } = await stored(id, '');
		const { error } = await run(sandbox.current, parameters);
		// A message names it in short.
		expect(visible(error?.message)).toContain(text.slice(0, 60));
		expect(sent()).toEqual([]);
	});

	test('asks a model for nothing', async () => {
		const asked: FromAIArgument[] = [];
		traverseNodeParameters((await stored(id, 'mine')).parameters, asked);
		expect(asked).toEqual([]);
	});

	test('has a path to its column, as the editor reads it', async () => {
		const { fields } = await stored(id, 'mine');
		const column = columnOf(fields);
		// The editor finds the column by this expression, and lodash takes no such names.
		expect(/value\["(.+?)"\]/.exec(`parameters.value["${column}"]`)?.[1]).toBe(column);
		expect(column).not.toMatch(/[\\\n\r\u2028]|^(__proto__|constructor|prototype)$/);
	});

	test('gives its output, and what went wrong, as they are', async () => {
		const parameters = (values: object) =>
			createRun(id, {}, { parametersJson: JSON.stringify(values) });
		const pairs = Object.fromEntries([[text, 'mine']]);
		const succeeded = await run(sandbox.current, parameters(pairs));
		expect(jsonOf(succeeded.output)).toMatchObject([{ status: 'succeeded', output: text }]);

		const failed = await run(sandbox.current, parameters({ fails: 'yes', ...pairs }));
		expect(failed.error?.message).not.toMatch(/<[a-z/]/i);
		expect(visible(failed.error?.message)).toContain(said);
		const continued = await run(
			sandbox.current,
			parameters({ fails: 'yes', ...pairs }),
			onError('continueRegularOutput'),
		);
		expect(jsonOf(continued.output)).toMatchObject([
			{ error: expect.stringContaining(said) as string },
		]);
	});

	test('and a service that speaks so: as the editor needs it, which renders the descriptions of nodes', async () => {
		const body = { error: { code: text, message: text, request_id: text } };
		sandbox.current.faults.add({ kind: 'answer', status: 400, body, times: 9 });
		const { error } = await run(
			sandbox.current,
			getRun(id, '11111111-2222-4333-8444-555555555555'),
		);
		const escaped = said.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
		expect(error?.description).toContain(escaped);
		await expect(searchAgents.call(context(id))).rejects.toMatchObject({
			description: expect.stringContaining(said) as string,
		});
	});
});

test('a field of the input item is mapped to the parameter of its true name', async () => {
	// An item of n8n has no field of the first name.
	const mapped = texts.filter(([, text]) => text !== '__proto__');
	for (const [, text, id] of mapped) {
		const { parameters } = await stored(id, '', 'autoMapInputData');
		await run(sandbox.current, parameters, { items: [{ [text]: 'mine' }] });
	}
	expect(sent()).toEqual(mapped.map(([, name]) => [{ name, value: 'mine' }]));
});
