import type { IDataObject } from 'n8n-workflow';

import { execute, type Said } from '../support/simulation/ownWorld.cts';
import { json } from '../support/simulation/world/answers.cts';

// What comes of a run: an output, or a failed item.
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

/** Gets a run as the service shows it, and names it. */
async function get(shown: IDataObject, said: Said = {}) {
	const { world, jsons, error } = await execute({
		operation: 'get',
		hand: { respond: ({ runId }) => json(200, { run_id: runId, ...shown }) },
		...said,
	});
	const run_id = world.runs[0]!.id;
	const ids = { agent_id: 1, run_id };
	return { ids, named: `(run ${run_id} of agent 1)`, output: jsons[0], error };
}

const succeeded = { status: 'succeeded' };
const asRun: Said = { options: { onUnsuccessfulRun: 'output' } };

describe('a run', () => {
	test('is output with what it brought first, the ID that was asked for, and without what is missing', async () => {
		const rest = { created_at: 'then', extra: { a: 1 } };
		const shown = { ...rest, agent_id: 'another', ...succeeded, output: 'Done' };
		const { output, ids } = await get(shown);
		expect(Object.entries(output!)).toEqual(
			Object.entries({ status: 'succeeded', output: 'Done', ...ids, ...rest }),
		);
	});

	test.each(['SUCCEEDED', ' Succeeded '])('has succeeded with the status %j', async (status) => {
		const { output, ids } = await get({ status, output: 'Done' });
		expect(output).toEqual({ status, output: 'Done', ...ids });
	});

	test.each<[IDataObject, string]>([
		[{ status: 'failed', error: 'No tool.' }, 'failed: No tool'],
		[{ status: 'failed', error: { message: 'No tool' } }, 'failed: No tool'],
		[{ status: 'failed', error: { message: 1 } }, 'failed: {"message":1}'],
		[{ status: 'failed', error: null }, 'failed'],
		[{ status: 'failed' }, 'failed'],
		[{ status: 'failed', error: '' }, 'failed'],
		[{ status: 'cancelled', error: 'odd' }, 'was cancelled at the service'],
		[{ status: 'expired', completed_at: '2026-01-01' }, "ended as 'expired'"],
		[
			{ status: 'expired', completed_at: '2026-01-01', error: 'It took too long.' },
			"ended as 'expired': It took too long",
		],
	])('that ended so fails: %j', async (shown, end) => {
		const { error, ids, named } = await get(shown);
		expect(error).toMatchObject({
			message: `The agent's run ${end} ${named}`,
			description:
				"This is how the run ended at the service. To output such runs instead, choose 'Output the Run' in 'If Run Does Not Succeed' under 'Options'.",
			context: { details: { ...ids, status: shown.status } },
		});
	});

	test('that failed is output where the user wants it', async () => {
		const shown = { status: 'failed', error: 'No tool' };
		const { output, ids } = await get(shown, asRun);
		expect(output).toEqual({ ...shown, ...ids });
	});

	test('that goes on is output as it is', async () => {
		const { output, ids } = await get({ status: 'running' }, { waits: false });
		expect(output).toEqual({ status: 'running', ...ids });
	});
});

describe('output as JSON', () => {
	const asJson: Said = { options: { outputFormat: 'json' } };

	test.each<[unknown, unknown]>([
		['{"a":[1]}', { a: [1] }],
		['7', 7],
		[{ a: 1 }, { a: 1 }],
	])('of %j is %j', async (output, expected) => {
		const seen = await get({ ...succeeded, output: output as string }, asJson);
		expect(seen.output).toMatchObject({ output: expected });
	});

	test('is that of a run that has failed as well', async () => {
		const options = { ...asJson.options, ...asRun.options };
		const { output } = await get({ status: 'failed', output: '{}' }, { options });
		expect(output).toMatchObject({ status: 'failed', output: {} });
	});

	test.each([
		{ status: 'running', output: '' },
		{ status: 'failed', output: '' },
		{ status: 'cancelled', output: 'I was' },
	])('of a run that has not succeeded is as it is where it is no JSON: %j', async (run) => {
		const options = { ...asJson.options, ...asRun.options };
		const { output, error } = await get(run, { options, waits: false });
		expect(error).toBeUndefined();
		expect(output).toMatchObject(run);
	});

	test('of another text fails and keeps the text', async () => {
		const { error, ids, named } = await get({ ...succeeded, output: 'plain' }, asJson);
		expect(error).toMatchObject({
			message: `The agent's output is not JSON ${named}`,
			description: expect.stringMatching(
				/^Set 'Output Format' under 'Options' to 'Text'\. To get the text of this run, use 'Get a run' with its ID and that format\. The JSON reader says: .*JSON/,
			) as string,
			context: { details: { ...ids, status: 'succeeded', output: 'plain' } },
		});
	});
});

describe('at the time limit', () => {
	const running = { status: 'running', more: 1 };
	const lasts =
		"It continues at the service. To get its result later, use 'Get a run' with its ID.";
	const raise = "To wait longer, raise 'Time Limit (Seconds)' under 'Options'.";
	const byWorkflow =
		"The workflow's own timeout, or n8n's (EXECUTIONS_TIMEOUT), leaves no more time.";

	test.each([
		[60, 0, '60 s', raise],
		[12.34, 0, '12.3 s', raise],
		[70, 100, '70 s', raise],
		[70.05, 100, '70 s', byWorkflow],
		[0, 100, '70 s', byWorkflow],
	])('of %d s, in a workflow with one of %d, a run fails', async (timeout, s, says, remedy) => {
		const said: Said = { options: { timeout }, workflowTimeoutS: s };
		const { error, ids, named } = await get(running, said);
		expect(error).toMatchObject({
			message: `The agent's run has not finished within ${says} ${named}`,
			description: `${lasts} ${remedy}`,
			context: { details: { ...ids, status: 'running' } },
		});
	});

	test('that has passed before another attempt waits, it says so', async () => {
		const { error } = await execute({
			maxTries: 3,
			runOf: () => ({ durationMs: HOUR }),
			options: { timeout: 0 },
			workflowTimeoutS: 200,
		});
		expect(error?.message).toContain("has not finished before the workflow's own timeout (run ");
	});

	test('what cannot be known is not said: what the last poll met is', async () => {
		const said: Said = {
			options: { timeout: 60, onTimeout: 'output' },
			hand: { respond: () => ({ statusCode: 502 }) },
		};
		const { error, ids, named } = await get({}, said);
		expect(error).toMatchObject({
			message: `At the time limit of 60 s the service did not say whether the agent's run had finished ${named}`,
			description: expect.stringMatching(
				/^To get its result, use 'Get a run' with its ID\. The last poll failed: The service, or a proxy in front of it, could not process the request\. If it keeps/,
			) as string,
			context: { details: { ...ids, http_status: 502 } },
		});
		const within = await get({}, { ...said, options: { timeout: 0 }, workflowTimeoutS: 100 });
		expect(within.error?.message).toMatch(/^Before the workflow's own timeout the service did not/);
		expect(within.error?.description).toContain(byWorkflow);
	});

	test('it is output as it was last seen where the user wants it', async () => {
		const options = { timeout: 60, onTimeout: 'output' } as const;
		const { output, ids } = await get(running, { options });
		expect(output).toEqual({ ...running, ...ids });
	});
});

describe('a model is told what to do', () => {
	const tool = (shown: object, said: Said = {}): Said => ({
		waits: false,
		...said,
		hand: {
			respond: ({ runId }) => json(200, { run_id: runId, ...shown }),
			node: { type: 'agentInvocationTool' },
		},
	});

	test.each(['pending', 'running', 'odd'])('of a run that is %s', async (status) => {
		const { output } = await get({}, tool({ status, completed_at: null }));
		expect(output?.advice).toMatch(
			/continues at the service\. Do not start another one.*agent_id and run_id/,
		);
	});

	test.each<[string, object, Said]>([
		['a run that has succeeded', succeeded, {}],
		['one that has failed', { status: 'failed' }, asRun],
		['one that has ended in an unknown way', { status: 'odd', completed_at: '2026-01-01' }, asRun],
		['a dry run', { status: 'compiled' }, { operation: 'dryRun' }],
	])('but not of %s', async (_, shown, said) => {
		const { jsons } = await execute({ operation: 'get', ...tool(shown, said) });
		expect(jsons).toMatchObject([shown]);
		expect(jsons[0]).not.toHaveProperty('advice');
	});
});
