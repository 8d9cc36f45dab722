import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import net from 'node:net';
import type { AddressInfo } from 'node:net';

import { version } from 'n8n-workflow/package.json';

import { backoffRange } from '../../nodes/AgentInvocation/service/retryPolicy.ts';
import { requestTimeouts } from '../../nodes/AgentInvocation/service/service.ts';
import type { Fault } from '../../sandbox/faults.cts';
import {
	createRun,
	creates,
	getRun,
	jsonOf,
	listAgents,
	onError,
	run,
	useSandbox,
} from '../support/sandboxed.cts';

const sandbox = useSandbox();
beforeEach(() => void jest.replaceProperty(backoffRange, 'first', 50));
afterEach(() => jest.restoreAllMocks());

const UNKNOWN_RUN = '99999999-8888-4777-8666-555555555555';
const KEY = 'sandbox-key';

describe('an unknown parameter, an unknown agent and a bad key give different, helpful messages', () => {
	test.each([
		{
			what: 'an unknown parameter',
			parameters: createRun(3, { colour: 'red' }),
			code: 'unknown_parameter',
			message: "Agent 3 has no parameter 'colour'",
			remedy: "below 'Parameters'",
		},
		{
			what: 'an unknown value',
			parameters: createRun(2, { region: 'up' }),
			code: 'invalid_parameter_value',
			message: "Parameter 'region' of agent 2 cannot be 'up'",
			remedy: "'up' is not an option of parameter 'region'",
		},
		{
			what: 'an unknown agent',
			parameters: createRun(9_999),
			code: 'agent_not_found',
			message: 'Agent 9999 was not found',
			remedy: 'not published',
		},
		{
			what: 'an unknown run',
			parameters: getRun(3, UNKNOWN_RUN),
			code: 'run_not_found',
			message: `The run was not found (run ${UNKNOWN_RUN} of agent 3)`,
			remedy: 'If you entered its ID, check the ID',
		},
		{
			what: 'a bad key',
			parameters: listAgents(),
			apiKey: 'revoked-key',
			code: 'invalid_api_key',
			message: 'The service does not accept the API key',
			remedy: 'Settings, API Key',
		},
		{
			what: 'a bad agent configuration, whose code is not documented',
			parameters: createRun(6),
			code: 'agent_configuration_invalid',
			message: 'The agent has no model',
			remedy: 'the agent itself at the service',
		},
	])('$what', async ({ parameters, apiKey = KEY, code, message, remedy }) => {
		const credential = { baseUrl: sandbox.current.baseUrl, apiKey };
		const { error } = await run(sandbox.current, parameters, { credential });
		expect(error!.message).toBe(message);
		expect(error!.description).toContain(remedy);
		expect(error!.description).toContain(`code: ${code}`);
		expect(error!.description).toMatch(/request ID: req_[0-9a-f-]{36}/);
		expect(error!.context.details).toMatchObject({
			code,
			request_id: expect.stringMatching(/^req_/) as string,
		});
		expect(error!.description).not.toContain(apiKey);
	});

	test('a wrong parameter among several is the one that the service quotes', async () => {
		const { error } = await run(sandbox.current, createRun(2, { region: 'north', colour: 'red' }));
		expect(error!.message).toBe("Agent 2 has no parameter 'colour'");
		const body = { error: { code: 'unknown_parameter', message: 'No.', request_id: 'r' } };
		sandbox.current.faults.add({ method: 'POST', kind: 'answer', status: 400, body });
		const { error: other } = await run(sandbox.current, createRun(2, { region: 'x', colour: 'y' }));
		expect(other!.message).toBe('Agent 2 does not have one of the parameters');
		expect(other!.description).toContain('The service says: No.');
	});

	test('whatever code a 401 has, it is the key', async () => {
		const body = { error: { code: 'key_expired', message: 'Expired.', request_id: 'r' } };
		sandbox.current.faults.add({ kind: 'answer', status: 401, body });
		const { error } = await run(sandbox.current, listAgents());
		expect(error!.message).toBe('The service does not accept the API key');
		expect(error!.description).toContain('The service says: Expired.');
	});

	test('no key at all, as when a proxy takes the header away', async () => {
		sandbox.current.faults.add({
			kind: 'answer',
			status: 401,
			body: { error: { code: 'missing_api_key', message: 'No key.', request_id: 'req_1' } },
		});
		const { error } = await run(sandbox.current, listAgents());
		expect(error!.message).toBe('The service received no API key');
	});
});

describe('a create that may have started a run is sent once, and the error says that one may exist', () => {
	const faults: Array<[string, Fault]> = [
		['a timeout', { kind: 'stall', delayMs: 600_000, carriedOut: true }],
		['a reset before the request is carried out', { kind: 'reset' }],
		['a reset after the request is carried out', { kind: 'reset', carriedOut: true }],
		[
			'a 500 of the service',
			{
				kind: 'answer',
				status: 500,
				body: { error: { code: 'internal_error', message: 'Oops', request_id: 'req_1' } },
			},
		],
		['a page of a proxy', { kind: 'html', status: 502, carriedOut: true }],
		['a truncated answer', { kind: 'truncated', carriedOut: true }],
		[
			'an answer without a run ID',
			{ kind: 'answer', status: 202, body: { status: 'pending' }, carriedOut: true },
		],
	];

	test.each(faults)('%s', async (_name, fault) => {
		if (fault.kind === 'stall') jest.replaceProperty(requestTimeouts, 'POST', 5_000);
		sandbox.current.faults.add({ method: 'POST', ...fault });
		const { error } = await run(sandbox.current, createRun(3));
		expect(creates(sandbox.current)).toHaveLength(1);
		expect(error!.description).toContain('A run of agent 3 may have been started');
	});

	test('a status that the interface does not list', async () => {
		const body = { error: { code: 'conflict', message: 'Busy.', request_id: 'r' } };
		sandbox.current.faults.add({ method: 'POST', kind: 'answer', status: 409, body });
		const { error } = await run(sandbox.current, createRun(3));
		expect(creates(sandbox.current)).toHaveLength(1);
		expect(error!.message).toBe('The service rejected the request (a run may have been started)');
	});

	test('the option allows another create after a 5xx', async () => {
		sandbox.current.faults.add({ method: 'POST', kind: 'html', status: 503 });
		const { output } = await run(
			sandbox.current,
			createRun(3, { seconds: 0.1 }, { options: { retryCreateOnServerError: true } }),
		);
		expect(output).toHaveLength(1);
		expect(creates(sandbox.current)).toHaveLength(2);
	});

	test('a rate limit started nothing, so the create is sent again', async () => {
		sandbox.current.faults.add({ method: 'POST', kind: 'answer', status: 429 });
		const { output } = await run(sandbox.current, createRun(3, { seconds: 0.1 }));
		expect(output).toHaveLength(1);
		expect(sandbox.current.runs.all).toHaveLength(1);
	});

	test('so does one whose body cannot be read', async () => {
		// It says that it is compressed, and is not.
		const headers = { 'content-encoding': 'gzip', 'retry-after': '1' };
		sandbox.current.faults.add({ method: 'POST', kind: 'answer', status: 429, headers, body: {} });
		const { output } = await run(sandbox.current, createRun(3, { seconds: 0.1 }));
		expect(output).toHaveLength(1);
		expect(sandbox.current.runs.all).toHaveLength(1);
	});
});

describe('every error after a create names the run', () => {
	const final: Array<[string, Fault]> = [
		[
			'the key is revoked',
			{
				kind: 'answer',
				status: 401,
				body: { error: { code: 'invalid_api_key', message: '', request_id: 'r' } },
			},
		],
		[
			'the agent vanishes',
			{
				kind: 'answer',
				status: 404,
				body: { error: { code: 'agent_not_found', message: '', request_id: 'r' } },
			},
		],
		[
			'the service refuses',
			{
				kind: 'answer',
				status: 403,
				body: { error: { code: 'forbidden', message: '', request_id: 'r' } },
			},
		],
	];

	test.each(final)('%s', async (_name, fault) => {
		sandbox.current.faults.add({ method: 'GET', times: 100, ...fault });
		const { error } = await run(sandbox.current, createRun(3));
		const { runId } = sandbox.current.runs.all[0]!;
		expect(error!.message).toContain(runId);
		expect(error!.context.details).toMatchObject({ run_id: runId, agent_id: 3 });
	});

	test('and so does a continued item', async () => {
		sandbox.current.faults.add({ method: 'GET', times: 100, ...final[0]![1] });
		const { output } = await run(sandbox.current, createRun(3), onError('continueRegularOutput'));
		const { runId } = sandbox.current.runs.all[0]!;
		expect(jsonOf(output)).toEqual([
			{
				error: `The service does not accept the API key (run ${runId} of agent 3)`,
				details: {
					code: 'invalid_api_key',
					http_status: 401,
					request_id: 'r',
					agent_id: 3,
					run_id: runId,
				},
			},
		]);
	});

	test('when one item ends the node, the error names the runs of the others, and no more are started', async () => {
		const items = [
			{ s: 60, status: 'succeeded' },
			{ s: 0.2, status: 'failed' },
			...Array<object>(50).fill({ s: 60 }),
		];
		const { error } = await run(
			sandbox.current,
			createRun(
				3,
				'={{ JSON.stringify({ seconds: $json.s, status: $json.status, text: $itemIndex }) }}',
				{ options: { maxConcurrency: 4 } },
			),
			{ items: items as never },
		);
		const { all } = sandbox.current.runs;
		expect(all).toHaveLength(4);
		const runIdOf = (item: number) =>
			all.find(({ bindings }) => bindings.text === `${item}`)?.runId;
		expect(error!.message).toContain(runIdOf(1));
		expect(error!.context.itemIndex).toBe(1);
		for (const item of [0, 2, 3]) {
			expect(error!.description).toContain(`item ${item}: run ${runIdOf(item)} of agent 3`);
		}
	});

	test('of many items, it says how to go on, then names three runs; its context has all', async () => {
		const items = [{ status: 'failed' }, ...Array<object>(7).fill({ status: 'succeeded' })];
		const values = '={{ JSON.stringify({ seconds: 0.5, status: $json.status }) }}';
		const { error } = await run(sandbox.current, createRun(3, values), { items: items as never });
		const remedies = ["'On Error' to 'Continue'", "'Retry' in Executions"];
		const [onError, retry, more] = [...remedies, 'and 4 more'].map((text) =>
			error!.description.indexOf(text),
		);
		expect(onError).toBeGreaterThan(0);
		expect(retry).toBeGreaterThan(onError!);
		expect(more).toBeGreaterThan(retry!);
		expect(error!.description.match(/item \d+: run/g)).toHaveLength(3);
		expect(error!.context.runs).toHaveLength(7);
	});

	test('one that has no others says nothing of them', async () => {
		const { error } = await run(sandbox.current, createRun(5));
		expect(error!.description).not.toMatch(/other items|Executions/);
	});
});

describe('a temporary failure while polling does not fail a healthy run', () => {
	const faults: Array<[string, Fault]> = [
		[
			'500',
			{
				kind: 'answer',
				status: 500,
				body: { error: { code: 'internal_error', message: '', request_id: '' } },
			},
		],
		['502 with a page', { kind: 'html', status: 502 }],
		['200 with a page', { kind: 'html', status: 200 }],
		['404 with a page', { kind: 'html', status: 404 }],
		['a redirect', { kind: 'answer', status: 307, headers: { location: '/elsewhere' } }],
		['a reset', { kind: 'reset' }],
		['a truncated body', { kind: 'truncated' }],
		['an empty body', { kind: 'answer', status: 200, body: '' }],
		['JSON of another shape', { kind: 'answer', status: 200, body: { hello: 'there' } }],
		['429', { kind: 'answer', status: 429 }],
		['429 with seconds', { kind: 'answer', status: 429, headers: { 'retry-after': '1' } }],
		['a slow answer', { kind: 'delay', delayMs: 1_500 }],
		['no answer', { kind: 'stall', delayMs: 5_000 }],
	];

	test.each(faults)('%s', async (_name, fault) => {
		jest.replaceProperty(requestTimeouts, 'GET', 1_000);
		sandbox.current.faults.add({ method: 'GET', times: 2, ...fault });
		const { output } = await run(sandbox.current, createRun(3, { seconds: 0.2 }));
		expect(jsonOf(output)).toMatchObject([{ status: 'succeeded', output: 'Done.' }]);
		expect(creates(sandbox.current)).toHaveLength(1);
	});

	test('nor does a run that the service does not know yet', async () => {
		sandbox.with({ notFoundMs: 1_500 });
		const { output } = await run(sandbox.current, createRun(3, { seconds: 0.2 }));
		expect(jsonOf(output)).toMatchObject([{ status: 'succeeded' }]);
	});

	test.each(['none', 'seconds', 'date'] as const)(
		"nor does the service's rate limit (Retry-After: %s)",
		async (retryAfter) => {
			for (const body of ['envelope', 'empty'] as const) {
				sandbox.with({ rateLimit: { requests: 4, windowMs: 1_000, retryAfter, body } });
				const { output } = await run(sandbox.current, createRun(3, { seconds: 0.2 }), {
					items: [{}, {}, {}],
				});
				expect(jsonOf(output)).toMatchObject(Array(3).fill({ status: 'succeeded' }));
			}
			expect(sandbox.current.runs.all).toHaveLength(6);
		},
	);
});

test('a connection that is reset amid the handshake has sent nothing', async () => {
	let connections = 0;
	const server = net.createServer((socket) => {
		connections++;
		socket.on('error', () => {}).once('data', () => socket.resetAndDestroy());
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	const { port } = server.address() as AddressInfo;
	const credential = { baseUrl: `https://127.0.0.1:${port}/api/v1`, apiKey: KEY };
	const { error } = await run(sandbox.current, createRun(1), { credential });
	server.close();
	expect(error!.message).toBe('No connection to the service could be made');
	expect(connections).toBe(5);
});

describe('the key stays home', () => {
	let foreign: Server;
	let received: IncomingHttpHeaders[];
	beforeEach(async () => {
		received = [];
		foreign = createServer((request, response) => {
			received.push(request.headers);
			response.end('{"agents":[],"pagination":{"total":0}}');
		});
		await new Promise<void>((resolve) => foreign.listen(0, '127.0.0.1', resolve));
	});
	afterEach(() => new Promise((resolve) => foreign.close(resolve)));

	test.each([301, 302, 303, 307, 308])(
		'a %d to another origin never receives it',
		async (status) => {
			const location = `http://127.0.0.1:${(foreign.address() as AddressInfo).port}/agents`;
			sandbox.current.faults.add({ kind: 'answer', status, headers: { location }, times: 2 });
			for (const parameters of [listAgents(), createRun(1)]) {
				const { error } = await run(sandbox.current, parameters);
				expect(error!.message).toContain('redirects');
				const startsRun = parameters.resource === 'run' && [302, 303].includes(status);
				expect(error!.message.includes('may have been started')).toBe(startsRun);
			}
			expect(received).toEqual([]);
			expect(sandbox.current.runs.all).toEqual([]);
		},
	);

	test('what the service quotes of it is taken out, and it stands nowhere in the execution', async () => {
		sandbox.current.faults.add({
			kind: 'answer',
			status: 401,
			body: { error: { code: 'invalid_api_key', message: `Unknown key ${KEY}.`, request_id: KEY } },
		});
		const { run: execution, error } = await run(sandbox.current, listAgents());
		expect(error!.description).toContain('Unknown key (API key).');
		expect(JSON.stringify(execution)).not.toContain(KEY);
	});

	test('an agent that quotes it says something else', async () => {
		const values = (status: string) => ({ seconds: 0, status, text: `"${KEY}" it is` });
		const json = { options: { outputFormat: 'json' } };
		const failed = await run(sandbox.current, createRun(3, values('failed')));
		expect(failed.error!.message).toContain('failed: "(API key)" it is');
		const noJson = await run(
			sandbox.current,
			createRun(3, values('succeeded'), json),
			onError('continueRegularOutput'),
		);
		expect(jsonOf(noJson.output)).toMatchObject([{ details: { output: '"(API key)" it is' } }]);
		const done = await run(sandbox.current, createRun(3, values('succeeded')));
		expect(jsonOf(done.output)).toMatchObject([{ output: '"(API key)" it is' }]);
	});

	test('a key as short as a word does not change what an agent says', async () => {
		sandbox.with({ apiKeys: ['one'] });
		const credential = { baseUrl: sandbox.current.baseUrl, apiKey: 'one' };
		const parameters = createRun(3, { seconds: 0 });
		const { output } = await run(sandbox.current, parameters, { credential });
		expect(jsonOf(output)).toMatchObject([{ output: 'Done.' }]);
	});

	test.each(['refused', 'lost'])(
		'nor does it stand in an execution whose connection was %s',
		async (how) => {
			const credential = { baseUrl: 'http://127.0.0.1:9/api/v1', apiKey: KEY };
			sandbox.current.faults.add({ kind: 'reset', times: 9 });
			const { run: execution, error } = await run(
				sandbox.current,
				listAgents(),
				how === 'refused' ? { credential } : {},
			);
			expect(error).toBeDefined();
			expect(JSON.stringify(execution)).not.toContain(KEY);
		},
	);
});

describe("'Continue (using error output)'", () => {
	test('sends the failed items to the second output and the others to the first', async () => {
		const { output, errors } = await run(sandbox.current, createRun('={{ $json.agent }}', '{}'), {
			items: [{ agent: 1 }, { agent: 5 }, { agent: 'x' }, { agent: 4_711 }, { agent: 7 }],
			...onError('continueErrorOutput'),
		});
		expect(jsonOf(output).map(({ agent_id }) => agent_id)).toEqual([1, 7]);
		expect(output.map(({ pairedItem }) => pairedItem)).toEqual([{ item: 0 }, { item: 4 }]);
		expect(errors.map(({ pairedItem }) => pairedItem)).toEqual([
			{ item: 1 },
			{ item: 2 },
			{ item: 3 },
		]);
		const runId = sandbox.current.runs.all.find(({ agentId }) => agentId === 5)!.runId;
		const messages = jsonOf(errors).map(({ error }) => error);
		expect(messages).toEqual([
			expect.stringContaining(`(run ${runId} of agent 5)`),
			"'Agent' is not an agent ID: x",
			'Agent 4711 was not found',
		]);
		// Older engines keep nothing else.
		const [major, minor] = version.split('.').map(Number) as [number, number];
		if (major < 2 || (major === 2 && minor < 36)) return;
		expect(jsonOf(errors)).toMatchObject([
			{ agent: 5, details: { agent_id: 5, run_id: runId, status: 'failed' } },
			{ agent: 'x' },
			{ agent: 4_711, details: { code: 'agent_not_found', http_status: 404 } },
		]);
	});
});

describe('texts of others in our messages', () => {
	test("n8n's own words do not take their place", async () => {
		const text = 'shopEPERMissions ETIMEDOUT';
		const { error } = await run(
			sandbox.current,
			createRun(3, { seconds: 0, status: 'failed', text }),
		);
		expect(error!.message).toContain(`failed: ${text}`);
	});

	test('a failed execution is not taken for one that was stopped', async () => {
		const values = { seconds: 0, status: 'failed', text: 'The order was canceled' };
		const { run: execution, error } = await run(sandbox.current, createRun(3, values));
		expect(execution.status).not.toBe('canceled');
		expect(error!.message).toContain('failed: The order was cancel\u2060ed (run');
	});

	test('they do not become HTML in the editor', async () => {
		sandbox.current.faults.add({
			kind: 'answer',
			status: 400,
			body: {
				error: {
					code: 'unknown_parameter',
					message: '<img src=x onerror=alert(1)>',
					request_id: 'r',
				},
			},
		});
		const { error } = await run(sandbox.current, createRun(1));
		expect(error!.description).toContain('&lt;img src=x onerror=alert(1)&gt;');
	});
});

// What a cancelled execution would still wait for takes longer than a test may.
describe('cancelling', () => {
	const stall = { kind: 'stall', delayMs: 600_000 } as const;
	const sent = (method: string) =>
		sandbox.current.requests.filter((request) => request.method === method);

	test.each([
		['while it sleeps', () => sent('GET').filter(({ status }) => status === 200).length === 2],
		['while a request is under way', () => sent('GET').length === 2],
	])('ends the wait (%s) and says which runs go on', async (name, cancelWhen) => {
		if (name.includes('request')) {
			sandbox.current.faults.add({ ...stall, method: 'GET', times: 2 });
		}
		const { error } = await run(sandbox.current, createRun(3, { seconds: 600 }), {
			items: [{}, {}],
			cancelWhen,
		});
		expect(error!.message).toContain('canceled');
		for (const { runId } of sandbox.current.runs.all) expect(error!.description).toContain(runId);
		expect(sandbox.current.runs.all).toHaveLength(2);
	});

	test('where no run is started says nothing of one', async () => {
		sandbox.current.faults.add(stall);
		const cancelWhen = () => sent('GET').length === 1;
		const { error } = await run(sandbox.current, listAgents(), { cancelWhen });
		expect(error!.message).toBe('The execution was canceled');
		expect(error!.description ?? '').not.toContain('run');
	});

	test('during a create says that a run may exist', async () => {
		sandbox.current.faults.add({ ...stall, method: 'POST', carriedOut: true });
		const cancelWhen = () => sandbox.current.runs.all.length === 1;
		const { error } = await run(sandbox.current, createRun(3), { cancelWhen });
		expect(error!.description).toContain('(a run may have been started)');
	});
});
