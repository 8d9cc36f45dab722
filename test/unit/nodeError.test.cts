import { ExpressionError, NodeApiError, NodeOperationError } from 'n8n-workflow';

import {
	cancelledError,
	toEditorError,
	toNodeError,
} from '../../nodes/AgentInvocation/engine/nodeError.ts';
import { FailureError, failureOf, type Failure } from '../../nodes/AgentInvocation/failure.ts';
import { contextOf } from '../support/simulation/world/context.cts';

const context = contextOf({});
const UNANSWERED: Failure = { message: 'No', description: 'Do', details: { agent_id: 1 } };
const ANSWERED: Failure = { ...UNANSWERED, details: { http_status: 404, code: 'odd' } };

test("a failure is an API's error where the service answered, and the node's own elsewhere", () => {
	const answered = toNodeError(context, ANSWERED);
	expect(answered).toBeInstanceOf(NodeApiError);
	expect(answered).toMatchObject({
		httpCode: '404',
		description: 'Do (code: odd, HTTP status: 404)',
	});
	expect(toNodeError(context, UNANSWERED)).toBeInstanceOf(NodeOperationError);
});

test('it names what helps to look it up, and the runs of other items', () => {
	const details = { http_status: 500, code: 'odd', request_id: 'r-1' };
	const failure = { message: 'A <b>bold</b> 1 < 2', description: 'Use <i>', details };
	const others = [1, 2].map((itemIndex) => ({ itemIndex, agentId: 7, runId: 'a', baseUrl: '' }));
	expect(toNodeError(context, failure, 3, others)).toMatchObject({
		// With an invisible character in each tag.
		message: 'A <\u2060b>bold<\u2060/b> 1 < 2',
		description:
			"Use &lt;i&gt; 'Get a run' gives the results of these: item 1: run a of agent 7, item 2: run a of agent 7. (code: odd, HTTP status: 500, request ID: r-1)",
		context: { itemIndex: 3, details, runs: others },
	});
	expect(toNodeError(context, { message: 'No', description: 'Do', details: {} }).description).toBe(
		'Do',
	);
});

test('a failed execution is not taken for a canceled one', () => {
	const { message } = toNodeError(context, { ...ANSWERED, message: "'canceled' is unknown" });
	expect(message).toBe("'cancel\u2060ed' is unknown");
});

test("n8n's own error of an expression keeps what its editor explains it with", () => {
	const thrown = new ExpressionError('Invalid', {
		description: 'In <strong class="a">Source</strong>',
		messageTemplate: 'In %%PARAMETER%%',
		nodeCause: 'Source',
		itemIndex: 7,
	});
	const error = toNodeError(context, failureOf(thrown), 2);
	expect(error).toMatchObject({ message: "Invalid ('Source')", description: 'In Source' });
	expect(error.context).toMatchObject({
		messageTemplate: 'In %%PARAMETER%%',
		nodeCause: 'Source',
		itemIndex: 2,
	});
	// Not so where there is more to say.
	const runs = [{ itemIndex: 0, agentId: 7, runId: '<b>', baseUrl: '' }];
	const beside = toNodeError(context, failureOf(thrown), 2, runs);
	expect(beside.description).toContain('In Source');
	expect(beside.description).toContain('run &lt;b&gt; of agent 7');
	expect(beside.context).not.toHaveProperty('messageTemplate');
	const named = new ExpressionError("Node 'Source' is gone", { nodeCause: 'Source' });
	expect(failureOf(named).message).toBe("Node 'Source' is gone");
	const other = Object.assign(new Error('No'), {
		context: { data: 'secret' },
		description: 'a < b',
	});
	expect(toNodeError(context, failureOf(other))).toMatchObject({ description: 'a &lt; b' });
	expect(toNodeError(context, failureOf(other)).context).not.toHaveProperty('data');
});

test('in the editor, which shows the description of no other error, each is one', () => {
	for (const failure of [ANSWERED, UNANSWERED]) {
		const error = toEditorError(context as never, new FailureError(failure));
		expect(error).toBeInstanceOf(NodeApiError);
		expect(error).toMatchObject({
			message: 'No',
			description: expect.stringMatching(/^Do/) as string,
		});
	}
});

describe('a canceled execution tells', () => {
	const runs = [{ itemIndex: 0, agentId: 1, runId: 'a', baseUrl: '' }];
	const going = /^Its runs continue at the service\./;
	const failed = /Items had already failed: 'No'\./;

	test.each([
		['nothing more', [], [], { going: false, failed: false }],
		['of its runs', runs, [], { going: true, failed: false }],
		['of what has failed', [], [UNANSWERED], { going: false, failed: true }],
		['of both', runs, [UNANSWERED], { going: true, failed: true }],
	])('%s', (_, started, failures, says) => {
		const { message, description } = cancelledError(context, started, failures) as NodeApiError;
		expect(message).toBe('The execution was canceled');
		expect(going.test(description ?? '')).toBe(says.going);
		expect(failed.test(description ?? '')).toBe(says.failed);
	});
});
