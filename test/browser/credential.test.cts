import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { KEY, TestHost } from '../support/host.cts';
import { Editor } from './editor.cts';
import { nodeWorkflow, NODE } from './workflows.cts';

let host: TestHost;
let editor: Editor;
let elsewhere: Server;

beforeAll(async () => {
	elsewhere = createServer((_request, response) =>
		response.writeHead(308, { location: `${host.sandbox.baseUrl}/agents` }).end(),
	);
	await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
	host = await TestHost.start('n8n-2', [nodeWorkflow('account', {}, { credentialId: 'none' })], {
		publishes: false,
	});
	editor = await Editor.open(host.n8n);
});

afterAll(async () => {
	await editor?.close();
	await host?.stop();
	elsewhere?.close();
});

beforeEach(async () => {
	host.sandbox.faults.clear();
	await editor.openNode('account', NODE);
	await editor.click(editor.part('node-credentials-select'));
	await editor.click(editor.page.getByText('Create new credential').first());
	await editor.setting('baseUrl').waitFor();
});

const dialog = () => editor.part('editCredential-modal');

async function save(baseUrl: string, key: string): Promise<void> {
	await editor.fill('baseUrl', baseUrl);
	await editor.fill('apiKey', key);
	await editor.click(editor.part('credential-save-button'));
}

test('the form says what goes where', async () => {
	const text = await dialog().innerText();
	expect(text).toContain('If it says ECONNREFUSED, nothing answers there');
	expect(text).toContain('An admin creates it in the service under Settings, API Key');
	const input = editor.setting('baseUrl').locator('input');
	await expect(input.getAttribute('placeholder')).resolves.toBe(
		'e.g. https://agents.example.com/api/v1',
	);
	await expect(editor.setting('apiKey').locator('input').getAttribute('type')).resolves.toBe(
		'password',
	);
});

test('with the right address and key, the test is green', async () => {
	await save(host.sandbox.baseUrl, KEY);
	// n8n closes the form when the test was green, and shows its result when it is opened again.
	await dialog().waitFor({ state: 'hidden' });
	await editor.click(editor.part('credential-edit-button'));
	await dialog().getByText('Connection tested successfully').waitFor();
});

describe('what is wrong is said', () => {
	const html = (status: number) => ({ kind: 'html' as const, status, times: 9 });

	test.each([
		['a wrong key', 401, 'The service does not accept this API key'],
		['no such path', 404, 'Its address usually ends in /api/v1'],
		['a rate limit', 429, 'rate limit of this API key is exceeded right now'],
		['a service in trouble', 500, 'could not process the request'],
		['a proxy in trouble', 502, 'A proxy answered instead of the service'],
		['a service that is down', 503, 'The service is not available right now'],
		['a page in place of the service', 200, 'is not the agent invocation service'],
	])('%s', async (_name, status, says) => {
		if (status !== 401) host.sandbox.faults.add(html(status));
		await save(host.sandbox.baseUrl, status === 401 ? 'another-key' : KEY);
		await seeDetails(says);
	});

	test('a redirect', async () => {
		const { port } = elsewhere.address() as AddressInfo;
		await save(`http://127.0.0.1:${port}/api/v1`, KEY);
		await seeDetails('This Base URL redirects to another address');
	});

	test('nobody there', async () => {
		await save('http://127.0.0.1:9/api/v1', KEY);
		await seeDetails('ECONNREFUSED');
	});

	async function seeDetails(says: string): Promise<void> {
		await editor.click(dialog().getByText('More details'));
		await editor.page.getByText(says).first().waitFor();
	}
});
