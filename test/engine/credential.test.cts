import { AgentInvocationApi } from '../../credentials/AgentInvocationApi.credentials.ts';
import { backoffRange } from '../../nodes/AgentInvocation/service/retryPolicy.ts';
import { startSandbox } from '../../sandbox/server.cts';
import { createRun, jsonOf, run, useSandbox } from '../support/sandboxed.cts';

// n8n reads the credential again for each request, so it may change while a run is waited for.
const sandbox = useSandbox();
beforeEach(() => void jest.replaceProperty(backoffRange, 'first', 20));
afterEach(() => jest.restoreAllMocks());

/** Resolves once a run has been polled. */
async function polled(): Promise<void> {
	while (!sandbox.current.requests.some(({ method }) => method === 'GET')) {
		await new Promise((resolve) => setTimeout(resolve, 10));
	}
}

test('that n8n cannot read for a moment does not end the wait', async () => {
	let reads = 0;
	const credential = {
		apiKey: 'sandbox-key',
		get baseUrl() {
			reads++;
			if (reads > 2 && reads < 4) throw new Error('Connection terminated unexpectedly');
			return sandbox.current.baseUrl;
		},
	};
	const { output } = await run(sandbox.current, createRun(3, { seconds: 1.5 }), { credential });
	expect(jsonOf(output)).toMatchObject([{ status: 'succeeded' }]);
	expect(reads).toBeGreaterThan(3);
});

test('that is gone ends the wait and names the run', async () => {
	let isGone = false;
	const credential = {
		apiKey: 'sandbox-key',
		get baseUrl() {
			if (isGone) throw new Error('Credential with ID "1" does not exist for type "x".');
			return sandbox.current.baseUrl;
		},
	};
	const running = run(sandbox.current, createRun(3, { seconds: 600 }), { credential });
	await polled();
	isGone = true;
	const { error } = await running;
	const { runId } = sandbox.current.runs.all[0]!;
	expect(error!.message).toContain('no longer exists, or its Base URL has changed');
	expect(error!.message).toContain(runId);
	expect(error!.description).toContain('does not exist');
});

test('that was changed to another service gets its key to that one alone', async () => {
	const other = await startSandbox(0, { apiKeys: ['other-key'] });
	const credential = { apiKey: 'sandbox-key', baseUrl: sandbox.current.baseUrl };
	const running = run(sandbox.current, createRun(3, { seconds: 600 }), { credential });
	await polled();
	Object.assign(credential, { apiKey: 'other-key', baseUrl: other.baseUrl });
	const { error } = await running;
	await other.close();
	expect(error!.message).toContain(sandbox.current.runs.all[0]!.runId);
	expect(error!.description).toContain('Base URL has changed');
	const keys = sandbox.current.requests.map(({ apiKey }) => apiKey);
	expect(new Set(keys)).toEqual(new Set(['sandbox-key']));
	expect(other.requests).toEqual([]);
});

describe('adds its key to a request', () => {
	const type = new AgentInvocationApi();
	const credential = { baseUrl: ' agents.example.com/ ', apiKey: ' key ' };

	test.each<[string, object]>([
		["of this node's", { url: 'https://agents.example.com/api/v1/agents' }],
		["of the credential's test", { baseURL: 'https://agents.example.com/api/v1', url: '/agents' }],
		["of n8n's HTTP Request node", { uri: 'https://AGENTS.example.com:443/other' }],
	])('%s', async (_, request) => {
		const headers = { accept: 'text/plain' };
		const sent = await type.authenticate(credential, { ...request, headers } as never);
		expect(sent).toEqual({ ...request, headers: { ...headers, 'x-api-key': 'key' } });
	});

	test.each<[string, object]>([
		['another host', { url: 'https://agents.example.com.evil.example/api/v1' }],
		['another port', { url: 'https://agents.example.com:8443/api/v1' }],
		['another scheme', { url: 'http://agents.example.com/api/v1' }],
		['no address', { url: '/agents' }],
	])('but not to %s', async (_, request) => {
		await expect(type.authenticate(credential, request as never)).rejects.toThrow(
			'This credential works only for addresses at https://agents.example.com',
		);
	});

	test('but not one that no header can carry', async () => {
		const request = { url: 'https://agents.example.com/' };
		const broken = { ...credential, apiKey: 'two\nlines' };
		await expect(type.authenticate(broken, request as never)).rejects.toThrow(
			"'API Key' in the credential contains a line break",
		);
	});
});
