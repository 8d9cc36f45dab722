import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { parse } from 'flatted';
import type { IRunExecutionData } from 'n8n-workflow';

import type { StoredExecution, WorkflowFile } from '../../hosts/n8n.cts';
import { projectRoot } from '../../hosts/pack.cts';
import { startChatModel, type ChatModel } from './chatModel.cts';
import { jsonOf, TestHost } from '../support/host.cts';

const folder = path.join(projectRoot, 'examples');
const examples = new Map(
	readdirSync(folder).map((file) => [
		file,
		JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as WorkflowFile,
	]),
);

/** The same tools, of which the first gives up sooner than the agent can be done. */
function withImpatientTool(): WorkflowFile {
	const id = 'impatientTool001';
	const { nodes, ...rest } = structuredClone(examples.get('agent-as-ai-tool.json')!);
	const { parameters } = nodes.find(({ name }) => name === 'Start a report')!;
	Object.assign(parameters!.options!, { timeout: 1 });
	return { ...rest, id, name: id, nodes };
}

/** Starts a report, unless the conversation has the ID of one: it then gets that one. */
function startOrGet(messages: Array<{ role: string; content: unknown }>) {
	if (messages.at(-1)?.role === 'tool') {
		const newest = 'SELECT data FROM execution_data ORDER BY "executionId" DESC LIMIT 1';
		storedMeanwhile = parse(String(host.sql(newest)[0]?.data)) as IRunExecutionData;
		return undefined;
	}
	const [, runId] = /run_id\W+([\w-]{36})/.exec(JSON.stringify(messages)) ?? [];
	return runId === undefined
		? { tool: 'Start', arguments: { region: 'south' } }
		: { tool: 'Get', arguments: { Run_ID: runId } };
}

let chatModel: ChatModel;
let host: TestHost;
/** What n8n has of an execution whose tool has ended, and whose model has not answered yet. */
let storedMeanwhile: IRunExecutionData | undefined;

beforeAll(async () => {
	chatModel = await startChatModel(startOrGet);
	examples.set('impatient', withImpatientTool());
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
});

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

/** What the AI Agent of an example answers in a chat. */
async function chat(file: string, chatInput: string): Promise<unknown> {
	const message = { action: 'sendMessage', sessionId: '1', chatInput };
	const [answer] = jsonOf(await execute(file, message), 'AI Agent');
	return answer?.output;
}

describe('an agent as the tool of an AI Agent', () => {
	test('a report that is soon there is the answer, and what a model goes by is said', async () => {
		const answer = await chat('agent-as-ai-tool.json', 'How is the south doing?');
		expect(answer).toContain('Sales in the south grew in Q4.');
		expect(answer).not.toContain('advice');
		const asked = chatModel.offered.map(({ name, parameters }) => [name, parameters.required]);
		expect(asked).toEqual([
			['Get_a_report', ['Run_ID']],
			['Start_a_report', ['region']],
		]);
	});

	test('a report that takes longer is started once, and gotten in a later turn', async () => {
		const before = host.sandbox.runs.all.length;
		const atFirst = await chat('impatient', 'How is the south doing?');
		expect(atFirst).toMatch(/"status":"(pending|running)"/);
		expect(atFirst).toContain('"advice":"The run has not finished and continues at the service.');
		// With its progress saved, n8n keeps the run's ID even if it ends before the model answers.
		const [call] = storedMeanwhile?.resultData.runData['Start a report'] ?? [];
		expect(JSON.stringify(call?.data)).toContain('run_id');
		expect(await chat('impatient', 'And now?')).toContain('Sales in the south grew in Q4.');
		expect(host.sandbox.runs.all).toHaveLength(before + 1);
	});
});

test('every example explains itself in a note, keeps its progress, and is executed here', () => {
	for (const { nodes, settings } of examples.values()) {
		const note = nodes.find(({ type }) => type === 'n8n-nodes-base.stickyNote');
		expect(note?.parameters?.content).toContain('**Regional report**');
		expect(note?.parameters?.content).toContain('`region`');
		expect(note?.parameters?.content).toContain('Save execution progress');
		expect(settings).toMatchObject({ saveExecutionProgress: true });
	}
	expect(readdirSync(folder).sort()).toEqual([
		'agent-as-ai-tool.json',
		'failures-to-a-second-branch.json',
		'one-run-per-row.json',
		'run-an-agent.json',
		'start-now-collect-later.json',
	]);
});
