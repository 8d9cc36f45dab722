import { readResponse, type Answer } from '../../nodes/AgentInvocation/service/answer.ts';
import { answerKinds, type AnswerKind } from '../../nodes/AgentInvocation/service/answerKinds.ts';
import {
	explainAnswer,
	explanationsByCode,
} from '../../nodes/AgentInvocation/service/explainAnswer.ts';
import { isRun } from '../../nodes/AgentInvocation/service/types.ts';

// What is said of each answer, word for word: a change shows in the snapshot, to be read there once more.
const baseUrl = 'https://agents.example.com/api/v1';
const kinds = Object.keys(answerKinds) as AnswerKind[];

test.each(kinds)('an answer of the kind %s', (kind) => {
	expect(explainAnswer({ kind }, { baseUrl })).toMatchSnapshot();
});

test.each(Object.keys(explanationsByCode))('the code %s', (code) => {
	const answer = {
		kind: 'rejected' as const,
		status: 400,
		serviceError: { code, message: '', requestId: 'r' },
	};
	expect(explainAnswer(answer, { baseUrl })).toMatchSnapshot();
	expect(explainAnswer(answer, { baseUrl, agentId: 7 }).message).toMatchSnapshot();
});

test.each(kinds.filter((kind) => answerKinds[kind].mayHaveStarted))(
	'a create that gets %s may have started a run',
	(kind) => {
		const { message, description } = explainAnswer(
			{ kind },
			{ baseUrl, agentId: 7, startsRun: true },
		);
		expect(message).toMatch(/ \(a run may have been started\)$/);
		expect(description).toMatch(
			/^A run of agent 7 may have been started all the same\. Before you run this item again, check at the service whether the run is there\./,
		);
	},
);

test.each(kinds.filter((kind) => !answerKinds[kind].mayHaveStarted))(
	'a create that gets %s has started nothing',
	(kind) => {
		const { message, description } = explainAnswer({ kind }, { baseUrl, startsRun: true });
		expect(`${message} ${description}`).not.toContain('may have been started');
	},
);

test("the run, the service's words, the reason and what is known are passed on", () => {
	const answer = {
		kind: 'serverError' as const,
		status: 503,
		requestId: 'r1',
		reason: 'down',
		serviceError: { code: 'odd', message: 'Not now', requestId: 'r1' },
	};
	const failure = explainAnswer(answer, { baseUrl, agentId: 7, runId: 'x' });
	expect(failure.message).toMatch(/ \(run x of agent 7\)$/);
	expect(failure.description).toMatch(/ The service says: Not now Reason: down$/);
	expect(failure.details).toEqual({
		code: 'odd',
		http_status: 503,
		request_id: 'r1',
		agent_id: 7,
		run_id: 'x',
	});
	expect(explainAnswer({ kind: 'timedOut' }, { baseUrl }).details).toEqual({});
});

describe('a 400', () => {
	const of = (code: string, message: string) =>
		explainAnswer(
			{ kind: 'rejected', status: 400, serviceError: { code, message, requestId: 'r' } },
			{ baseUrl },
		);

	test('with an unknown code says what the service says, once', () => {
		const { message, description } = of('odd', ' The agent has no model. ');
		expect(message).toBe('The agent has no model');
		expect(description).not.toContain('The agent has no model');
	});

	test.each(['toString', ''])(
		'with the code %j is said in our own words where the service has none',
		(code) => {
			expect(of(code, '').message).toBe('The service rejected the request');
		},
	);
});

test('a 401 is about the key, whatever its code', () => {
	const answer = {
		kind: 'rejected' as const,
		status: 401,
		serviceError: { code: 'odd', message: 'No', requestId: 'r' },
	};
	expect(explainAnswer(answer, { baseUrl }).message).toBe(
		'The service does not accept the API key',
	);
	expect(explainAnswer({ ...answer, status: 400 }, { baseUrl }).message).toBe('No');
});

test('a 404 of another code may be about the address', () => {
	const answer = {
		kind: 'rejected' as const,
		status: 404,
		serviceError: { code: 'not_found', message: 'No', requestId: 'r' },
	};
	expect(explainAnswer(answer, { baseUrl: 'https://a.example.com/api/v1/agents' })).toMatchObject({
		message: 'The service did not find what was asked for',
		description:
			"The credential's 'Base URL' usually ends in /api/v1, and this one does not. The service says: No",
	});
});

test('a part of the envelope explains the error, but proves nothing', () => {
	const body = '{"error":{"code":"agent_not_found","message":"No such agent"}}';
	const answer = readResponse({ statusCode: 404, headers: {}, body }, isRun);
	expect(explainAnswer(answer, { baseUrl, agentId: 7, startsRun: true }).message).toBe(
		'Agent 7 was not found (a run may have been started)',
	);
});

test.each([
	[403, 'A firewall or a proxy in front of the service refused the request'],
	[407, 'The proxy that n8n uses asks for a user name and a password'],
	[413, 'The request is too large for the service, or for a proxy in front of it'],
])('a %d without the envelope is that of something in between', (status, message) => {
	const answer = readResponse({ statusCode: status, headers: {}, body: '<html>' }, isRun);
	expect(explainAnswer(answer, { baseUrl }).message).toBe(message);
});

test('what was not sent is not explained by the error of another request', () => {
	const answer: Answer = {
		kind: 'late',
		status: 503,
		serviceError: { code: 'internal_error', message: 'Down', requestId: 'r' },
	};
	expect(explainAnswer(answer, { baseUrl }).message).toBe(
		'The service accepted no further requests for longer than the node may wait',
	);
});

test('an address that does not end as usual is said to', () => {
	const { description } = explainAnswer(
		{ kind: 'foreign' },
		{ baseUrl: 'https://example.com/api' },
	);
	expect(description).toBe(
		"The credential's 'Base URL' usually ends in /api/v1, and this one does not.",
	);
});

describe('the parameter that the service means', () => {
	const of = (code: string, message: string, ...names: string[]) =>
		explainAnswer(
			{ kind: 'rejected', status: 400, serviceError: { code, message, requestId: 'r' } },
			{ baseUrl, agentId: 7, bindings: names.map((name) => ({ name, value: `value of ${name}` })) },
		).message;

	test.each(["'b'", '"b"', '`b`'])('is the one that it quotes: %s', (quoted) => {
		expect(of('unknown_parameter', `Unknown: ${quoted}`, 'a', 'b')).toBe(
			"Agent 7 has no parameter 'b'",
		);
		expect(of('invalid_parameter_value', `Wrong: ${quoted}`, 'a', 'b')).toBe(
			"Parameter 'b' of agent 7 cannot be 'value of b'",
		);
	});

	test.each(["Unknown: 'a'", "Not the agent's: `value of a`", 'Unknown: a'])(
		'is the only one that was given: %s',
		(message) => {
			expect(of('unknown_parameter', message, 'a')).toBe("Agent 7 has no parameter 'a'");
		},
	);

	test.each([
		"Unknown: a. Available: ['b', 'c']",
		'Unknown',
		"'b' is required",
		'The value of b is required',
		"Not 'banana'",
	])('is not the only one that was given if the service does not mention it: %s', (message) => {
		expect(of('unknown_parameter', message, 'a')).toBe(
			'Agent 7 does not have one of the parameters',
		);
	});

	test.each([
		'Unknown',
		"Unknown parameter. The agent accepts 'a'.",
		"Unknown parameter 'a",
		'Did you mean `a`?',
		"Not a value of this a ('value of a')",
		"Unknown: 'a' or 'b'",
		'Unknown: a',
		"Unknown: a. Available: ['b']",
		"'value of a' is no option of a; options: 'b'",
		"It must be one of 'value of a', 'south'",
		"None of its parameters 'a' and 'year'",
		"Unknown parameter. Expected parameter 'a'.",
		"A known value: 'value of a'",
	])('is not known of several: %s', (message) => {
		expect(of('unknown_parameter', message, 'a', 'b')).toBe(
			'Agent 7 does not have one of the parameters',
		);
		expect(of('invalid_parameter_value', message, 'a', 'b')).toBe(
			"A parameter's value is not one that agent 7 knows",
		);
	});
});
