import type { IDataObject, INode, INodeParameters } from 'n8n-workflow';

import type { Fault } from '../../sandbox/faults.cts';

/** What brings a message about. */
export interface Situation {
	parameters: INode['parameters'];
	/** The input items; one empty item when absent. */
	rows?: IDataObject[];
	/** `good` when absent. */
	credential?: keyof ReturnType<typeof credentialsFor>;
	/** What requests about the node's agent meet. Each row with one has an agent of its own. */
	fault?: Fault & { path: string };
	/** Of the node. */
	node?: Partial<INode>;
	/** Of the workflow. */
	settings?: IDataObject;
	/** Whether a webhook starts the workflow and is answered with its result. */
	isAnswered?: true;
	/** The base URL that the credential `changing` has once the run is waited for. */
	changesTo?: string;
}

/** A setting or what else happens, what is said about it, and what is said to do. '…' is any text. */
type Row = [setting: string, situation: Situation, message: string, remedy: string];

const SERVICE = 'https://agents.example.com/api/v1';

/** Keys that the service accepts. */
export const KEYS = { good: 'a-key-that-stays-home', limited: 'a-key-with-a-rate-limit' };

/** Agents that have one name, 'Twin'. */
export const TWINS = [111, 112];

/** Where the credentials of the table lead to, as base URLs. */
export interface Addresses {
	service: string;
	/** The service of an organization without agents. */
	empty: string;
	/** Behind a certificate that nobody trusts. */
	untrusted: string;
}

/** The credentials of the table, by name. */
export function credentialsFor({ service, empty, untrusted }: Addresses) {
	const at = (baseUrl: string) => ({ baseUrl, apiKey: KEYS.good });
	const withKey = (apiKey: string) => ({ baseUrl: service, apiKey });
	return {
		good: at(service),
		changing: at(service),
		limited: withKey(KEYS.limited),
		empty: at(empty),
		untrusted: at(untrusted),
		nobodyThere: at('http://127.0.0.1:9/api/v1'),
		plainHttp: at(service.replace('http:', 'https:')),
		noAddress: at(''),
		otherScheme: at('ftp://agents.example.com/api/v1'),
		noHost: at('https://'),
		withUser: at('https://me:pw@agents.example.com/api/v1'),
		withQuery: at(`${SERVICE}?a=1`),
		withFragment: at(`${SERVICE}#a`),
		noKey: withKey(''),
		keyOfTwoLines: withKey('two\nlines'),
		keyOfTwoWords: withKey('two words'),
		wrongKey: withKey('a-key-that-was-revoked'),
	};
}

const byId = (value: unknown) => ({ __rl: true, mode: 'id', value }) as INodeParameters;
const byName = (value: string) => ({ __rl: true, mode: 'name', value });

function create(
	agentId: unknown,
	values: object | string = {},
	more: IDataObject = {},
): INode['parameters'] {
	return {
		agentId: byId(agentId),
		specifyParameters: 'json',
		parametersJson: typeof values === 'string' ? values : JSON.stringify(values),
		...(more as INodeParameters),
	};
}

const get = (agentId: number, runId: string): INode['parameters'] => ({
	...create(agentId),
	operation: 'get',
	runId,
});

const list = (more: IDataObject) =>
	({ resource: 'agent', operation: 'list', ...more }) as INode['parameters'];

const fields = (agentId: unknown, parameters: IDataObject) =>
	({ agentId: byId(agentId), parameters }) as unknown as INode['parameters'];
const region = { id: 'region', displayName: 'region', required: true, display: true };

const pairs = (...values: IDataObject[]) =>
	create(2, {}, { specifyParameters: 'keypair', parameterPairs: { values } });

const wait = (options: IDataObject, values: object = {}) => create(3, values, { options });

const of = (agentId: number, fault: Fault) => ({
	times: 1_000,
	...fault,
	path: `/agents/${agentId}/`,
});

/** The creation of a run meets trouble. */
const creating = (agentId: number, fault: Fault): Situation => ({
	parameters: create(agentId),
	fault: of(agentId, fault),
});

const answer = (status: number, body?: unknown, headers = {}) =>
	({ kind: 'answer', status, body, headers }) as Fault;
const envelope = (status: number, code: string, message: string) =>
	answer(status, { error: { code, message, request_id: 'req_1' } });

const CHOOSE = "Choose an agent from the list in 'Agent'";
const IN_CREDENTIAL = "Open this node's credential and";
const FORMS = 'Enter an object, such as { "region": "north" }, or an array';
const LOOK_FIRST = 'Before you run this item again, check at the service whether the run is there.';

/** What the node says in place of its output, with its remedy below. */
export const errors: Row[] = [
	// The node's settings
	["'Agent' gives nothing", { parameters: create('={{ "" }}') }, "'Agent' is empty", CHOOSE],
	[
		"'Agent' gives a name",
		{ parameters: create('={{ "Daily" }}') },
		"'Agent' is not an agent ID: Daily",
		CHOOSE,
	],
	[
		"'Agent' has a name that no agent has",
		{ parameters: create(1, {}, { agentId: byName('Nobody') }) },
		"No published agent is named 'Nobody'",
		"Compare it with the agent's name at the service, or choose the agent from the list in 'Agent'.",
	],
	[
		"'Agent' has a name that two agents have",
		{ parameters: create(1, {}, { agentId: byName('twin') }) },
		`2 published agents are named 'twin': ${TWINS.join(', ')}`,
		"Set 'Agent' to 'By ID' and enter the ID of the right one",
	],
	[
		"'Run ID' gives nothing",
		{ parameters: get(1, '={{ "" }}') },
		"'Run ID' is empty",
		"Take it from 'run_id' in the output of 'Create a run'",
	],
	[
		"'Run ID' is a path",
		{ parameters: get(1, 'a/b') },
		"'Run ID' is not a run ID: a/b",
		"Take it from 'run_id' in the output of 'Create a run'",
	],
	[
		'an expression refers to a node that is not there',
		{ parameters: create(2, "={{ $('Nowhere').item.json.x }}") },
		"The expression {{ $('Nowhere').item.json.x }} in 'Parameters (JSON)' failed: Referenced node doesn't exist ('Nowhere')",
		// n8n's own words.
		"The node 'Nowhere' doesn't exist",
	],
	[
		'a required field gives nothing',
		{
			parameters: fields(2, {
				mappingMode: 'defineBelow',
				value: { region: '={{ "" }}' },
				schema: [region],
			}),
		},
		"Parameter 'region' is required and has no value",
		'Fill it in. An expression must give a value for every item.',
	],
	[
		'an input item lacks a required field',
		{ parameters: fields(2, { mappingMode: 'autoMapInputData', value: null, schema: [region] }) },
		"Parameter 'region' is required and has no value",
		"The input item has no field 'region'. Add it before this node",
	],
	[
		'an expression chooses an agent that is not there, whose fields would be mapped',
		{
			parameters: fields('={{ 999 }}', {
				mappingMode: 'autoMapInputData',
				value: null,
				schema: [],
			}),
		},
		"Agent 999 is not in the organization's list",
		"Choose an agent from the list in 'Agent'.",
	],
	[
		'a pair has no name',
		{ parameters: pairs({ name: '', value: 'north' }) },
		"A name under 'Parameters' is empty or not a text",
		"Give each value the name of one of the agent's parameters, or remove the pair.",
	],
	[
		'two pairs have one name',
		{ parameters: pairs({ name: 'region', value: 'a' }, { name: 'region', value: 'b' }) },
		"Parameter 'region' is given more than once",
		'Keep one value for each parameter.',
	],
	[
		'the JSON is empty',
		{ parameters: create(2, '={{ "" }}') },
		"'Parameters (JSON)' is empty",
		FORMS,
	],
	[
		'the JSON has a slip',
		{ parameters: create(2, '={{ "{no" }}') },
		"'Parameters (JSON)' is not valid JSON",
		FORMS,
	],
	[
		'the JSON is a number',
		{ parameters: create(2, '7') },
		"'Parameters (JSON)' is neither an object nor an array",
		FORMS,
	],
	[
		'the JSON is an array of something else',
		{ parameters: create(2, '["north"]') },
		'\'Parameters (JSON)\' has an entry without a name and a value: "north"',
		FORMS,
	],
	[
		'a value is an object',
		{ parameters: create(2, { region: {} }) },
		"The value of parameter 'region' is an object",
		'Give a single value, or turn it into text first',
	],
	[
		"'Time Limit (Seconds)' is negative",
		{ parameters: wait({ timeout: '={{ -1 }}' }) },
		"'Time Limit (Seconds)' must be a number from 0 to 31536000, not '-1'",
		"Correct 'Time Limit (Seconds)'. If it is an expression, see what it gives for this item.",
	],
	[
		"'Poll Interval (Seconds)' gives a word",
		{ parameters: wait({ pollInterval: '={{ "often" }}' }) },
		"'Poll Interval (Seconds)' must be 0 or a number from 1 to 86400, not 'often'",
		"Correct 'Poll Interval (Seconds)'.",
	],
	[
		"'Check All Items First' gives a word",
		{ parameters: wait({ checkFirst: '={{ "perhaps" }}' }) },
		"'Check All Items First' must be true or false, not 'perhaps'",
		"Correct 'Check All Items First'.",
	],
	[
		"'Check All Items First' is on, and two of three items are wrong",
		{
			parameters: create('={{ $json.agent }}', {}, { options: { checkFirst: true } }),
			rows: [{ agent: 1 }, { agent: 9_998 }, { agent: 9_999 }],
		},
		'Item 1 and 1 other did not pass the check: Agent 9998 was not found',
		"These items did not pass either: 2. 'Check All Items First' is on, so this attempt has started no run.",
	],
	[
		"'Check All Items First' is on, and a check gets no answer of the service",
		{
			parameters: create(29, {}, { options: { checkFirst: true } }),
			fault: of(29, { kind: 'html', status: 200 }),
		},
		'Item 0 could not be checked: The answer did not come from the agent invocation service',
		"'Check All Items First' is on, so this attempt has started no run.",
	],
	[
		"'Max Concurrency' is too high",
		{ parameters: wait({ maxConcurrency: '={{ 1001 }}' }) },
		"'Max Concurrency' must be a whole number from 0 to 1000, not '1001'",
		"Correct 'Max Concurrency'.",
	],
	[
		"'Limit' is 0",
		{ parameters: list({ limit: '={{ 0 }}' }) },
		"'Limit' must be a whole number of at least 1, not '0'",
		"Correct 'Limit'.",
	],
	[
		"'Offset' is negative",
		{ parameters: list({ options: { offset: '={{ -1 }}' } }) },
		"'Offset' must be a whole number of at least 0, not '-1'",
		"Correct 'Offset'.",
	],
	[
		'the operation is none of these',
		{ parameters: { ...create(1), operation: 'delete' } },
		"The operation 'delete' is not known",
		"Choose one in 'Operation'.",
	],

	// The credential
	...(
		[
			['has no address', 'noAddress', "'Base URL' in the credential is empty"],
			[
				'has another scheme',
				'otherScheme',
				"'Base URL' in the credential must start with https:// or http://",
			],
			['has no host', 'noHost', "'Base URL' in the credential is not a web address"],
			[
				'has a user in its address',
				'withUser',
				"'Base URL' in the credential must not contain a user name or password",
			],
			[
				'has a query in its address',
				'withQuery',
				"'Base URL' in the credential must not contain a query (?)",
			],
			[
				'has a fragment in its address',
				'withFragment',
				"'Base URL' in the credential must not contain a fragment (#)",
			],
			['has no key', 'noKey', "'API Key' in the credential is empty"],
			[
				'has a key of two lines',
				'keyOfTwoLines',
				"'API Key' in the credential contains a line break",
			],
			[
				'has a key of two words',
				'keyOfTwoWords',
				"'API Key' in the credential contains a space or a character that no key has",
			],
		] as const
	).map<Row>(([what, credential, message]) => [
		`the credential ${what}`,
		{ parameters: list({}), credential },
		message,
		IN_CREDENTIAL,
	]),
	[
		'the key was revoked',
		{ parameters: list({}), credential: 'wrongKey' },
		'The service does not accept the API key',
		'Ask an admin of your organization for the current key',
	],
	[
		'a proxy takes the key away',
		creating(11, envelope(401, 'missing_api_key', 'No key.')),
		'The service received no API key',
		'it must let the x-api-key header pass',
	],
	[
		'nobody is at the address',
		{ parameters: create(1), credential: 'nobodyThere' },
		'No connection to the service could be made',
		"Check the host and port of the credential's 'Base URL'",
	],
	[
		'the address begins with https, and the service speaks plain http',
		{ parameters: create(1), credential: 'plainHttp' },
		'No secure connection to the service could be made',
		'whether it must begin with http:// instead of https://',
	],
	[
		"nobody trusts the service's certificate",
		{ parameters: create(1), credential: 'untrusted' },
		"The service's certificate is not trusted",
		'NODE_EXTRA_CA_CERTS',
	],
	[
		'the address redirects',
		creating(12, answer(307, '', { location: '/elsewhere' })),
		'The address redirects to another one, which the node does not follow',
		'Enter the final address (often the same with https instead of http)',
	],
	[
		'the credential is changed while a run is waited for',
		{
			parameters: create(3, { seconds: 30, text: 'changing' }, { options: { pollInterval: 2 } }),
			credential: 'changing',
			changesTo: SERVICE,
		},
		"This node's credential no longer exists, or its Base URL has changed (run … of agent 3)",
		"use 'Get a run' with a credential for that address",
	],

	// What the service refuses
	[
		'the agent is not published',
		{ parameters: create(9_999) },
		'Agent 9999 was not found',
		'Choose an agent from the list',
	],
	[
		"the run is another agent's",
		{ parameters: get(1, '11111111-2222-4333-8444-555555555555') },
		'The run was not found (run 11111111-2222-4333-8444-555555555555 of agent 1)',
		"If you entered its ID, check the ID, and make sure that 'Agent' is the agent that the run was created with",
	],
	[
		'a parameter has a wrong name',
		{ parameters: create(2, { region: 'north', colour: 'red' }) },
		"Agent 2 has no parameter 'colour'",
		"the names of the agent's parameters below 'Parameters'",
	],
	[
		'the service does not say which parameter has a wrong name',
		{
			parameters: create(13, { region: 'north', colour: 'red' }),
			fault: of(13, envelope(400, 'unknown_parameter', 'No.')),
		},
		'Agent 13 does not have one of the parameters',
		'The service says: No.',
	],
	[
		'a parameter has a wrong value',
		{ parameters: create(2, { region: 'up' }) },
		"Parameter 'region' of agent 2 cannot be 'up'",
		"must exactly match one of the parameter's options at the service",
	],
	[
		'the service does not say which value is wrong',
		{
			parameters: create(14, { region: 'north', colour: 'red' }),
			fault: of(14, envelope(400, 'invalid_parameter_value', 'No.')),
		},
		"A parameter's value is not one that agent 14 knows",
		"must exactly match one of the parameter's options at the service",
	],
	[
		'a required parameter is missing',
		{ parameters: create(2) },
		"Parameter 'region' is required",
		'Check the values in this node',
	],
	[
		'the agent is badly configured',
		{ parameters: create(6) },
		'The agent has no model',
		'the agent itself at the service',
	],
	[
		'the service refuses and does not say why',
		creating(15, envelope(400, '', '')),
		'The service rejected the request',
		'Check the values in this node, and the agent itself at the service.',
	],
	[
		'the rate limit is exceeded for an hour',
		{
			parameters: get(16, '11111111-2222-4333-8444-555555555555'),
			credential: 'limited',
			fault: of(16, answer(429, '', { 'retry-after': '3600' })),
		},
		"The service's rate limit was exceeded for longer than the node may wait (run … of agent 16)",
		'Try again later, or run fewer workflows at a time with the same API key.',
	],

	// Trouble, after which a run may be there
	[
		'the service has a defect',
		creating(17, envelope(500, 'internal_error', 'Oops.')),
		'The service could not process the request (a run may have been started)',
		LOOK_FIRST,
	],
	[
		'a proxy has a defect',
		creating(18, { kind: 'html', status: 502 }),
		'The service, or a proxy in front of it, could not process the request (a run may have been started)',
		'If it keeps happening, contact the service',
	],
	[
		'something else is at the address',
		creating(19, { kind: 'html', status: 200 }),
		'The answer did not come from the agent invocation service (a run may have been started)',
		"Check 'Base URL' in the credential",
	],
	[
		'the connection breaks',
		creating(20, { kind: 'reset' }),
		'The connection to the service was lost before its answer was complete (a run may have been started)',
		LOOK_FIRST,
	],
	[
		'a dry run starts a run',
		{
			parameters: create(30, {}, { dryRun: true }),
			fault: of(30, answer(202, { run_id: 'r1', status: 'pending' })),
		},
		'The service started a run instead of a dry run (run r1 of agent 30)',
		"A proxy in front of it may have dropped 'dry_run' from the address.",
	],
	[
		'the service gives a run an ID that is none',
		creating(21, answer(202, { run_id: 'a/b', status: 'pending' })),
		'The run was started, but its ID cannot be used in an address (run a/b of agent 21)',
		'Its result can only be looked up at the service itself.',
	],
	[
		'Retry On Fail after a create that was not answered',
		{
			...creating(22, { kind: 'reset' }),
			node: { retryOnFail: true, maxTries: 2, waitBetweenTries: 100 },
		},
		'An earlier attempt may have started a run of agent 22 for this item, so this attempt starts none',
		"get its result with 'Get a run'",
	],

	// How a run ends
	[
		'the run fails',
		{ parameters: create(5) },
		"The agent's run failed: A tool of the agent gave no answer (run … of agent 5)",
		"choose 'Output the Run' in 'If Run Does Not Succeed'",
	],
	[
		'one run of many fails',
		{
			parameters: create(3, '={{ JSON.stringify($json) }}'),
			rows: [{ status: 'failed', seconds: 1, text: 'Row 1' }, {}, {}, {}, {}],
		},
		"The agent's run failed: Row 1 (run … of agent 3)",
		"To go on with the other items, set 'On Error' to 'Continue' in this node's settings. 'Retry' in Executions keeps the runs of the other items. 'Get a run' gives the results of these: item 1: run … of agent 3, item 2: run … of agent 3, item 3: run … of agent 3 and 1 more.",
	],
	[
		'a text of the service is HTML, and says that something was canceled',
		{
			parameters: create(3, { status: 'failed', seconds: 0, text: '<b>No</b>, it was canceled.' }),
		},
		"The agent's run failed: <b>No</b>, it was canceled (run … of agent 3)",
		'This is how the run ended at the service.',
	],
	[
		'the run is cancelled',
		{ parameters: create(3, { status: 'cancelled', seconds: 0 }) },
		"The agent's run was cancelled at the service (run … of agent 3)",
		"choose 'Output the Run' in 'If Run Does Not Succeed'",
	],
	[
		'the run ends in a status that nobody knows',
		{
			parameters: get(23, '11111111-2222-4333-8444-555555555555'),
			fault: of(
				23,
				answer(200, {
					run_id: '11111111-2222-4333-8444-555555555555',
					status: 'expired',
					completed_at: '2026-01-01T00:00:00Z',
				}),
			),
		},
		"The agent's run ended as 'expired' (run … of agent 23)",
		"choose 'Output the Run' in 'If Run Does Not Succeed'",
	],
	[
		"'Output Format' is JSON, and the output is not",
		{ parameters: wait({ outputFormat: 'json' }, { seconds: 0 }) },
		"The agent's output is not JSON (run … of agent 3)",
		"Set 'Output Format' under 'Options' to 'Text'.",
	],
	[
		"'Time Limit (Seconds)' is reached",
		{ parameters: wait({ timeout: 1 }, { seconds: 600 }) },
		"The agent's run has not finished within 1 s (run … of agent 3)",
		"To wait longer, raise 'Time Limit (Seconds)' under 'Options'.",
	],
	[
		"the workflow's own timeout is reached",
		{ parameters: wait({}, { seconds: 600 }), settings: { executionTimeout: 91 } },
		"The agent's run has not finished within … s (run … of agent 3)",
		"The workflow's own timeout, or n8n's (EXECUTIONS_TIMEOUT), leaves no more time.",
	],
	[
		'the service does not answer',
		creating(24, { kind: 'stall', delayMs: 600_000 }),
		'The service did not answer in time (a run may have been started)',
		LOOK_FIRST,
	],
];

const stayed = (why: string) =>
	`The wait stayed in memory, where a restart of n8n ends it: ${why}. The runs continue at the service in any case.`;

/** What the node says above its output. */
export const hints: Array<[setting: string, situation: Situation, message: string]> = [
	[
		"'Wait for Completion' is off",
		{ parameters: create(1, {}, { waitForCompletion: false }) },
		"These runs continue at the service. To get a result later, use 'Get a run' with the agent_id and run_id from its output item.",
	],
	[
		"'Dry Run' is on",
		{ parameters: create(1, {}, { dryRun: true }) },
		'This was a dry run. Its output is the prompt and the parameters that a run would get.',
	],
	[
		'the workflow has the old execution order',
		{
			parameters: wait({ pollInterval: 65 }, { seconds: 5 }),
			settings: { executionOrder: 'v0' },
		},
		stayed("the workflow's setting 'Execution Logic' ('Execution Order' in n8n 1) is not v1"),
	],
	[
		"the workflow's own timeout, or n8n's (EXECUTIONS_TIMEOUT), is near",
		{
			parameters: wait({ pollInterval: 65 }, { seconds: 5 }),
			settings: { executionTimeout: 125 },
		},
		stayed("the workflow's own timeout, or n8n's (EXECUTIONS_TIMEOUT), is near"),
	],
	[
		'a webhook is answered with the result',
		{ parameters: wait({ pollInterval: 65 }, { seconds: 5 }), isAnswered: true },
		stayed('the webhook, form or chat that started this workflow is answered with its result'),
	],
	[
		"'Poll Interval (Seconds)' is short, and the wait is stored from the start",
		{ parameters: wait({ pollInterval: 5, whereToWait: 'stored' }, { seconds: 5 }) },
		"The runs were polled every 65 seconds, and not at the 'Poll Interval (Seconds)': n8n stores no shorter waits. For shorter ones, set 'Where to Wait' to 'In Memory Only'.",
	],
];

/** What the list of agents says in place of its entries. */
export const lists: Row[] = [
	[
		'the organization has no agents',
		{ parameters: {}, credential: 'empty' },
		'The organization has no published agents',
		'Publish one in the service and open this list again.',
	],
	[
		'the key was revoked',
		{ parameters: {}, credential: 'wrongKey' },
		'The service does not accept the API key',
		'Ask an admin of your organization for the current key',
	],
	[
		'nobody is at the address',
		{ parameters: {}, credential: 'nobodyThere' },
		'No connection to the service could be made',
		"Check the host and port of the credential's 'Base URL'",
	],
];

/** What stands in place of the fields of an agent's parameters. */
export const notices: Array<[setting: string, situation: Situation, message: string]> = [
	[
		'the agent has no parameters',
		{ parameters: { agentId: byId(1) } },
		'This agent has no parameters. Nothing needs to be filled in.',
	],
	[
		'the agent is an expression without a value',
		{ parameters: { agentId: byId('={{ $json.agent }}') } },
		"'Agent' is an expression that has no value yet, so its parameters are not known. Execute the previous nodes to see them here. 'Using Name-Value Pairs' and 'Using JSON' work without it.",
	],
];
