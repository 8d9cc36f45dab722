import { backoffRange } from '../../nodes/AgentInvocation/service/retryPolicy.ts';
import {
	createRun,
	getRun,
	jsonOf,
	listAgents,
	onError,
	run,
	useSandbox,
} from '../support/sandboxed.cts';

const sandbox = useSandbox();
beforeEach(() => void jest.replaceProperty(backoffRange, 'first', 20));
afterEach(() => jest.restoreAllMocks());
const RUN = '11111111-2222-4333-8444-555555555555';

// As an expression: what is plainly wrong in the field itself n8n refuses before it runs the node.
const given = (value: unknown) =>
	typeof value === 'string' && value.startsWith('=') ? value : `={{ ${JSON.stringify(value)} }}`;

describe('an agent ID is refused before any request when it is', () => {
	test.each([
		['empty', ''],
		['negative', -3],
		['a fraction', '1.5'],
		['text', 'Daily briefing'],
		['a path', '1/../2'],
		['scientific', '1e3'],
		['too long', '99999999999999999999'],
		['an expression that gives nothing', '={{ $json.nothing }}'],
		['an object', '={{ { id: 1 } }}'],
	])('%s', async (_name, value) => {
		const agent = given(value);
		for (const parameters of [createRun(agent), getRun(agent, RUN)]) {
			const { error } = await run(sandbox.current, parameters);
			expect(error!.message).toMatch(/^'Agent' is (empty|not an agent ID)/);
		}
		expect(sandbox.current.requests).toEqual([]);
	});

	test('a number, or its text with spaces around it, works', async () => {
		for (const agent of [1, ' 1 ', '={{ 1 }}']) {
			const { error } = await run(sandbox.current, createRun(agent, {}, { dryRun: true }));
			expect(error).toBeUndefined();
		}
	});
});

test.each([
	['empty', ''],
	['a path', `../../agents`],
	['dots', '..'],
	['two UUIDs', `${RUN}/${RUN.replace('1', '2')}`],
	['a path with other slashes', 'x\\y'],
	['a query', 'x?y'],
	['escaped already', '%2e%2e'],
	['two words', 'x y'],
	['an expression that gives nothing', '={{ $json.nothing }}'],
	['an object', '={{ { id: 1 } }}'],
])('a run ID is refused before any request when it is %s', async (_name, value) => {
	const { error } = await run(sandbox.current, getRun(1, given(value)));
	expect(error!.message).toMatch(/^'Run ID' is (empty|not a run ID)/);
	expect(error!.description).toContain("'Create a run'");
	expect(sandbox.current.requests).toEqual([]);
});

describe('options are refused with their name', () => {
	test.each([
		[{ timeout: -1 }, "'Time Limit (Seconds)'"],
		[{ timeout: 1e12 }, "'Time Limit (Seconds)'"],
		[{ timeout: 'soon' }, "'Time Limit (Seconds)'"],
		[{ pollInterval: -5 }, "'Poll Interval (Seconds)'"],
		[{ pollInterval: 1e9 }, "'Poll Interval (Seconds)'"],
		[{ maxConcurrency: -1 }, "'Max Concurrency'"],
		[{ maxConcurrency: 2.5 }, "'Max Concurrency'"],
		[{ timeout: '={{ $json.nothing }}' }, "'Time Limit (Seconds)'"],
		[{ outputFormat: '={{ "xml" }}' }, "'Output Format'"],
		[{ retryCreateOnServerError: '={{ $json.nothing }}' }, "'Retry Create on Server Error'"],
	])('%j', async (options, name) => {
		const { error } = await run(sandbox.current, createRun(1, {}, { options }));
		expect(error!.message).toContain(name);
		expect(sandbox.current.requests).toEqual([]);
	});

	test.each([
		[{ limit: 0 }, "'Limit'"],
		[{ limit: 1.5 }, "'Limit'"],
		[{ limit: 5, options: { offset: -1 } }, "'Offset'"],
	])('%j', async (parameters, name) => {
		const { error } = await run(sandbox.current, listAgents(parameters));
		expect(error!.message).toContain(name);
		expect(sandbox.current.requests).toEqual([]);
	});

	test.each([
		[{ dryRun: '={{ $json.nothing }}' }, "'Dry Run' must be true or false"],
		[{ dryRun: '={{ "no" }}' }, "'Dry Run' must be true or false"],
		[{ waitForCompletion: '={{ null }}' }, "'Wait for Completion' must be true or false"],
		[{ specifyParameters: '={{ "yaml" }}' }, "'Specify Parameters' must be"],
	])('%j', async (parameters, message) => {
		const { error } = await run(sandbox.current, createRun(1, {}, parameters));
		expect(error!.message).toContain(message);
		expect(sandbox.current.requests).toEqual([]);
	});

	test.each([
		[{ options: { timeout: '={{ $json.value.toNumber() }}' } }, 'soon', '60'],
		[{ dryRun: '={{ $json.value }}' }, 'soon', false],
	])('%j: of the first item, for this item alone', async (parameters, wrong, right) => {
		const { output } = await run(sandbox.current, createRun(3, { seconds: 0.1 }, parameters), {
			items: [{ value: wrong }, { value: right }],
			...onError('continueRegularOutput'),
		});
		expect(jsonOf(output)).toMatchObject([
			{ error: expect.any(String) as string },
			{ status: 'succeeded' },
		]);
	});

	test.each([
		[{ dryRun: 'false' }, "'Dry Run' must be a boolean, false, not 'false'"],
		[{ waitForCompletion: 1 }, "'Wait for Completion' must be a boolean, true, not '1'"],
		[{ specifyParameters: 'JSON' }, "'Specify Parameters' must be 'json', not 'JSON'"],
	])('%j: n8n has hidden others because of it, and dropped them', async (parameters, message) => {
		const { error } = await run(sandbox.current, createRun(1, {}, parameters));
		expect(error!.message).toBe(message);
		expect(sandbox.current.requests).toEqual([]);
	});

	test("the same of 'Return All'", async () => {
		const { error } = await run(sandbox.current, listAgents({ returnAll: 'false', limit: 3 }));
		expect(error!.message).toBe("'Return All' must be a boolean, false, not 'false'");
	});

	test('a boolean as text or number works', async () => {
		for (const yes of ['={{ "TRUE" }}', '={{ 1 }}']) {
			const { output } = await run(
				sandbox.current,
				createRun(3, { seconds: 0.1 }, { dryRun: '={{ "false" }}', waitForCompletion: yes }),
			);
			expect(jsonOf(output)).toMatchObject([{ status: 'succeeded' }]);
		}
	});

	test('a number as text works', async () => {
		const options = { timeout: '60', pollInterval: '1', maxConcurrency: '5' };
		const { error } = await run(sandbox.current, createRun(3, { seconds: 0.1 }, { options }));
		expect(error).toBeUndefined();
	});
});

describe('a base URL', () => {
	const withUrl = (baseUrl: string) => ({ credential: { baseUrl, apiKey: 'sandbox-key' } });

	test.each([
		['is empty', '', 'is empty'],
		[
			'has another scheme',
			'ftp://agents.example.com/api/v1',
			'must start with https:// or http://',
		],
		['is no address', 'https://', 'is not a web address'],
		['carries a user', 'https://me:pw@agents.example.com/api/v1', 'user name or password'],
		['carries a query', 'https://agents.example.com/api/v1?x=1', 'query'],
		['carries a fragment', 'https://agents.example.com/api/v1#x', 'fragment'],
	])('that %s is refused before any request', async (_name, baseUrl, message) => {
		const { error } = await run(sandbox.current, listAgents(), withUrl(baseUrl));
		expect(error!.message).toContain("'Base URL' in the credential");
		expect(error!.message).toContain(message);
	});

	test.each(['/', '//', ' '])('may end in %j', async (end) => {
		const { output } = await run(
			sandbox.current,
			listAgents(),
			withUrl(sandbox.current.baseUrl + end),
		);
		expect(output).toHaveLength(50);
	});

	test('may leave /api/v1 out', async () => {
		const { origin } = new URL(sandbox.current.baseUrl);
		const { output } = await run(sandbox.current, listAgents(), withUrl(origin));
		expect(output).toHaveLength(50);
	});

	test('with another path leads to an error that says what is usual', async () => {
		const baseUrl = new URL('/api', sandbox.current.baseUrl).href;
		sandbox.current.faults.add({ kind: 'html', status: 404, path: '^/api/agents', times: 9 });
		const { error } = await run(sandbox.current, listAgents(), withUrl(baseUrl));
		expect(error!.description).toContain('usually ends in /api/v1');
	});

	test('that nobody listens on says so', async () => {
		const { error } = await run(
			sandbox.current,
			createRun(1),
			withUrl('http://127.0.0.1:9/api/v1'),
		);
		expect(error!.message).toBe('No connection to the service could be made');
		expect(error!.description).toMatch(/ECONNREFUSED|refused the connection/);
		expect(error!.description).not.toContain('may have been started');
	});
});

test.each([
	['is empty', ' ', 'is empty'],
	['has a line break', 'sandbox-\nkey', 'contains a line break'],
	['has a space', 'sandbox key', 'contains a space'],
	['has a character no header may hold', 'schlüssel€', 'character'],
])('a key that %s is refused before any request', async (_name, apiKey, message) => {
	const credential = { baseUrl: sandbox.current.baseUrl, apiKey };
	const { error } = await run(sandbox.current, listAgents(), { credential });
	expect(error!.message).toContain("'API Key' in the credential");
	expect(error!.message).toContain(message);
	expect(sandbox.current.requests).toEqual([]);
});

test('a key that was pasted with space around it works', async () => {
	const credential = { baseUrl: sandbox.current.baseUrl, apiKey: ' sandbox-key\r\n' };
	const { output } = await run(sandbox.current, listAgents(), { credential });
	expect(output).toHaveLength(50);
});

test('one bad item does not hurt the others when the node continues', async () => {
	const { output } = await run(
		sandbox.current,
		createRun('={{ $json.agent }}', '={{ $json.values }}', { waitForCompletion: false }),
		{
			items: [
				{ agent: 1, values: '{}' },
				{ agent: 'x', values: '{}' },
				{ agent: 1, values: 'no' },
				{ agent: 3, values: '{"seconds":{}}' },
				{ agent: 1, values: '{}' },
			],
			...onError('continueRegularOutput'),
		},
	);
	expect(jsonOf(output)).toMatchObject([
		{ agent_id: 1, status: 'pending' },
		{ error: expect.stringContaining('not an agent ID') as string },
		{ error: expect.stringContaining('not valid JSON') as string },
		{ error: expect.stringContaining('an object') as string },
		{ agent_id: 1, status: 'pending' },
	]);
	expect(output.map(({ pairedItem }) => pairedItem)).toEqual(
		[0, 1, 2, 3, 4].map((item) => ({ item })),
	);
});

test('an expression that n8n cannot evaluate fails its item alone', async () => {
	const { output } = await run(
		sandbox.current,
		createRun('={{ $json.a.b.c }}', {}, { waitForCompletion: false }),
		{
			items: [{ a: { b: { c: 1 } } }, {}],
			...onError('continueRegularOutput'),
		},
	);
	expect(jsonOf(output)).toMatchObject([{ agent_id: 1 }, { error: expect.any(String) as string }]);
});
