import type { INodeParameters } from 'n8n-workflow';

import { creates, createRun, getRun, jsonOf, run, useSandbox } from '../support/sandboxed.cts';

// What n8n's own expressions give or fail with, and what the user then reads.
const sandbox = useSandbox();

const NOTHING = '={{ $json.absent }}';
const WRONG = '={{ $json.x. }}';

const pairs = (agentId: number, ...values: INodeParameters[]) =>
	createRun(agentId, {}, { specifyParameters: 'keypair', parameterPairs: { values } });
const fields = (agentId: number, value: INodeParameters) =>
	createRun(
		agentId,
		{},
		{
			specifyParameters: 'fields',
			parameters: { mappingMode: 'defineBelow', value },
		},
	);

describe('an expression that n8n cannot evaluate is shown, with its field', () => {
	test.each<[string, INodeParameters, string]>([
		['the agent', createRun(WRONG), 'Agent'],
		['a pair', pairs(2, { name: 'region', value: 'a' }, { name: 'b', value: WRONG }), 'Parameters'],
		['a field', fields(2, { region: 'a', 'b.c': WRONG }), 'Parameters'],
		['JSON', createRun(2, WRONG), 'Parameters (JSON)'],
		[
			'an option',
			createRun(2, {}, { options: { pollInterval: WRONG } }),
			'Poll Interval (Seconds)',
		],
		['the run', getRun(2, WRONG), 'Run ID'],
	])('%s', async (_, parameters, label) => {
		const { error } = await run(sandbox.current, parameters);
		expect(error).toMatchObject({
			message: `The expression {{ $json.x. }} in '${label}' failed: invalid syntax`,
			description: 'Correct the expression, or the value that it reads.',
		});
		expect(creates(sandbox.current)).toEqual([]);
	});

	test('also one of the options that count for all items', async () => {
		const { error } = await run(
			sandbox.current,
			createRun(2, {}, { options: { maxConcurrency: WRONG } }),
		);
		expect(error?.message).toBe(
			"The expression {{ $json.x. }} in 'Max Concurrency' failed: invalid syntax",
		);
	});
});

test('an expression that counts for the first item alone fails no other', async () => {
	const options = { maxConcurrency: "={{ $itemIndex === 0 ? 5 : $('Nowhere').item.json.x }}" };
	const { output, error } = await run(
		sandbox.current,
		createRun(2, { region: 'north' }, { options }),
		{
			items: [{}, {}],
		},
	);
	expect(error).toBeUndefined();
	expect(jsonOf(output)).toMatchObject([{ status: 'succeeded' }, { status: 'succeeded' }]);
});

describe('there is a hint', () => {
	const LEFT_OUT =
		"Parameter 'text' was not sent for some items, since the expression gave no value for it.";
	const QUOTED =
		/^'Parameters \(JSON\)' has expressions between quotation marks\. .*JSON\.stringify/;

	test.each<[string, INodeParameters, Array<string | RegExp>]>([
		[
			'at a pair whose expression gives nothing',
			pairs(3, { name: 'text', value: NOTHING }),
			[LEFT_OUT],
		],
		['at such a field', fields(3, { text: NOTHING }), [LEFT_OUT]],
		['at a value of an object', createRun(3, '={{ { text: $json.absent } }}'), [LEFT_OUT]],
		['not at what is left empty', pairs(3, { name: 'text', value: '' }), []],
		['not at an empty field', fields(3, { text: '' }), []],
		['at a value in quotation marks', createRun(3, '={ "text": "{{ $json.x }}" }'), [QUOTED]],
		['not at a value that is JSON', createRun(3, '={ "text": {{ JSON.stringify($json.x) }} }'), []],
		[
			'at one that is missing',
			createRun(3, '={ "text": {{ JSON.stringify($json.absent) }} }'),
			[LEFT_OUT],
		],
		[
			'at a date that cannot be read',
			createRun(3, '={ "text": {{ JSON.stringify(DateTime.fromISO(\'soon\')) }} }'),
			[LEFT_OUT],
		],
		[
			'not at a value that is escaped',
			createRun(3, '={ "text": "{{ JSON.stringify($json.x).slice(1, -1) }}" }'),
			[],
		],
		['not at a template that is no expression', createRun(3, '{ "text": "Dear {{name}}" }'), []],
		['not at an empty text that is meant', pairs(3, { name: 'text', value: '={{ "" }}' }), []],
		['not at fixed values', createRun(3, '{ "text": "north" }'), []],
	])('%s', async (_, parameters, hints) => {
		const { run: executed } = await run(sandbox.current, parameters, {
			items: [{ x: 'north' }],
		});
		const [ofNode] = executed.data.resultData.runData['Agent Invocation'] ?? [];
		expect(ofNode?.hints?.map(({ message }) => message) ?? []).toEqual(
			hints.map((one) => (typeof one === 'string' ? one : (expect.stringMatching(one) as string))),
		);
	});
});
