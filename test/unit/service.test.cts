import fc from 'fast-check';
import type {
	IAdditionalCredentialOptions,
	IDataObject,
	IExecuteFunctions,
	IHttpRequestOptions,
} from 'n8n-workflow';

import {
	createRun,
	dryRun,
	getRun,
	listAgents,
} from '../../nodes/AgentInvocation/service/endpoints.ts';
import { openService } from '../../nodes/AgentInvocation/service/service.ts';
import { withoutApiKey } from '../../nodes/AgentInvocation/service/withoutApiKey.ts';
import { formsIn, SECRET, textFormsOf } from '../support/keySearch.cts';
import { settled } from '../support/outcome.cts';

const BASE_URL = 'https://agents.example.com/api/v1';
const RUN_ID = '11111111-2222-4333-8444-555555555555';
const KEY = 'a-key-of-some-length';

/** Keys of characters that one format or another escapes. */
const escapedKeys = fc.string({
	unit: fc.constantFrom(...'\\"/&<>%+=\'. u0aé😀'),
	minLength: 8,
	maxLength: 40,
});

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** n8n with a credential, whose request helper gives this response, or throws it. */
function hostOf(response: object | Error) {
	const host = {
		credential: { baseUrl: `${BASE_URL}/`, apiKey: KEY } as IDataObject | Error,
		readings: 0,
		readingMs: 0,
		readFor: [] as number[],
		sentWith: [] as unknown[],
		sent: [] as IHttpRequestOptions[],
	};
	const functions = {
		getCredentials(_type: string, itemIndex: number) {
			host.readings++;
			host.readFor.push(itemIndex);
			jest.advanceTimersByTime(host.readingMs);
			const { credential } = host;
			return credential instanceof Error ? Promise.reject(credential) : Promise.resolve(credential);
		},
		helpers: {
			httpRequestWithAuthentication(
				type: string,
				options: IHttpRequestOptions,
				{ credentialsDecrypted }: IAdditionalCredentialOptions,
			) {
				expect(type).toBe('agentInvocationApi');
				host.sent.push(options);
				host.sentWith.push(credentialsDecrypted);
				return response instanceof Error
					? Promise.reject(response)
					: Promise.resolve({ statusCode: 200, headers: {}, ...response });
			},
		},
	};
	return { host, context: functions as unknown as IExecuteFunctions };
}

async function open(response: object | Error = {}, options = {}) {
	const { host, context } = hostOf(response);
	return { host, context, service: await openService(context, options) };
}

/** Longer than a credential that was read is used. */
const later = () => jest.advanceTimersByTime(1_001);

const run = { statusCode: 200, body: JSON.stringify({ run_id: RUN_ID, status: 'running' }) };

test('a request goes to the service as its endpoint says, as text, and follows no redirect', async () => {
	const { host, service } = await open(run);
	const always = {
		json: true,
		encoding: 'text',
		returnFullResponse: true,
		ignoreHttpStatusErrors: true,
		disableFollowRedirect: true,
	};
	const binding = { name: 'city', value: 'Paris' };
	await service.send(listAgents(10, 20));
	await service.send(createRun(7, [binding]));
	await service.send(createRun(7, []));
	await service.send(dryRun(7, [binding]));
	await service.send(getRun(7, 'a b'));
	await service.send({ ...getRun(7, RUN_ID), timeoutMs: 5 });
	expect(host.sent).toEqual([
		{
			...always,
			method: 'GET',
			url: `${BASE_URL}/agents`,
			qs: { limit: 10, offset: 20 },
			timeout: 30_000,
		},
		{
			...always,
			method: 'POST',
			url: `${BASE_URL}/agents/7/runs`,
			body: { parameter_bindings: [binding] },
			timeout: 150_000,
		},
		{
			...always,
			method: 'POST',
			url: `${BASE_URL}/agents/7/runs`,
			body: { parameter_bindings: null },
			timeout: 150_000,
		},
		{
			...always,
			method: 'POST',
			url: `${BASE_URL}/agents/7/runs`,
			qs: { dry_run: true },
			body: { parameter_bindings: [binding] },
			timeout: 150_000,
		},
		{ ...always, method: 'GET', url: `${BASE_URL}/agents/7/runs/a%20b`, timeout: 30_000 },
		{ ...always, method: 'GET', url: `${BASE_URL}/agents/7/runs/${RUN_ID}`, timeout: 5 },
	]);
	expect(createRun(7, []).startsRun).toBe(true);
	expect(dryRun(7, []).startsRun).toBe(false);
	expect(dryRun(7, []).hasShape(undefined)).toBe(false);
	expect(dryRun(7, []).hasShape(null)).toBe(true);
});

test('its answer is judged by its shape', async () => {
	const { service } = await open(run);
	expect(await service.send(getRun(7, RUN_ID))).toMatchObject({
		kind: 'ok',
		body: { status: 'running' },
	});
	expect(await service.send(listAgents(10, 0))).toMatchObject({ kind: 'foreign', status: 200 });
});

test('an answer about a run with an ID of an odd form is about another one', async () => {
	const { service } = await open({ body: '{"run_id":{"toString":1},"status":"succeeded"}' });
	expect(await service.send(getRun(7, RUN_ID))).toMatchObject({ kind: 'foreign', status: 200 });
});

describe('the API key', () => {
	test('is taken out of whatever the service quotes', async () => {
		const error = { code: KEY, message: `wrong: ${KEY}`, request_id: `r-${KEY}` };
		const { service } = await open({ statusCode: 401, body: JSON.stringify({ error }) });
		const answer = await service.send(listAgents(1, 0));
		expect(answer).toMatchObject({
			kind: 'rejected',
			serviceError: { code: '(API key)', message: 'wrong: (API key)' },
			requestId: 'r-(API key)',
		});
		expect(JSON.stringify(answer)).not.toContain(KEY);
	});

	test('is taken out of what an agent says, in names and lists as well', async () => {
		const body = JSON.stringify({
			run_id: RUN_ID,
			status: 'succeeded',
			output: [`k ${KEY}`, { [KEY]: 7 }, null],
		});
		const { service } = await open({ body });
		expect(await service.send(getRun(7, RUN_ID))).toMatchObject({
			body: { output: ['k (API key)', { '(API key)': 7 }, null] },
		});
	});

	test.each([...textFormsOf(SECRET)])('is taken out %s, too', async (_, form) => {
		const { host, service } = await open({
			body: JSON.stringify({
				run_id: RUN_ID,
				status: 'x',
				output: `before ${form} after`,
			}),
		});
		host.credential = { baseUrl: BASE_URL, apiKey: SECRET };
		later();
		const { body } = await service.send(getRun(7, RUN_ID));
		expect(formsIn(JSON.stringify(body), SECRET)).toEqual([]);
		const { output } = body as { output: string };
		expect(output).toMatch(/^before .{0,2}\(API key\).{0,4} after$/);
	});

	test('is taken out as other writers of addresses and JSON have it, too', async () => {
		const apiKey = "sk!live*/4f9'a&8c";
		const output =
			"sk%21live%2A%2f4f9%27a%268c sk!live*\\/4f9'a\\u00268c sk!live*/4f9&#39;a&#x26;8c";
		const { host, service } = await open({
			body: JSON.stringify({ run_id: RUN_ID, status: 'x', output }),
		});
		host.credential = { baseUrl: BASE_URL, apiKey };
		later();
		expect(await service.send(getRun(7, RUN_ID))).toMatchObject({
			body: { output: '(API key) (API key) (API key)' },
		});
	});

	// Were all of them part of one pattern, this would go on for minutes.
	test('is looked for in a text of backslashes, too', async () => {
		const output = '\\'.repeat(400_000);
		const { service } = await open({
			body: JSON.stringify({ run_id: RUN_ID, status: 'x', output }),
		});
		expect(await service.send(getRun(7, RUN_ID))).toMatchObject({ body: { output } });
	});

	// Where one pattern can find a text in many ways, what is nearly the key takes hours.
	test('is taken out whatever its characters, also after what is nearly the key', () =>
		fc.assert(
			fc.property(
				escapedKeys,
				fc.constantFrom('\\', '%5C', '&amp;', '\\u005c'),
				(apiKey, noise) => {
					const forms = [...textFormsOf(apiKey).values()];
					const texts = forms.map((form) => form.slice(0, -1) + noise.repeat(100) + form);
					const { body } = withoutApiKey({ kind: 'ok', body: texts }, apiKey);
					expect(body!.filter((text, index) => text.includes(forms[index]!))).toEqual([]);
				},
			),
		));

	test.each([101, 1_000, 10_000])('is taken out if it has %d characters', (length) => {
		const apiKey = `${'Key-0123456789.abcdef_ABCDEF~'.repeat(length)}`.slice(0, length);
		const texts = [...textFormsOf(apiKey).values()].map((form) => `a ${form} b`);
		const { body } = withoutApiKey({ kind: 'ok', body: texts }, apiKey);
		expect(body).toEqual(texts.map(() => 'a (API key) b'));
		const bytes = Buffer.from(apiKey);
		const forms = [apiKey, bytes.toString('base64'), bytes.toString('hex')];
		const inOutput = forms.map((form) => JSON.stringify({ form, sum: 7 }));
		expect(withoutApiKey({ kind: 'ok', body: inOutput }, apiKey).body).toEqual(
			forms.map(() => expect.stringMatching(/^\{"form":"\(API key\)=*","sum":7\}$/) as string),
		);
	});

	test('is taken out wholly where it ends with what HTML escapes', async () => {
		const { host, service } = await open({
			body: JSON.stringify({ run_id: RUN_ID, status: 'x', output: 'key-of-r&amp;d&amp; key' }),
		});
		host.credential = { baseUrl: BASE_URL, apiKey: 'key-of-r&d&' };
		later();
		expect(await service.send(getRun(7, RUN_ID))).toMatchObject({
			body: { output: '(API key) key' },
		});
	});

	test('is taken out once, however short', async () => {
		const error = { code: 'no', message: 'not k', request_id: 'r' };
		const { host, service } = await open({ statusCode: 401, body: JSON.stringify({ error }) });
		host.credential = { baseUrl: BASE_URL, apiKey: 'k' };
		later();
		expect(await service.send(getRun(7, RUN_ID))).toMatchObject({
			serviceError: { message: 'not (API key)' },
		});
	});

	test('is taken out also where it has eight characters alone', async () => {
		const { host, service } = await open({
			body: JSON.stringify({ run_id: RUN_ID, status: 'x', output: '12345678' }),
		});
		host.credential = { baseUrl: BASE_URL, apiKey: '12345678' };
		later();
		expect(await service.send(getRun(7, RUN_ID))).toMatchObject({ body: { output: '(API key)' } });
	});

	test('is left there where it is so short that it may be part of a word', async () => {
		const { host, service } = await open({
			body: JSON.stringify({ run_id: RUN_ID, status: 'is', output: 'is' }),
		});
		host.credential = { baseUrl: BASE_URL, apiKey: 'is' };
		later();
		expect(await service.send(getRun(7, RUN_ID))).toMatchObject({ body: { output: 'is' } });
	});

	test.each([KEY, 'short'])(
		'is not looked for deeper than n8n can store, and what is around it is kept: %s',
		async (apiKey) => {
			const deep = '['.repeat(20_000) + ']'.repeat(20_000);
			const { host, service } = await open({
				body: `{"run_id":"${RUN_ID}","status":"x","deep":${deep}}`,
			});
			host.credential = { baseUrl: BASE_URL, apiKey };
			later();
			const answer = await service.send(getRun(7, RUN_ID));
			expect(answer).toMatchObject({ kind: 'ok', body: { run_id: RUN_ID, status: 'x' } });
			expect(JSON.stringify(answer.body).length).toBeLessThan(2_000);
		},
	);

	test('is taken out of what was thrown', async () => {
		const { service } = await open(new Error(`cannot send ${KEY}`));
		expect(await service.send(getRun(7, RUN_ID))).toEqual({
			kind: 'connectionLost',
			reason: 'cannot send (API key)',
		});
	});

	test('has a limiter of its own, found under a hash', async () => {
		const [one, same, other] = [await open(run), await open(run), await open(run)];
		other.host.credential = { baseUrl: BASE_URL, apiKey: 'another-key' };
		later();
		await other.service.send(getRun(7, RUN_ID));
		expect(same.service.limiter).toBe(one.service.limiter);
		expect(other.service.limiter).not.toBe(one.service.limiter);
		expect(one.service.key).toBe(same.service.key);
		expect(one.service.key).toMatch(/^[\w+/]{16}$/);
	});
});

test('a credential that was read is used for a second', async () => {
	const { host, service } = await open(run);
	await Promise.all([1, 2, 3].map(async () => await service.send(getRun(7, RUN_ID))));
	expect(host.readings).toBe(1);
	later();
	await service.send(getRun(7, RUN_ID));
	await service.send(getRun(7, RUN_ID));
	expect(host.readings).toBe(2);
});

test('one that takes long to read is not read twice for one request', async () => {
	const { host, service } = await open(run);
	host.readingMs = 5_000;
	later();
	await service.renew();
	await service.send(getRun(7, RUN_ID));
	expect(host.readings).toBe(2);
});

test("a credential is the item's, for n8n's request helper as well", async () => {
	const { host, context } = hostOf(run);
	const opened = await openService(context, { itemIndex: 3 });
	await opened.send(getRun(7, RUN_ID));
	expect(host.readFor).toEqual([3]);
	expect(host.sentWith).toMatchObject([{ data: { baseUrl: BASE_URL, apiKey: KEY } }]);
});

test('a request of a cancelled execution says so', async () => {
	const { service } = await open(new Error('aborted'), { cancel: AbortSignal.abort() });
	expect(await service.send(getRun(7, RUN_ID))).toEqual({ kind: 'cancelled' });
});

describe('a credential', () => {
	const away = new Error('The secret store does not answer');
	const gone = new Error('Credential with ID "1" does not exist for type "agentInvocationApi".');
	const none = new Error('Node does not have any credentials set for "agentInvocationApi"!');
	const known = { runBaseUrl: BASE_URL };

	test.each([away, gone])(
		'that cannot be read at first fails, and n8n says why: %s',
		async (thrown) => {
			const { host, context } = hostOf(run);
			host.credential = thrown;
			expect(await settled(openService(context))).toEqual({
				ok: false,
				failure: {
					message: "This node's credential cannot be used",
					description: `Choose or create one under 'Credential to connect with'. n8n says: ${thrown.message}`,
					details: {},
				},
			});
		},
	);

	test('that is away while runs are known is waited for', async () => {
		const { host, context } = hostOf(run);
		host.credential = away;
		const service = await openService(context, known);
		expect(service.baseUrl).toBe(BASE_URL);
		expect(await service.send(getRun(7, RUN_ID))).toEqual({
			kind: 'notSent',
			reason: away.message,
		});
		host.credential = { baseUrl: BASE_URL, apiKey: KEY };
		later();
		expect(await service.send(getRun(7, RUN_ID))).toMatchObject({ kind: 'ok' });
	});

	test('that cannot be used any more sends nothing, and says why', async () => {
		const { host, service } = await open(run);
		host.credential = { baseUrl: '', apiKey: KEY };
		later();
		expect(await service.send(getRun(7, RUN_ID))).toEqual({
			kind: 'notSent',
			reason: "'Base URL' in the credential is empty",
		});
		expect(host.sent).toEqual([]);
	});

	test.each([gone, none])('that is gone fails: %s', async (thrown) => {
		const { host, context, service } = await open(run);
		host.credential = thrown;
		later();
		const opened = await openService(context, known);
		expect(await opened.send(getRun(7, RUN_ID))).toMatchObject({ kind: 'credentialChanged' });
		expect(await service.send(getRun(7, RUN_ID))).toEqual({
			kind: 'credentialChanged',
			reason: thrown.message,
		});
	});

	test('with another address fails, and no key is sent there', async () => {
		const { host, context, service } = await open(run);
		host.credential = { baseUrl: 'https://elsewhere.example.com', apiKey: KEY };
		later();
		expect(await service.send(getRun(7, RUN_ID))).toEqual({
			kind: 'credentialChanged',
			reason: "The credential's Base URL has changed",
		});
		expect(host.sent).toEqual([]);
		const opened = await openService(context, known);
		expect(await opened.send(getRun(7, RUN_ID))).toMatchObject({ kind: 'credentialChanged' });
		expect(host.sent).toEqual([]);
	});
});
