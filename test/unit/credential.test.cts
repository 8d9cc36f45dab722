import { addApiKey, checkCredential } from '../../nodes/AgentInvocation/service/credential.ts';
import { outcomeOf } from '../support/outcome.cts';

const good = { baseUrl: 'https://agents.example.com/api/v1', apiKey: 'key' };

test.each([
	['agents.example.com', 'https://agents.example.com/api/v1'],
	['//agents.example.com', 'https://agents.example.com/api/v1'],
	[' agents.example.com:8080/ ', 'https://agents.example.com:8080/api/v1'],
	['http://agents.example.com', 'http://agents.example.com/api/v1'],
	['HTTPS://Agents.Example.com:443//', 'https://agents.example.com/api/v1'],
	['https://agents.example.com/API/v1', 'https://agents.example.com/API/v1'],
	['https://agents.example.com/elsewhere/', 'https://agents.example.com/elsewhere'],
	['\u200bhttps://agents.example.com\ufeff', 'https://agents.example.com/api/v1'],
	['https://agents.example.com/api/v1\u200e', 'https://agents.example.com/api/v1'],
	['http://[::1]:8080', 'http://[::1]:8080/api/v1'],
	['https://bücher.example.com', 'https://xn--bcher-kva.example.com/api/v1'],
	['localhost/api', 'https://localhost/api'],
	['https://agents.example.com/to/http://b', 'https://agents.example.com/to/http://b'],
])('the base URL %j is %s', (baseUrl, expected) => {
	expect(outcomeOf(() => checkCredential({ baseUrl, apiKey: ' key ' }))).toEqual({
		ok: true,
		value: { baseUrl: expected, apiKey: 'key' },
	});
});

test.each<[unknown, string]>([
	['', 'is empty'],
	[' ', 'is empty'],
	[7, 'is empty'],
	['ftp://agents.example.com', 'must start with https:// or http://'],
	['ftp://agents.example.com/https:', 'must start with https:// or http://'],
	['h2://agents.example.com', 'must start with https:// or http://'],
	['https://agents example.com', 'contains a space, a quotation mark or a backslash'],
	['“https://agents.example.com”', 'contains a space, a quotation mark or a backslash'],
	['https://agents.example.com\\api', 'contains a space, a quotation mark or a backslash'],
	['https://', 'is not a web address'],
	['https:///api', 'is not a web address'],
	['https:/agents.example.com', 'is not a web address'],
	['https:/agents.example.com/https://b', 'is not a web address'],
	['https://agents.example.com:port/api', 'is not a web address'],
	['https://https://agents.example.com', 'is not a web address'],
	['"https://agents.example.com/api/v1"', 'contains a space, a quotation mark or a backslash'],
	['https://agents.example.com,', 'is not a web address'],
	['https://me@agents.example.com', 'must not contain a user name or password'],
	['https://:pw@agents.example.com', 'must not contain a user name or password'],
	['https://agents.example.com/api?a=1', 'must not contain a query (?)'],
	['https://agents.example.com/api#a', 'must not contain a fragment (#)'],
])('the base URL %j %s', (baseUrl, is) => {
	expect(outcomeOf(() => checkCredential({ ...good, baseUrl }))).toEqual({
		ok: false,
		failure: {
			message: `'Base URL' in the credential ${is}`,
			description: expect.stringMatching(/^Open this node's credential and correct it\./) as string,
			details: {},
		},
	});
});

test('a key that is a number is taken as its text', () => {
	expect(checkCredential({ ...good, apiKey: 12345678 }).apiKey).toBe('12345678');
});

test.each<[unknown, string]>([
	['', 'is empty'],
	[undefined, 'is empty'],
	['a\nb', 'contains a line break'],
	['a\rb', 'contains a line break'],
	['https://agents.example.com', 'is a web address'],
	['a b', 'contains a space or a character that no key has'],
	['a\u007f', 'contains a space or a character that no key has'],
	['ключ', 'contains a space or a character that no key has'],
])('the key %j %s', (apiKey, is) => {
	expect(outcomeOf(() => checkCredential({ ...good, apiKey }))).toEqual({
		ok: false,
		failure: {
			message: `'API Key' in the credential ${is}`,
			description: expect.stringMatching(/paste the key again, as the service showed it/) as string,
			details: {},
		},
	});
});

test('a key and an address that were swapped are not sent', () => {
	const swapped = (baseUrl: string, apiKey: string) =>
		outcomeOf(() => checkCredential({ baseUrl, apiKey }));
	const said = { failure: { message: "'API Key' in the credential is a web address" } };
	expect(swapped('sk-live-0123456789', 'agents.example.com')).toMatchObject(said);
	expect(swapped(' sk_live_0123456789 ', 'agents.example.com:8443/api/v1')).toMatchObject(said);
	// Addresses, with a key that only looks like one.
	expect(swapped('agents', 'eyJhbGciOiJ9.eyJzdWIiOiIx.dBjftJeZ4CVP')).toMatchObject({ ok: true });
	expect(swapped('agents.example.com', 'key.of.somebody')).toMatchObject({ ok: true });
});

describe('the key is added to a request', () => {
	const { origin } = new URL(good.baseUrl);

	test('beside its other headers', () => {
		const request = { url: `${good.baseUrl}/agents`, headers: { accept: 'json' } };
		expect(addApiKey(good, request)).toEqual({
			...request,
			headers: { accept: 'json', 'x-api-key': 'key' },
		});
	});

	test.each([
		{ url: `${origin}/elsewhere` },
		{ url: '', uri: `${origin}/elsewhere` },
		{ url: '/agents', baseURL: origin },
	])('to its host: %j', (request) => {
		expect(addApiKey(good, request).headers).toEqual({ 'x-api-key': 'key' });
	});

	test.each([
		{ url: 'https://elsewhere.example.com/api/v1/agents' },
		{ url: 'http://agents.example.com/api/v1/agents' },
		{ url: `${origin}/agents`, baseURL: 'https://elsewhere.example.com' },
		{ url: `${origin}/agents`, uri: 'https://elsewhere.example.com' },
		{ url: 'https://elsewhere.example.com/agents', baseURL: origin },
		{ url: '//elsewhere.example.com/agents', baseURL: origin },
		{ url: '/agents' },
	])('and to no other: %j', (request) => {
		expect(() => addApiKey(good, request)).toThrow(
			'This credential works only for addresses at https://agents.example.com, the host in its Base URL',
		);
	});

	test('only where the credential may be used', () => {
		expect(() => addApiKey({ ...good, apiKey: '' }, { url: good.baseUrl })).toThrow(
			"'API Key' in the credential is empty",
		);
	});
});
