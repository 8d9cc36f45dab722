import { NodeApiError, NodeOperationError } from 'n8n-workflow';

import {
	cancelledError,
	toEditorError,
	toNodeError,
} from '../../nodes/AgentInvocation/engine/nodeError.ts';
import { FailureError, type Failure } from '../../nodes/AgentInvocation/failure.ts';
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
