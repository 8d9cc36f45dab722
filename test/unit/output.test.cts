import type { Item, WaitOptions } from '../../nodes/AgentInvocation/item.ts';
import {
	adviceOn,
	resultOf as resultOfItem,
	noAnswer,
	timeIsUp,
} from '../../nodes/AgentInvocation/waiting/output.ts';
import type { Run } from '../../nodes/AgentInvocation/service/types.ts';
import { waitingItem } from './waitingItem.cts';

const subject = { agentId: 7, runId: 'x' };
const options: WaitOptions = {
	timeoutMs: 60_000,
	pollIntervalMs: 0,
	onUnsuccessfulRun: 'error',
	onTimeout: 'error',
	outputFormat: 'text',
	whereToWait: 'auto',
};
const notBegun: Item = { is: 'notBegun' };
const resultOf = (run: Run, ...more: [typeof subject, WaitOptions]) =>
	resultOfItem(notBegun, run, ...more);
const ended = (more: Partial<Run>): Run => ({ run_id: 'X', status: 'succeeded', ...more });

describe('a run', () => {
	test('is output with what it brought first, the ID that was asked for, and without what is missing', () => {
		const more = { extra: { a: 1 }, agent_id: 'another', error: undefined };
		const run = ended({ created_at: 'then', output: 'Done', ...more });
		const step = resultOf(run, subject, options);
		expect(step).toEqual({
			is: 'done',
			isUnsuccessful: false,
			outputs: [
				{
					status: 'succeeded',
					output: 'Done',
					agent_id: 7,
					run_id: 'x',
					created_at: 'then',
					extra: { a: 1 },
				},
			],
		});
		expect(Object.keys((step as { outputs: object[] }).outputs[0]!)).toEqual([
			'status',
			'output',
			'agent_id',
			'run_id',
			'created_at',
			'extra',
		]);
	});

	test.each<[Partial<Run>, string]>([
		[{ status: 'failed', error: 'No tool.' }, 'failed: No tool'],
		[{ status: 'failed', error: { message: 'No tool' } }, 'failed: No tool'],
		[{ status: 'failed', error: { message: 1 } }, 'failed: {"message":1}'],
		[{ status: 'failed', error: null }, 'failed'],
		[{ status: 'failed' }, 'failed'],
		[{ status: 'failed', error: '' }, 'failed'],
		[{ status: 'cancelled', error: 'odd' }, 'was cancelled at the service'],
		[{ status: 'expired', completed_at: 'then' }, "ended as 'expired'"],
	])('that ended so fails: %j', (more, end) => {
		expect(resultOf(ended(more), subject, options)).toEqual({
			is: 'failed',
			failure: {
				message: `The agent's run ${end} (run x of agent 7)`,
				description:
					"This is how the run ended at the service. To output such runs instead, choose 'Output the Run' in 'If Run Does Not Succeed' under 'Options'.",
				details: { agent_id: 7, run_id: 'x', status: more.status },
			},
		});
	});

	test('that failed is output where the user wants it', () => {
		const run = ended({ status: 'failed', error: 'No tool' });
		expect(resultOf(run, subject, { ...options, onUnsuccessfulRun: 'output' })).toEqual({
			is: 'done',
			outputs: [{ status: 'failed', error: 'No tool', agent_id: 7, run_id: 'x' }],
			isUnsuccessful: true,
		});
	});

	test('that goes on is output as it is', () => {
		expect(resultOf(ended({ status: 'running' }), subject, options)).toEqual({
			is: 'done',
			isUnsuccessful: false,
			outputs: [{ status: 'running', agent_id: 7, run_id: 'x' }],
		});
	});
});

describe('output as JSON', () => {
	const asJson = { ...options, outputFormat: 'json' } as const;

	test.each<[unknown, unknown]>([
		['{"a":[1]}', { a: [1] }],
		['7', 7],
		[{ a: 1 }, { a: 1 }],
	])('of %j is %j', (output, expected) => {
		const step = resultOf(ended({ output: output as string }), subject, asJson);
		expect(step).toMatchObject({ is: 'done', outputs: [{ output: expected, run_id: 'x' }] });
	});

	test('stays unsuccessful where the run was', () => {
		const run = ended({ status: 'failed', output: '{}' });
		const both = { ...asJson, onUnsuccessfulRun: 'output' } as const;
		expect(resultOf(run, subject, both)).toMatchObject({ is: 'done', isUnsuccessful: true });
	});

	test('of another text fails, keeps the text, and is not taken for the end of the run', () => {
		const step = resultOf(ended({ output: 'plain' }), subject, asJson);
		expect(step).toEqual({
			is: 'failed',
			failure: {
				message: "The agent's output is not JSON (run x of agent 7)",
				description: expect.stringMatching(
					/^Set 'Output Format' under 'Options' to 'Text'\. To get the text of this run, use 'Get a run' with its ID and that format\. The JSON reader says: .*JSON/,
				) as string,
				details: { agent_id: 7, run_id: 'x', status: 'succeeded', output: 'plain' },
			},
		});
	});
});

describe('at the time limit', () => {
	const seen = { run_id: 'x', status: 'running', more: 1 };
	const itemWith = (changes: Partial<WaitOptions> = {}) => ({
		...waitingItem({ beganOn: 1_000, options: { ...options, ...changes } }),
		run: { baseUrl: '', ...subject },
	});
	const item = itemWith();
	const limitOn = 61_000;
	const lasts = "It goes on at the service. To get its result later, use 'Get a run' with its ID.";
	const raise = "To wait longer, raise 'Time Limit (Seconds)' under 'Options'.";
	const byWorkflow = "The workflow's own timeout, in its settings, leaves no more time.";

	test('a run fails, and is not over', () => {
		expect(timeIsUp(item, seen, limitOn)).toEqual({
			earlier: item,
			run: item.run,
			is: 'failed',
			failure: {
				message: "The agent's run has not finished within 60 s (run x of agent 7)",
				description: `${lasts} ${raise}`,
				details: { agent_id: 7, run_id: 'x', status: 'running' },
			},
		});
	});

	test('what cannot be known is not said: what the last poll met is, without the run once more', () => {
		const trouble = {
			message: 'No connection (run x of agent 7)',
			description: 'Check it.',
			details: { http_status: 502, agent_id: 8 },
		};
		const get = "To get its result, use 'Get a run' with its ID.";
		expect(noAnswer(itemWith({ onTimeout: 'output' }), trouble, limitOn)).toMatchObject({
			is: 'failed',
			failure: {
				message:
					"At the time limit of 60 s the service did not tell whether the agent's run has finished (run x of agent 7)",
				description: `${get} What the last poll met: No connection. Check it.`,
				details: { http_status: 502, agent_id: 7, run_id: 'x' },
			},
		});
	});

	test.each([
		[0, 61_000, '60 s', byWorkflow],
		[60_000, 60_999, '60 s', byWorkflow],
		[60_000, 60_950, '60 s', byWorkflow],
		[60_000, 51_249, '50.2 s', byWorkflow],
		[60_000, 0, '0 s', byWorkflow],
	])(
		'of %d ms, reached at %d, it is the one of the workflow',
		(timeoutMs, deadline, says, remedy) => {
			const step = timeIsUp(itemWith({ timeoutMs }), seen, deadline);
			const { failure } = step as { failure: { message: string; description: string } };
			expect(failure.message).toContain(`within ${says} (`);
			expect(failure.description).toBe(`${lasts} ${remedy}`);
		},
	);

	test('it is output as it was last seen where the user wants it', () => {
		expect(timeIsUp(itemWith({ onTimeout: 'output' }), seen, limitOn)).toEqual({
			is: 'done',
			run: item.run,
			outputs: [{ status: 'running', agent_id: 7, run_id: 'x', more: 1 }],
		});
	});
});

describe('a model is told what to do', () => {
	const shown = (output: object) => adviceOn({ is: 'done', outputs: [{ ...output }] });
	const ids = { agent_id: 7, run_id: 'x' };

	test.each(['pending', 'running', 'odd'])('of a run that is %s', (status) => {
		expect(shown({ ...ids, status, completed_at: null })).toMatch(
			/goes on at the service\. Do not start another one.*agent_id and run_id/,
		);
	});

	test.each<[string, object]>([
		['a run that has succeeded', { ...ids, status: 'succeeded' }],
		['one that has failed', { ...ids, status: 'failed' }],
		['one that has ended in an unknown way', { ...ids, status: 'odd', completed_at: 'then' }],
		['an agent', { id: 7, name: 'Reporter' }],
		['a dry run', { status: 'compiled' }],
	])('but not of %s', (_, output) => {
		expect(shown(output)).toBeUndefined();
	});

	test('nor of an item without output', () => {
		expect(adviceOn({ is: 'done', outputs: [] })).toBeUndefined();
	});
});
