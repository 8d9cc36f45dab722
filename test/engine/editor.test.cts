import type { INode } from 'n8n-workflow';

import { AgentInvocation } from '../../nodes/AgentInvocation/AgentInvocation.node.ts';
import { searchAgents } from '../../nodes/AgentInvocation/editor/searchAgents.ts';
import { describeParameters } from '../../nodes/AgentInvocation/editor/describeParameters.ts';
import { getAgentParameters } from '../../nodes/AgentInvocation/editor/getAgentParameters.ts';
import { loadOptionsContext } from '../support/engine.cts';
import { createRun, jsonOf, listAgents, run, useSandbox } from '../support/sandboxed.cts';

const sandbox = useSandbox();

function context(agentId: unknown = 2, apiKey = 'sandbox-key', node: Partial<INode> = {}) {
	return loadOptionsContext({
		credential: { baseUrl: sandbox.current.baseUrl, apiKey },
		parameters: createRun(agentId),
		node,
	});
}

const noticeOf = async (agentId: unknown) =>
	(await describeParameters.call(context(agentId))).emptyFieldsNotice;

/** Has the service's list hold one agent, 2, with these parameters. */
function serve(...parameters: object[]): void {
	const agents = [{ id: 2, name: 'Agent', parameters }];
	const body = { agents, pagination: { total: 1 } };
	sandbox.current.faults.add({ kind: 'answer', path: '/agents', body, times: 9 });
}

test('the list of agents comes page by page, each with its description', async () => {
	const first = await searchAgents.call(context());
	expect(first.results).toHaveLength(100);
	expect(first.results[1]).toEqual({
		name: 'Regional report\u2060 — Writes the sales report of a region',
		value: 2,
	});
	const second = await searchAgents.call(context(), undefined, first.paginationToken as string);
	expect(second.results).toHaveLength(30);
	expect(second.paginationToken).toBeUndefined();
});

test('a search finds agents on every page, by name, description or ID', async () => {
	const ids = async (filter: string) =>
		(await searchAgents.call(context(), filter)).results.map(({ value }) => value);
	expect(await ids('REGIONAL')).toEqual([2]);
	expect(await ids('in archive 127')).toEqual([127]);
	expect(await ids('129')).toEqual([129]);
	expect(await ids('no such agent')).toEqual([]);
});

test('an entry of the list shows 40 characters of a description', async () => {
	const description =
		'Reads the mails of a day,\n sorts them, and answers those that it can answer';
	const agents = [{ id: 1, name: 'Mail', description, parameters: [] }];
	const body = { agents, pagination: { total: 1 } };
	sandbox.current.faults.add({ kind: 'answer', path: '/agents', body });
	const { results } = await searchAgents.call(context());
	expect(results[0]?.name).toBe('Mail\u2060 — Reads the mails of a day, sorts them, a…');
});

test('a description is not cut within a character', async () => {
	const description = `${'x'.repeat(38)}📈 shows the sales`;
	const agents = [{ id: 1, name: 'Report', description, parameters: [] }];
	const body = { agents, pagination: { total: 1 } };
	sandbox.current.faults.add({ kind: 'answer', path: '/agents', body });
	const { results } = await searchAgents.call(context());
	expect(results[0]?.name).toBe(`Report\u2060 — ${'x'.repeat(38)}…`);
});

describe("an agent's parameters", () => {
	const HOSTILE = {
		name: '<img src=x onerror=alert(1)>',
		description: '<a href="https://evil.example">ok</a> & {{ $env }}',
	};

	test('become fields with their names for labels, required ones marked', async () => {
		const { fields } = await getAgentParameters.call(context(2));
		expect(fields).toEqual([
			expect.objectContaining({ id: 'region', displayName: 'region *', required: true }),
			expect.objectContaining({ id: 'quarter', displayName: 'quarter', required: false }),
		]);
	});

	test('are described whole, with name, description and whether they are required', async () => {
		expect(await noticeOf(2)).toBe(
			'<b>region</b> (required): north, south, east or west<br><b>quarter</b>: Q1 to Q4; the present one when left out',
		);
		expect(await noticeOf(1)).toBe('This agent has no parameters. Nothing needs to be filled in.');
	});

	test('are described in text, whatever an agent says', async () => {
		serve(HOSTILE, { name: 'plain', description: null });
		expect(await noticeOf(2)).toBe(
			'<b>&lt;img src=x onerror=alert(1)&gt;</b>: &lt;a href="https://evil.example"&gt;ok&lt;/a&gt; &amp; {{ $env }}<br><b>plain</b>',
		);
	});

	test('are not known before there is an agent, or when it is gone: the notice says so', async () => {
		expect(await noticeOf('')).toContain("'Agent' is an expression that has no value yet");
		// Where it throws, the editor keeps its fields, and what was entered in them.
		await expect(getAgentParameters.call(context(''))).rejects.toThrow(
			"'Agent' is an expression that has no value yet",
		);
		expect(await noticeOf(9_999)).toBe(
			"Agent 9999 is not in the organization's list. Choose an agent from the list in 'Agent'.",
		);
		await expect(getAgentParameters.call(context(9_999))).rejects.toThrow(
			"Agent 9999 is not in the organization's list",
		);
	});

	test('are not known where the list cannot be read: the notice says why, in few words', async () => {
		const error = { code: 'bad', message: 'long '.repeat(100_000), request_id: 'r' };
		const answer = { kind: 'answer', status: 400, body: { error } } as const;
		sandbox.current.faults.add({ ...answer, path: '/agents', times: 9 });
		const notice = await noticeOf(2);
		expect(notice).toMatch(/^long long/);
		expect(notice!.length).toBeLessThan(2_500);
	});

	test('of a tool have their plain names, which are what the model knows them by', async () => {
		const node = { type: 'n8n-nodes-agent-invocation.agentInvocationTool' };
		const { fields } = await getAgentParameters.call(context(2, undefined, node));
		expect(fields.map(({ displayName }) => displayName)).toEqual(['region', 'quarter']);
	});

	test('of a tool have a number where the model would know two of them by one name', async () => {
		serve(...['Регион', 'Период', 'plain', 'Start date', 'Start_date'].map((name) => ({ name })));
		const tool = { type: 'n8n-nodes-agent-invocation.agentInvocationTool' };
		const { fields } = await getAgentParameters.call(context(2, undefined, tool));
		const names = ['Регион', '2 Период', 'plain', 'Start date', '2 Start_date'];
		expect(fields.map(({ displayName }) => displayName)).toEqual(names);
	});

	test('are found although the agent was published after the list was read', async () => {
		sandbox.with({ agentCount: 5 });
		await searchAgents.call(context());
		sandbox.with({ agentCount: 6 });
		await expect(getAgentParameters.call(context(6))).resolves.toEqual({ fields: [] });
	});

	test('become fields where they have a name, each once', async () => {
		serve({ name: { en: 'region' } }, { name: 7 }, { name: null }, { name: '7' }, { name: '' });
		const { fields } = await getAgentParameters.call(context(2));
		expect(fields.map(({ id }) => id)).toEqual(['7']);
	});
});

describe('one odd agent', () => {
	const good = { id: 2, name: 'Good', description: 'Does good', parameters: [{ name: 'region' }] };

	test.each([
		['a description that is no text', { id: 3, name: 'Odd', description: { en: 'x' } }],
		['parameters that are no list', { id: 3, name: 'Odd', parameters: { region: {} } }],
		['parameters that are nothing', { id: 3, name: 'Odd', parameters: [null, 7, { name: [] }] }],
		['no name', { id: 3, parameters: [] }],
		['an odd name', { id: 3, name: { en: 'x' }, parameters: 'x' }],
		['no ID', { name: 'Odd' }],
		['nothing', null],
	])('with %s breaks nothing', async (_, odd) => {
		const body = { agents: [odd, good], pagination: { total: 2 } };
		sandbox.current.faults.add({ kind: 'answer', path: '/agents$', body, times: 99 });
		const values = async (filter?: string) =>
			(await searchAgents.call(context(), filter)).results.map(({ value }) => value);
		expect(await values()).toContain(2);
		expect(await values('good')).toEqual([2]);
		for (const agent of [2, 3]) {
			const { fields } = await getAgentParameters
				.call(context(agent))
				.catch((error: Error) => ({ fields: error.message }));
			if (agent === 2) expect(fields).toMatchObject([{ id: 'region' }]);
			else if (typeof fields === 'string') expect(fields).toMatch(/^Agent 3 is not in/);
			else expect(fields).toEqual([]);
			expect(await noticeOf(agent)).toMatch(agent === 2 ? /<b>region/ : /no parameters|not in/);
		}
		const listed = await run(sandbox.current, listAgents({ returnAll: true }));
		expect(jsonOf(listed.output)).toEqual(odd === null ? [good] : [odd, good]);
		const named = { __rl: true, mode: 'name', value: 'good' };
		const started = await run(
			sandbox.current,
			createRun(1, { region: 'north' }, { agentId: named, waitForCompletion: false }),
		);
		expect(started.error?.message).toBeUndefined();
		expect(jsonOf(started.output)).toMatchObject([{ agent_id: 2 }]);
	});
});

test('the list says what is wrong', async () => {
	await expect(searchAgents.call(context(2, 'revoked-key'))).rejects.toThrow(
		'The service does not accept the API key',
	);
	await searchAgents.call(context());
	sandbox.with({ agentCount: 0 });
	await expect(searchAgents.call(context())).rejects.toMatchObject({
		message: 'The organization has no published agents',
		description: expect.stringContaining('Publish one') as string,
	});
});

test('the options of each operation stand in the order of their names, and say their unit', () => {
	const collections = new AgentInvocation().description.properties.filter(
		({ name, displayOptions }) =>
			name === 'options' && displayOptions?.show?.resource?.[0] === 'run',
	);
	const lists = collections.map(({ options = [] }) =>
		options.map((option) => ('displayName' in option ? option.displayName : option.name)),
	);
	expect(lists.map(({ length }) => length)).toEqual([9, 6]);
	for (const names of lists) {
		expect(names).toEqual([...names].sort());
		expect(names).toEqual(
			expect.arrayContaining(['Poll Interval (Seconds)', 'Time Limit (Seconds)']),
		);
	}
});

describe('the list that is kept', () => {
	const offsets = () =>
		sandbox.current.requests.map(({ url }) =>
			new URL(url, 'http://host').searchParams.get('offset'),
		);

	test('picking an agent, showing and describing its parameters and searching cost one reading of the list', async () => {
		await searchAgents.call(context());
		await getAgentParameters.call(context(2));
		await describeParameters.call(context(2));
		expect(offsets()).toEqual(['0']);
		await searchAgents.call(context(), 'in archive 127');
		await searchAgents.call(context(), undefined, '100');
		await getAgentParameters.call(context(127));
		expect(offsets()).toEqual(['0', '100']);
	});

	test('what is asked again, as Refresh does, is read again', async () => {
		await getAgentParameters.call(context(2));
		await getAgentParameters.call(context(2));
		await searchAgents.call(context());
		expect(offsets()).toEqual(['0', '0']);
	});

	test("the fields of an agent are read no further than the agent's page", async () => {
		await getAgentParameters.call(context(2));
		expect(offsets()).toEqual(['0']);
	});

	test('another key has a list of its own', async () => {
		await searchAgents.call(context());
		await expect(searchAgents.call(context(2, 'revoked-key'))).rejects.toThrow();
		expect(sandbox.current.requests).toHaveLength(2);
	});
});
