import {
	createRun,
	creates,
	getRun,
	jsonOf,
	onError,
	run,
	useSandbox,
} from '../support/sandboxed.cts';

const sandbox = useSandbox();

test('a run is created, waited for and output whole, with its agent', async () => {
	const { output } = await run(sandbox.current, createRun(3, { seconds: 1, text: 'Hello' }));
	const [created] = sandbox.current.runs.all;
	expect(jsonOf(output)).toEqual([
		{
			agent_id: 3,
			run_id: created!.runId,
			status: 'succeeded',
			created_at: expect.any(String) as string,
			completed_at: expect.any(String) as string,
			output: 'Hello',
		},
	]);
	expect(creates(sandbox.current)).toHaveLength(1);
});

test('without waiting the output is the created run alone, and the run is not asked for', async () => {
	const parameters = createRun(3, {}, { waitForCompletion: false });
	const { output } = await run(sandbox.current, parameters);
	const [created] = sandbox.current.runs.all;
	expect(jsonOf(output)).toEqual([{ agent_id: 3, run_id: created!.runId, status: 'pending' }]);
	expect(sandbox.current.requests).toHaveLength(1);
});

test('many items run side by side, and their outputs keep the order of the input', async () => {
	const seconds = [2, 0.2, 1, 0.1, 1.5];
	const items = seconds.map((s) => ({ s }));
	const { output } = await run(
		sandbox.current,
		createRun(3, '={{ JSON.stringify({ seconds: $json.s, text: "took " + $json.s }) }}'),
		{ items },
	);
	expect(jsonOf(output).map((json) => json.output)).toEqual(seconds.map((s) => `took ${s}`));
	expect(output.map(({ pairedItem }) => pairedItem)).toEqual(seconds.map((_, item) => ({ item })));
	// One after the other, the first run's last poll would come before the second create.
	const { requests, runs } = sandbox.current;
	const first = runs.all.find(({ bindings }) => bindings.seconds === '2')!.runId;
	const polls = requests.map(({ url }) => url.endsWith(first)).lastIndexOf(true);
	const creating = requests.map(({ method }) => method === 'POST').lastIndexOf(true);
	expect(creating).toBeLessThan(polls);
	const created = sandbox.current.runs.all.map((r) => r.bindings.seconds);
	expect(created.sort()).toEqual(seconds.map(String).sort());
});

test('no more runs are in flight than Max Concurrency allows', async () => {
	const parameters = createRun(3, { seconds: 0.5 }, { options: { maxConcurrency: 2 } });
	await run(sandbox.current, parameters, { items: [{}, {}, {}, {}, {}] });
	const { all } = sandbox.current.runs;
	const ends = all.map(({ createdAt, script }) => createdAt + script.durationMs);
	for (const [index, { createdAt }] of all.entries()) {
		const inFlight = ends.filter((end, other) => other < index && end > createdAt).length;
		expect(inFlight).toBeLessThan(2);
	}
});

describe('fields that are mapped automatically', () => {
	const column = (id: string, more = {}) => ({ id, displayName: id, required: false, ...more });
	const mapped = (agent: string | number, ...schema: object[]) =>
		createRun(
			agent,
			{},
			{
				specifyParameters: 'fields',
				parameters: { mappingMode: 'autoMapInputData', value: null, schema } as never,
			},
		);
	const bindings = () => sandbox.current.runs.all.map((made) => made.bindings);

	test.each([[[column('region', { required: true }), column('quarter')]], [[]]])(
		"are those of each item's own agent (as the editor has them: %j)",
		async (schema) => {
			const items = [
				{ agent: 2, region: 'north', text: 'not of agent 2' },
				{ agent: 3, region: 'not of agent 3', text: 'Hello', seconds: 0.1 },
			];
			for (const [agent, first] of [
				['={{ $json.agent }}', 2],
				[3, 3],
			] as const) {
				const { output } = await run(sandbox.current, mapped(agent, ...schema), { items });
				const outputs = [{ agent_id: first }, { agent_id: 3, output: 'Hello' }];
				expect(jsonOf(output)).toMatchObject(outputs);
			}
			expect(bindings()).toEqual([
				{ region: 'north' },
				{ text: 'Hello', seconds: '0.1' },
				{ text: 'not of agent 2' },
				{ text: 'Hello', seconds: '0.1' },
			]);
			const firstPages = sandbox.current.requests.filter(({ url }) => url.endsWith('&offset=0'));
			expect(firstPages).toHaveLength(2);
		},
	);

	test('of an agent that is not in the list are not known, so nothing is started', async () => {
		const { error } = await run(sandbox.current, mapped('={{ 999 }}', column('region')));
		expect(error?.message).toBe("Agent 999 is not in the organization's list");
		expect(error?.description).toContain("Choose an agent from the list in 'Agent'.");
		expect(bindings()).toEqual([]);
	});
});

describe('a dry run', () => {
	test.each([
		{ dryRun: { status: 200, shape: 'object' } as const },
		{ dryRun: { status: 202, shape: 'object' } as const },
	])('is output exactly as the service answered: %j', async (changes) => {
		sandbox.with(changes);
		const { output } = await run(
			sandbox.current,
			createRun(2, { region: 'east' }, { dryRun: true }),
		);
		expect(jsonOf(output)).toEqual([
			{
				prompt: 'You are Regional report. Writes the sales report of a region.',
				parameters: { region: 'east' },
			},
		]);
		expect(sandbox.current.runs.all).toEqual([]);
	});

	test('that is no object stands under result', async () => {
		sandbox.with({ dryRun: { status: 200, shape: 'text' } });
		const { output } = await run(sandbox.current, createRun(1, {}, { dryRun: true }));
		expect(jsonOf(output)).toEqual([
			{ result: 'You are Daily briefing. Sums up what happened today. Takes no parameters..' },
		]);
	});

	test('starts nothing and is repeated like a read', async () => {
		sandbox.current.faults.add({ kind: 'reset', method: 'POST' });
		const { output } = await run(sandbox.current, createRun(1, {}, { dryRun: true }));
		expect(output).toHaveLength(1);
		expect(creates(sandbox.current)).toHaveLength(2);
	});
});

describe('how a run ends', () => {
	test('a failed run fails the item with its own error, its ID and its agent', async () => {
		const { error } = await run(sandbox.current, createRun(5));
		const { runId } = sandbox.current.runs.all[0]!;
		expect(error!.message).toBe(
			`The agent's run failed: A tool of the agent gave no answer (run ${runId} of agent 5)`,
		);
		expect(error!.context.details).toEqual({ agent_id: 5, run_id: runId, status: 'failed' });
	});

	test.each([true, false])('a cancelled run fails the item (completed_at: %s)', async (has) => {
		sandbox.with({ cancelledHasEnd: has });
		const { error } = await run(
			sandbox.current,
			createRun(3, { seconds: 0.1, status: 'cancelled' }),
		);
		const { runId } = sandbox.current.runs.all[0]!;
		expect(error!.message).toBe(
			`The agent's run was cancelled at the service (run ${runId} of agent 3)`,
		);
	});

	test.each(['failed', 'cancelled'])(
		'a %s run is output where the option says so',
		async (status) => {
			const { output } = await run(
				sandbox.current,
				createRun(
					3,
					{ seconds: 0.1, status, text: 'why' },
					{ options: { onUnsuccessfulRun: 'output' } },
				),
			);
			expect(jsonOf(output)).toMatchObject([{ agent_id: 3, status }]);
		},
	);

	test('the time limit fails the item with the ID of the run, which goes on', async () => {
		const { error } = await run(
			sandbox.current,
			createRun(3, { seconds: 60 }, { options: { timeout: 1 } }),
		);
		const { runId } = sandbox.current.runs.all[0]!;
		expect(error!.message).toBe(
			`The agent's run has not finished within 1 s (run ${runId} of agent 3)`,
		);
		expect(error!.description).toContain("'Get a run'");
		expect(error!.context.details).toMatchObject({ run_id: runId, status: 'running' });
	});

	test('the time limit outputs the run as it is where the option says so', async () => {
		const { output } = await run(
			sandbox.current,
			createRun(3, { seconds: 60 }, { options: { timeout: 1, onTimeout: 'output' } }),
		);
		expect(jsonOf(output)).toMatchObject([{ agent_id: 3, status: 'running', completed_at: null }]);
	});

	test.each([0, 60_000])('the status endpoint may say pending (for %d ms)', async (pendingMs) => {
		sandbox.with({ pendingMs });
		const { output } = await run(sandbox.current, createRun(3, { seconds: 1 }));
		expect(jsonOf(output)).toMatchObject([{ status: 'succeeded' }]);
	});
});

describe('the output format', () => {
	const json = { options: { outputFormat: 'json' } };

	test('JSON replaces the text by its value', async () => {
		const { output } = await run(sandbox.current, createRun(4, { text: 'Why?' }, json));
		expect(jsonOf(output)).toMatchObject([{ output: { label: 'question', text: 'Why?' } }]);
	});

	test('JSON may stand in a Markdown code block, as language models write it', async () => {
		const text = 'Here you are:\n```json\n{ "label": "question" }\n```\n';
		const { output } = await run(sandbox.current, createRun(3, { seconds: 0.1, text }, json));
		expect(jsonOf(output)).toMatchObject([{ output: { label: 'question' } }]);
	});

	test('text that is no JSON is an error that names the run and keeps the text', async () => {
		const { output } = await run(
			sandbox.current,
			createRun(3, { seconds: 0.1, text: 'no json' }, json),
			onError('continueRegularOutput'),
		);
		const { runId } = sandbox.current.runs.all[0]!;
		expect(jsonOf(output)).toEqual([
			{
				error: `The agent's output is not JSON (run ${runId} of agent 3)`,
				details: { agent_id: 3, run_id: runId, status: 'succeeded', output: 'no json' },
			},
		]);
	});
});

describe('Get a run', () => {
	test('gives the run as it is now', async () => {
		sandbox.with({ pendingMs: Infinity });
		await run(sandbox.current, createRun(3, { seconds: 60 }, { waitForCompletion: false }));
		const { runId } = sandbox.current.runs.all[0]!;
		const { output } = await run(sandbox.current, getRun(3, runId));
		expect(jsonOf(output)).toMatchObject([
			{ agent_id: 3, run_id: runId, status: 'pending', completed_at: null },
		]);
	});

	test('waits for it, for several items at a time', async () => {
		const parameters = createRun(3, { seconds: 1 }, { waitForCompletion: false });
		const { output: created } = await run(sandbox.current, parameters, { items: [{}, {}, {}] });
		const { output } = await run(
			sandbox.current,
			getRun('={{ $json.agent_id }}', '={{ $json.run_id }}', { waitForCompletion: true }),
			{ items: jsonOf(created) },
		);
		expect(jsonOf(output).map(({ run_id }) => run_id)).toEqual(
			jsonOf(created).map(({ run_id }) => run_id),
		);
		expect(jsonOf(output)).toMatchObject([
			{ output: 'Done.' },
			{ output: 'Done.' },
			{ output: 'Done.' },
		]);
		expect(creates(sandbox.current)).toHaveLength(3);
	});
});

describe('answers that the interface does not promise', () => {
	const post = { method: 'POST', kind: 'answer', status: 202 } as const;
	const get = { method: 'GET', kind: 'answer', status: 200 } as const;

	test.each(['run-7', 'Lauf ä', 42])('a run ID that is no UUID is kept: %j', async (runId) => {
		const { faults } = sandbox.current;
		faults.add({ ...post, body: { run_id: runId, status: 'pending' } });
		if (runId !== 'Lauf ä') faults.add({ ...get, body: { run_id: runId, status: 'succeeded' } });
		const { output, error } = await run(sandbox.current, createRun(3));
		// A space cannot stand in a path, but the ID is not lost.
		if (runId === 'Lauf ä') expect(error!.message).toContain(runId);
		else expect(jsonOf(output)).toMatchObject([{ run_id: String(runId), status: 'succeeded' }]);
	});

	test('a run ID is escaped in the path', async () => {
		sandbox.current.faults.add({ ...get, body: { run_id: 'é:1', status: 'succeeded' } });
		await run(sandbox.current, getRun(3, 'é:1'));
		expect(sandbox.current.requests.at(-1)?.url).toContain('/runs/%C3%A9%3A1');
	});

	test('a create that answers with a finished run is polled once more, for its output', async () => {
		const finished = { run_id: 'r-1', status: 'succeeded', completed_at: '2026-01-01T00:00:00Z' };
		sandbox.current.faults.add({ ...post, body: finished });
		sandbox.current.faults.add({ ...get, body: { ...finished, output: 'There it is.' } });
		const { output } = await run(sandbox.current, createRun(3));
		expect(jsonOf(output)).toMatchObject([{ output: 'There it is.' }]);
	});

	test.each([
		[{ message: 'No model.' }, 'failed: No model'],
		[{ reason: 7 }, 'failed: {"reason":7}'],
		[null, 'failed'],
	])('the error of a run may be any JSON: %j', async (error, said) => {
		sandbox.current.faults.add({ ...get, body: { run_id: 'r', status: 'failed', error } });
		const { error: thrown } = await run(sandbox.current, getRun(3, 'r'));
		expect(thrown!.message).toBe(`The agent's run ${said} (run r of agent 3)`);
	});
});

test('behind a second output, items that begin after a checkpoint look back at their own source', async () => {
	const parameters = createRun(
		3,
		"={{ JSON.stringify({ seconds: 0.1, text: $('Source').item.json.text }) }}",
		{ options: { maxConcurrency: 2 } },
	);
	const texts = ['c', 'd', 'e', 'f'];
	const { output, run: execution } = await run(sandbox.current, parameters, {
		items: texts.map((text) => ({ text })),
		aside: ['a', 'b', 'x', 'y'].map((text) => ({ text })),
	});
	expect(jsonOf(output).map((json) => json.output)).toEqual(texts);
	const tasks = execution.data.resultData.runData['Agent Invocation'] ?? [];
	expect(tasks.map(({ source }) => source)).toMatchObject([[{ previousNodeOutput: 1 }]]);
});

test('an operation that is not known is an error, and never a create', async () => {
	const { error } = await run(sandbox.current, { ...createRun(3), operation: 'watch' });
	expect(error!.message).toBe("The operation 'watch' is not known");
	const long = await run(sandbox.current, { ...createRun(3), operation: 'watch'.repeat(1_000) });
	expect(long.error!.message.length).toBeLessThan(2_000);
	expect(sandbox.current.requests).toEqual([]);
});
