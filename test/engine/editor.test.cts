import { searchAgents } from '../../nodes/AgentInvocation/listSearch/searchAgents.ts';
import { getAgentParameters } from '../../nodes/AgentInvocation/resourceMapping/getAgentParameters.ts';
import { loadOptionsContext } from './engine.cts';
import { createRun, useSandbox } from './sandboxed.cts';

const sandbox = useSandbox();

function context(agentId: unknown = 2, apiKey = 'sandbox-key') {
	return loadOptionsContext({
		credential: { baseUrl: sandbox.current.baseUrl, apiKey },
		parameters: createRun(agentId),
	});
}

test('the list of agents comes page by page, each with its description', async () => {
	const first = await searchAgents.call(context());
	expect(first.results).toHaveLength(100);
	expect(first.results[1]).toEqual({
		name: 'Regional report — Writes the sales report of a region',
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

test("an agent's parameters become fields, required ones marked", async () => {
	const { fields } = await getAgentParameters.call(context(2));
	expect(fields).toMatchObject([
		{
			id: 'region',
			displayName: 'region *: north, south, east or west',
			required: true,
			type: 'string',
		},
		{ id: 'quarter', required: false, type: 'string' },
	]);
});

test('an agent without parameters has no fields', async () => {
	expect(await getAgentParameters.call(context(1))).toEqual({
		fields: [],
		emptyFieldsNotice: 'This agent has no parameters. Nothing needs to be filled in.',
	});
});

test('the list and the fields say what is wrong', async () => {
	await expect(searchAgents.call(context(2, 'revoked-key'))).rejects.toThrow(
		'The service does not accept the API key',
	);
	const notice = async (agentId: unknown) =>
		(await getAgentParameters.call(context(agentId))).emptyFieldsNotice;
	expect(await notice('')).toContain("'Agent' is an expression that has no value yet");
	await expect(getAgentParameters.call(context(9_999))).rejects.toThrow(
		"Agent 9999 is not in the organization's list",
	);

	await searchAgents.call(context());
	sandbox.with({ agentCount: 0 });
	await expect(searchAgents.call(context())).rejects.toMatchObject({
		message: 'The organization has no published agents',
		description: expect.stringContaining('Publish one') as string,
	});
});

describe('the list that is kept', () => {
	const offsets = () =>
		sandbox.current.requests.map(({ url }) =>
			new URL(url, 'http://host').searchParams.get('offset'),
		);

	test('picking an agent, showing its parameters and searching cost one reading of the list', async () => {
		await searchAgents.call(context());
		await getAgentParameters.call(context(2));
		expect(offsets()).toEqual(['0']);
		await searchAgents.call(context(), 'in archive 127');
		await searchAgents.call(context(), undefined, '100');
		await getAgentParameters.call(context(127));
		expect(offsets()).toEqual(['0', '100']);
	});

	test('what is asked again, as Refresh does, is read anew', async () => {
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
