import { readFileSync } from 'node:fs';
import path from 'node:path';

import fc from 'fast-check';
import { Workflow, type INode } from 'n8n-workflow';

import { AgentInvocationApi } from '../../credentials/AgentInvocationApi.credentials.ts';
import { checkCredential } from '../../nodes/AgentInvocation/service/credential.ts';
import { outcomeOf } from '../support/outcome.cts';

const credentialType = new AgentInvocationApi();

const node: INode = {
	id: 'node',
	name: 'Node',
	type: 'test',
	typeVersion: 1,
	position: [0, 0],
	parameters: {},
};
const { expression } = new Workflow({
	nodes: [node],
	connections: {},
	active: false,
	nodeTypes: {
		getByName: () => ({ description: { properties: [] } }),
		getByNameAndVersion: () => ({ description: { properties: [] } }),
		getKnownTypes: () => ({}),
	} as never,
});

/** The address that the credential's test asks, as n8n evaluates its expression. */
function tested(baseUrl: string): unknown {
	return expression.getSimpleParameterValue(
		node,
		credentialType.test.request.baseURL,
		'internal',
		{ $credentials: { baseUrl, apiKey: 'key' } },
		undefined,
		'',
	);
}

/** The address that the node asks; undefined when it refuses it. */
function used(baseUrl: string): string | undefined {
	const checked = outcomeOf(() => checkCredential({ baseUrl, apiKey: 'key' }));
	return checked.ok ? checked.value.baseUrl : undefined;
}

test.each([
	['https://agents.example.com/api/v1', 'https://agents.example.com/api/v1'],
	['https://agents.example.com/api/v1/', 'https://agents.example.com/api/v1'],
	['https://agents.example.com/api/v1///', 'https://agents.example.com/api/v1'],
	['  https://agents.example.com/api/v1\n', 'https://agents.example.com/api/v1'],
	['\u200bhttps://agents.example.com/api\u2060/v1\ufeff ', 'https://agents.example.com/api/v1'],
	['agents.example.com', 'https://agents.example.com/api/v1'],
	['agents.example.com/', 'https://agents.example.com/api/v1'],
	['//agents.example.com', 'https://agents.example.com/api/v1'],
	['agents.example.com:8443', 'https://agents.example.com:8443/api/v1'],
	['agents.example.com/api/v1', 'https://agents.example.com/api/v1'],
	['agents.example.com/team/agents', 'https://agents.example.com/team/agents'],
	['https://agents.example.com', 'https://agents.example.com/api/v1'],
	['https://agents.example.com/', 'https://agents.example.com/api/v1'],
	['HTTPS://Agents.Example.com', 'https://agents.example.com/api/v1'],
	['http://localhost:3000', 'http://localhost:3000/api/v1'],
	['localhost:3000', 'https://localhost:3000/api/v1'],
	['localhost', 'https://localhost/api/v1'],
	['127.0.0.1:5000/api/v1', 'https://127.0.0.1:5000/api/v1'],
	['[::1]:3000', 'https://[::1]:3000/api/v1'],
	['http://[2001:db8::1]', 'http://[2001:db8::1]/api/v1'],
	['https://agents.example.com/api', 'https://agents.example.com/api'],
])('%j is used and tested as %s', (entered, address) => {
	expect(used(entered)).toBe(address);
	expect(new URL(String(tested(entered))).href).toBe(new URL(address).href);
});

test.each([
	['', 'is empty'],
	['   ', 'is empty'],
	['https://', 'is not a web address'],
	['///', 'is not a web address'],
	['::1', 'is not a web address'],
	['agents.example.com:port', 'is not a web address'],
	['https:/agents.example.com', 'is not a web address'],
	['https:\\\\agents.example.com', 'contains a space, a quotation mark or a backslash'],
	['agents example.com', 'contains a space, a quotation mark or a backslash'],
	['ftp://agents.example.com', 'must start with https:// or http://'],
	['file:///etc/passwd', 'must start with https:// or http://'],
	['user:secret@agents.example.com', 'must not contain a user name or password'],
	['agents.example.com?key=1', 'must not contain a query (?)'],
	['agents.example.com/api/v1#top', 'must not contain a fragment (#)'],
])('%j is refused by the node', (entered, says) => {
	const checked = outcomeOf(() => checkCredential({ baseUrl: entered, apiKey: 'key' }));
	expect(checked).toMatchObject({
		ok: false,
		failure: { message: `'Base URL' in the credential ${says}` },
	});
});

test('whatever the node accepts, the test asks the same address, and neither changes it again', () => {
	const part = fc.constantFrom(
		...['http', 'https', 'HTTPS', 'ftp', ':', '/', '//', '\\', 'localhost', 'agents.example.com'],
		...['[::1]', '127.0.0.1', '3000', 'api', 'v1', ' ', '?', '#', '@', '$1', '.', '..', 'ä', '\n'],
	);
	let accepted = 0;
	fc.assert(
		fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
			const entered = parts.join('');
			const address = used(entered);
			if (address === undefined) return;
			accepted++;
			expect(new URL(String(tested(entered))).href).toBe(new URL(address).href);
			expect(used(address)).toBe(address);
			expect(address).toMatch(/^https?:\/\/[^/]+\/.*[^/]$/i);
		}),
		{ numRuns: 2_000 },
	);
	expect(accepted).toBeGreaterThan(50);
});

test("the credential's documentation is a section of the README", () => {
	const readme = readFileSync(path.join(__dirname, '../../README.md'), 'utf8');
	const headings = [...readme.matchAll(/^#+ (.+)$/gm)].map(([, text]) =>
		text!.toLowerCase().replace(/ /g, '-'),
	);
	expect(headings).toContain(new URL(credentialType.documentationUrl).hash.slice(1));
});
