import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import type { StoredExecution, WorkflowFile } from '../../hosts/n8n.cts';
import { projectRoot } from '../../hosts/pack.cts';
import { startChatModel, type ChatModel } from './chatModel.cts';
import { jsonOf, TestHost } from '../support/host.cts';

jest.setTimeout(120_000);

const folder = path.join(projectRoot, 'examples');
const examples = new Map(
	readdirSync(folder).map((file) => [
		file,
		JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as WorkflowFile,
	]),
);

let chatModel: ChatModel;
let host: TestHost;

beforeAll(async () => {
	chatModel = await startChatModel([{ arguments: { region: 'south' } }]);
	host = await TestHost.start('n8n-2', [...examples.values()], {
		publishes: false,
		keys: ['agentInvocation1'],
		credentials: [
			{
				id: 'chatModel0000001',
				name: 'Chat model account',
				type: 'openAiApi',
				data: { apiKey: 'none', url: chatModel.baseUrl },
			},
		],
	});
}, 900_000);

afterAll(async () => {
	await host?.stop();
	await chatModel?.close();
});

/** Executes an example as a user does who has imported it and presses the button. */
async function execute(file: string, triggerJson?: object): Promise<StoredExecution> {
	const { id, nodes } = examples.get(file)!;
	const trigger = nodes.find(({ type }) => type?.endsWith('Trigger'));
	const execution = await host.n8n.endOf(
		await host.n8n.runManually(id, trigger!.name!, triggerJson && { json: triggerJson }),
	);
	expect(execution.data.resultData.error?.message).toBeUndefined();
	expect(execution.status).toBe('success');
	return execution;
}

test('run an agent and use its output', async () => {
	expect(jsonOf(await execute('run-an-agent.json'), 'Message')).toEqual([
		{ subject: 'The report is there', text: 'Sales in the north grew in Q4.' },
	]);
});

test('one run per row', async () => {
	const results = jsonOf(await execute('one-run-per-row.json'), 'Results');
	expect(results.map(({ region }) => region)).toEqual(['north', 'south', 'east', 'west']);
	for (const { region, report } of results) expect(report).toContain(`in the ${region as string}`);
});

test('start now, collect later', async () => {
	const execution = await execute('start-now-collect-later.json');
	expect(jsonOf(execution, 'Start the runs')).toMatchObject([
		{ agent_id: 2, status: 'pending' },
		{ agent_id: 2, status: 'pending' },
	]);
	expect(jsonOf(execution, 'Results')).toEqual([
		{ region: 'north', report: 'Sales in the north grew in Q4.' },
		{ region: 'south', report: 'Sales in the south grew in Q4.' },
	]);
});

test('failures to a second branch', async () => {
	const execution = await execute('failures-to-a-second-branch.json');
	expect(jsonOf(execution, 'Reports')).toHaveLength(2);
	expect(jsonOf(execution, 'Failed regions')).toEqual([
		{ region: 'nowhere', problem: "Parameter 'region' of agent 2 cannot be 'nowhere'" },
	]);
});

test('an agent as the tool of an AI Agent', async () => {
	const chat = { action: 'sendMessage', sessionId: '1', chatInput: 'How is the south doing?' };
	const execution = await execute('agent-as-ai-tool.json', chat);
	const [answer] = jsonOf(execution, 'AI Agent');
	expect(answer?.output).toContain('Sales in the south grew in Q4.');
});

test('every example explains itself in a note, and is executed here', () => {
	for (const { nodes } of examples.values()) {
		expect(nodes.some(({ type }) => type === 'n8n-nodes-base.stickyNote')).toBe(true);
	}
	expect([...examples.keys()].sort()).toEqual([
		'agent-as-ai-tool.json',
		'failures-to-a-second-branch.json',
		'one-run-per-row.json',
		'run-an-agent.json',
		'start-now-collect-later.json',
	]);
});
