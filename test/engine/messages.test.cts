import { NodeHelpers, type INode, type INodeParameters } from 'n8n-workflow';

import { AgentInvocation } from '../../nodes/AgentInvocation/AgentInvocation.node.ts';
import { createRun, getRun, listAgents, run, useSandbox } from '../support/sandboxed.cts';

const sandbox = useSandbox();
const KEY = 'sandbox-key';

/** A wrong setting, what is said about it, and what is said to do. */
type Row = [parameters: INodeParameters, message: string, remedy: string];

const wait = (options: INodeParameters) => createRun(1, {}, { options });
const pairs = (...values: INodeParameters[]) =>
	createRun(2, {}, { specifyParameters: 'keypair', parameterPairs: { values } });
const unchosen = { __rl: true, mode: 'list', value: '' } as INodeParameters;
const required = { id: 'region', displayName: 'region', required: true, display: true };
const mapped = (mappingMode: string, value: INodeParameters | null) =>
	createRun(
		2,
		{},
		{
			specifyParameters: 'fields',
			parameters: { mappingMode, value, schema: [required] } as unknown as INodeParameters,
		},
	);

describe('what the editor shows beside a field', () => {
	const { description } = new AgentInvocation();

	// `Parameter "..." is required.` is n8n's own.
	test.each<[string, INodeParameters, string]>([
		['agentId', createRun('', {}, { agentId: unchosen }), 'Parameter "Agent" is required.'],
		['runId', getRun(1, ''), 'Parameter "Run ID" is required.'],
		['parameters.region', mapped('defineBelow', null), 'Parameter "region" is required'],
	])('%s: %#', (name, parameters, issue) => {
		const node = { type: 'agentInvocation', typeVersion: 1, parameters } as unknown as INode;
		const all = NodeHelpers.getNodeParameters(
			description.properties,
			parameters,
			true,
			false,
			node,
			description,
		);
		const { properties } = description;
		const issues = NodeHelpers.getNodeParametersIssues(
			properties,
			{ ...node, parameters: all ?? {} },
			description,
		);
		expect(issues?.parameters?.[name]).toEqual([issue]);
	});
});

describe('values that were entered one way while another is chosen', () => {
	const { description } = new AgentInvocation();
	const parameters = createRun(
		2,
		{ region: 'north' },
		{
			parameters: { mappingMode: 'defineBelow', value: { region: 'south' }, schema: [] },
			parameterPairs: { values: [{ name: 'region', value: 'east' }] },
		},
	);
	const storedBy = (name: string) =>
		NodeHelpers.getNodeParameters(
			description.properties,
			parameters,
			true,
			false,
			{ typeVersion: 1 },
			{ ...description, name },
		);

	test('are kept', () => {
		expect(storedBy('agentInvocation')).toMatchObject(parameters);
	});

	test('are not, by a tool: a model would be asked for them', () => {
		const stored = storedBy('agentInvocationTool');
		expect(stored).toMatchObject({ parametersJson: '{"region":"north"}' });
		expect(Object.keys(stored ?? {})).not.toContain('parameters');
		expect(Object.keys(stored ?? {})).not.toContain('parameterPairs');
	});
});

const isOfList = (url: string) => url.includes('/agents?');

describe('what the node says about its settings when it is executed', () => {
	const CHOOSE = "Choose an agent from the list in 'Agent', or enter its ID";
	const FROM_CREATE = "Take it from 'run_id' in the output of 'Create a run'";
	const FORMS = 'Enter an object, such as { "region": "north" }, or an array';
	const ONE_VALUE = 'Give a single value';

	const rows: Row[] = [
		[createRun('={{ "" }}'), "'Agent' is empty", CHOOSE],
		[createRun('={{ "Daily" }}'), "'Agent' is not an agent ID: Daily", CHOOSE],
		[getRun(1, '={{ "" }}'), "'Run ID' is empty", FROM_CREATE],
		[getRun(1, 'a/b'), "'Run ID' is not a run ID: a/b", FROM_CREATE],
		[
			mapped('defineBelow', { region: '={{ "" }}' }),
			"Parameter 'region' is required and has no value",
			'Fill it in.',
		],
		[
			mapped('autoMapInputData', null),
			"Parameter 'region' is required and has no value",
			"The input item has no field 'region'. Add it before this node",
		],
		[
			pairs({ name: '', value: 'north' }),
			"A name under 'Parameters' is empty or not a text",
			"Give each value the name of one of the agent's parameters, or remove the pair",
		],
		[
			pairs({ name: 'region', value: 'a' }, { name: 'region', value: 'b' }),
			"Parameter 'region' is given more than once",
			'Keep one value for each parameter',
		],
		[createRun(2, '={{ "" }}'), "'Parameters (JSON)' is empty", FORMS],
		[createRun(2, '={{ "{no" }}'), "'Parameters (JSON)' is not valid JSON", FORMS],
		[createRun(2, '7'), "'Parameters (JSON)' is neither an object nor an array", FORMS],
		[
			createRun(2, '["a"]'),
			'\'Parameters (JSON)\' has an entry without a name and a value: "a"',
			FORMS,
		],
		[createRun(2, { region: {} }), "The value of parameter 'region' is an object", ONE_VALUE],
		[createRun(2, { region: [] }), "The value of parameter 'region' is an array", ONE_VALUE],
		[
			wait({ timeout: -1 }),
			"'Time Limit (Seconds)' must be a number from 0 to 31536000, not '-1'",
			"Correct 'Time Limit (Seconds)'",
		],
		[
			wait({ pollInterval: 'often' }),
			"'Poll Interval (Seconds)' must be 0 or a number from 1 to 86400, not 'often'",
			"Correct 'Poll Interval (Seconds)'",
		],
		[
			wait({ maxConcurrency: 1_001 }),
			"'Max Concurrency' must be a whole number from 0 to 1000, not '1001'",
			"Correct 'Max Concurrency'",
		],
		[
			listAgents({ limit: 0 }),
			"'Limit' must be a whole number of at least 1, not '0'",
			"Correct 'Limit'",
		],
		[
			listAgents({ options: { offset: -1 } }),
			"'Offset' must be a whole number of at least 0, not '-1'",
			"Correct 'Offset'",
		],
	];

	test.each(rows)('%#', async (parameters, message, remedy) => {
		const { error } = await run(sandbox.current, parameters);
		expect(error?.message).toBe(message);
		expect(error?.description).toContain(remedy);
		// Fields that are mapped are those of the agents' list.
		const isMapped = JSON.stringify(parameters).includes('autoMapInputData');
		expect(sandbox.current.requests.filter(({ url }) => !isMapped || !isOfList(url))).toEqual([]);
	});

	const CREDENTIAL = "Open this node's credential and";
	test.each([
		[{ baseUrl: '' }, "'Base URL' in the credential is empty"],
		[
			{ baseUrl: 'ftp://agents.example.com/api/v1' },
			"'Base URL' in the credential must start with https:// or http://",
		],
		[{ baseUrl: 'https://' }, "'Base URL' in the credential is not a web address"],
		[
			{ baseUrl: 'https://me:pw@agents.example.com/api/v1' },
			"'Base URL' in the credential must not contain a user name or password",
		],
		[
			{ baseUrl: 'https://agents.example.com/api/v1?a=1' },
			"'Base URL' in the credential must not contain a query (?)",
		],
		[
			{ baseUrl: 'https://agents.example.com/api/v1#a' },
			"'Base URL' in the credential must not contain a fragment (#)",
		],
		[{ apiKey: '' }, "'API Key' in the credential is empty"],
		[{ apiKey: 'two\nlines' }, "'API Key' in the credential contains a line break"],
		[
			{ apiKey: 'two words' },
			"'API Key' in the credential contains a space or a character that no key has",
		],
	])('credential %#', async (wrong, message) => {
		const credential = { baseUrl: sandbox.current.baseUrl, apiKey: KEY, ...wrong };
		const { error } = await run(sandbox.current, listAgents(), { credential });
		expect(error?.message).toBe(message);
		expect(error?.description).toContain(CREDENTIAL);
		expect(sandbox.current.requests).toEqual([]);
	});
});
