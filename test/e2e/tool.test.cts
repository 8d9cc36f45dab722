import type { INode } from 'n8n-workflow';

import { startChatModel, type ChatModel } from './chatModel.cts';
import { jsonOf, TestHost } from '../support/host.cts';
import { agentNode, toolWorkflow } from '../support/workflows.cts';

const MODEL = 'chatModel0000001';

const listAgents = agentNode('List agents', {
	resource: 'agent',
	operation: 'list',
	returnAll: true,
});
const runAgent = (mode: 'id' | 'name', value: string) =>
	agentNode('Run an agent', {
		resource: 'run',
		operation: 'create',
		agentId: { __rl: true, mode, value },
		specifyParameters: 'json',
		parametersJson:
			"={{ JSON.stringify($fromAI('parameters', 'Names and values, as an object', 'json')) }}",
		options: {},
	});

// As the editor stores it once an agent is chosen, 'region' left to the model and 'quarter' given.
const runReport = agentNode('Report', {
	agentId: { __rl: true, mode: 'list', value: 2, cachedResultName: 'Regional report' },
	parameters: {
		mappingMode: 'defineBelow',
		value: {
			region:
				"={{ /*n8n-auto-generated-fromAI-override*/ $fromAI('region', `north, south, east or west`, 'string') }}",
			quarter: 'Q2',
		},
		schema: ['region', 'quarter'].map((id) => ({
			id,
			displayName: id,
			required: id === 'region',
			defaultMatch: false,
			canBeUsedToMatch: false,
			display: true,
			type: 'string',
		})),
	},
	options: {},
});

/** Runs an agent whose runs fail. */
const runFailing = (onError: INode['onError']) => {
	const agentId = { __rl: true, mode: 'id', value: '5' };
	const parameters = { agentId, specifyParameters: 'json', parametersJson: '{}', options: {} };
	return agentNode('Run', parameters, { ...(onError && { onError }) });
};

let host: TestHost;
let right: ChatModel;
let wrong: ChatModel;
let asked: ChatModel;
let stopping: ChatModel;
let continuing: ChatModel;

const list = { tool: 'List', arguments: {} };
const run = (agent: number | string, region: string) => ({
	tool: 'Run',
	arguments: { agent, parameters: { region } },
});

beforeAll(async () => {
	right = await startChatModel([list, run('Regional report', 'west')]);
	wrong = await startChatModel([run(2, 'nowhere'), run(9_999, 'west'), run(5, 'west')]);
	asked = await startChatModel([{ arguments: { region: 'east' } }]);
	stopping = await startChatModel();
	continuing = await startChatModel();
	const models = { right, wrong, asked, stopping, continuing };
	const tools = {
		right: [listAgents, runAgent('name', "={{ $fromAI('agent', 'Name of the agent') }}")],
		wrong: [listAgents, runAgent('id', "={{ $fromAI('agent', 'ID of the agent', 'number') }}")],
		asked: [runReport],
		stopping: [runFailing('stopWorkflow')],
		continuing: [runFailing('continueRegularOutput')],
	};
	host = await TestHost.start(
		'n8n-2',
		Object.entries(tools).map(([id, nodes]) => toolWorkflow(id, `${MODEL}${id}`, ...nodes)),
		{
			credentials: Object.entries(models).map(([id, { baseUrl }]) => ({
				id: `${MODEL}${id}`,
				name: id,
				type: 'openAiApi',
				data: { apiKey: 'none', url: baseUrl },
			})),
		},
	);
});

afterAll(async () => {
	await host?.stop();
	await right?.close();
	await wrong?.close();
	await asked?.close();
	await stopping?.close();
	await continuing?.close();
});

test('a model lists the agents, picks one, fills its parameters and gets the output', async () => {
	const execution = await host.execute('right', [{}]);
	const [answer] = jsonOf(execution, 'Good');
	expect(answer?.output).toContain('Sales in the west grew in Q4.');
	expect(right.results[0]).toContain('Writes the sales report of a region');

	// What a model goes by.
	const told = right.offered.map(({ name, description }) => `${name}: ${description}`);
	expect(told).toEqual([
		'Run_an_agent: Create a run in Agent Invocation',
		'List_agents: List agents in Agent Invocation',
	]);
});

test('a model is asked for what is left to it, and for nothing else', async () => {
	const execution = await host.execute('asked', [{}]);
	expect(jsonOf(execution, 'Good')[0]?.output).toContain('Sales in the east grew in Q2.');
	expect(asked.offered).toHaveLength(1);
	expect(asked.offered[0]?.parameters).toMatchObject({
		properties: { region: { type: 'string', description: 'north, south, east or west' } },
		required: ['region'],
	});
	expect(Object.keys(asked.offered[0]?.parameters.properties ?? {})).toEqual(['region']);
});

test('an error reaches the model as text that it can act on', async () => {
	await host.execute('wrong', [{}]);
	const [value = '', agent = '', parameter = ''] = wrong.results;
	expect(value).toContain("Parameter 'region' of agent 2 cannot be 'nowhere'");
	expect(value).toContain("'nowhere' is not an option of parameter 'region'");
	expect(agent).toContain('Agent 9999 was not found');
	expect(parameter).toContain('Agent 5 has no parameter');
	for (const result of wrong.results) {
		expect(JSON.parse(result)).toEqual([
			{
				error: expect.any(String) as string,
				details: expect.any(Object) as object,
				advice: expect.stringMatching(/\w/) as string,
			},
		]);
	}
});

test.each(['stopping', 'continuing'])(
	'a run that fails is an answer to the model, and the call a success, also when it is %s on errors',
	async (id) => {
		const execution = await host.execute(id, [{}]);
		const { results } = id === 'stopping' ? stopping : continuing;
		expect(JSON.parse(results[0] ?? '')).toEqual([
			{
				error: expect.stringMatching(/^The agent's run failed: A tool of the agent/) as string,
				details: expect.objectContaining({ status: 'failed', agent_id: 5 }) as object,
				advice: expect.stringMatching(/\w/) as string,
			},
		]);
		const [call] = execution.data.resultData.runData.Run!;
		expect(call).toMatchObject({ executionStatus: 'success' });
		expect(call?.error).toBeUndefined();
	},
);
