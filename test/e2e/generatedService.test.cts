import type { INode } from 'n8n-workflow';

import { Prism, type Exchange } from '../../hosts/prism.cts';
import { itemsOf, TestHost } from '../support/host.cts';
import { agentNode, rowsWorkflow } from '../support/workflows.cts';

// The service as Prism makes it from the OpenAPI description: each answer is another one, with whatever the
// description allows. So only that is asserted which must hold for any answer: each item becomes an output
// or a message, the node does not hang, and each create is sent once.

const CREDENTIAL = 'generatedService';
const ROUNDS = 5;
const RUN = '123e4567-e89b-12d3-a456-426614174000';

/** The agent whose ID is a status: Prism is asked to answer for it with that status. */
const statusFor = (path: string) => {
	const [, id] = /\/agents\/(\d+)\/runs$/.exec(path.replace(/\?.*/, '')) ?? [];
	return id === undefined ? undefined : Number(id);
};

function workflow(id: string, parameters: INode['parameters']) {
	return rowsWorkflow(
		id,
		agentNode('Run', parameters, {
			onError: 'continueErrorOutput',
			credentials: { agentInvocationApi: { id: CREDENTIAL, name: CREDENTIAL } },
		}),
	);
}

const agentId = { __rl: true, mode: 'id', value: '={{ $json.row.agent }}' };
const create = {
	resource: 'run',
	operation: 'create',
	agentId,
	specifyParameters: 'json',
	parametersJson: '{ "text": "Hello" }',
};
const options = { timeout: 4 };
const workflows = [
	workflow('list', { resource: 'agent', operation: 'list', limit: 7 }),
	workflow('start', { ...create, waitForCompletion: false }),
	workflow('wait', { ...create, options }),
	workflow('dryRun', { ...create, dryRun: true }),
	workflow('get', { resource: 'run', operation: 'get', agentId, runId: RUN }),
	workflow('getAndWait', {
		resource: 'run',
		operation: 'get',
		agentId,
		runId: RUN,
		waitForCompletion: true,
		options,
	}),
];

let prism: Prism;
let host: TestHost;

beforeAll(async () => {
	prism = await Prism.start({ statusFor });
	const data = { baseUrl: prism.baseUrl, apiKey: 'any' };
	host = await TestHost.start('n8n-2', workflows, {
		credentials: [{ id: CREDENTIAL, name: CREDENTIAL, data }],
	});
});

afterAll(async () => {
	await host?.stop();
	await prism?.stop();
});

interface Seen {
	outputs: Array<Record<string, unknown>>;
	messages: string[];
	/** The creates that were to start a run. */
	creates: Exchange[];
}

/** Executes a workflow with one row for each agent, and holds it to what must be so for any answer. */
async function execute(workflowId: string, agents: number[]): Promise<Seen> {
	prism.exchanges.length = 0;
	const rows = agents.map((agent) => ({ agent }));
	const execution = await host.execute(workflowId, rows);
	const outputs = itemsOf(execution, 'Run').map(({ json }) => json);
	const messages = itemsOf(execution, 'Run', { output: 1 }).map(({ json: { error } }) =>
		typeof error === 'string' ? error : '',
	);
	const seen = {
		execution: execution.data.resultData.error,
		outputs,
		messages,
		exchanges: prism.exchanges,
	};
	try {
		expect(execution.status).toBe('success');
		for (const message of messages) expect(message).toMatch(/\S/);
		expect(messages.join()).not.toMatch(
			// Prism's texts are Latin, and 'nulla' is one of their words.
			/undefined|\bnull\b|\[object|is not a function|Cannot read/,
		);
	} catch (thrown) {
		throw new Error(`${String(thrown)}\n${JSON.stringify(seen, null, 2)}`);
	}
	return { outputs, messages, creates: prism.exchanges.filter(isCreate) };
}

const isCreate = ({ method, path }: Exchange) =>
	method === 'POST' && !path.includes('dry_run=true');
const times = (status: number) => Array<number>(ROUNDS).fill(status);

// The total may be any number, and the list ends there.
test('agents are listed, no more than asked for', async () => {
	const { outputs, messages } = await execute('list', [1]);
	expect(messages).toEqual([]);
	expect(outputs.length).toBeLessThanOrEqual(7);
});

test.each(['start', 'wait'])(
	'%s: each create is sent once, whatever it is answered',
	async (id) => {
		// 200 is what the description says of a dry run, 202 of a run.
		const agents = [...times(200), ...times(202)];
		const { outputs, messages, creates } = await execute(id, agents);
		expect(outputs.length + messages.length).toBe(agents.length);
		expect(creates).toHaveLength(agents.length);
	},
);

test('a dry run is output whatever its answer is, unless that is of a run', async () => {
	const { outputs, messages, creates } = await execute('dryRun', [...times(200), ...times(202)]);
	expect(outputs.length + messages.length).toBe(2 * ROUNDS);
	// A generated 202 is that of a create, most of the time.
	expect(messages.length).toBeLessThanOrEqual(ROUNDS);
	for (const message of messages) expect(message).toContain('instead of a dry run');
	expect(creates).toEqual([]);
});

test.each(['get', 'getAndWait'])(
	'%s: each run is output, or a message says why not',
	async (id) => {
		const { outputs, messages } = await execute(id, times(1));
		expect(outputs.length + messages.length).toBe(ROUNDS);
		for (const output of outputs) expect(output).toMatchObject({ agent_id: 1, run_id: RUN });
	},
);

test('an answer that refuses a create is told with its code, and the create is sent once', async () => {
	const agents = [400, 401, 403, 404, 409, 500, 503];
	const { messages, outputs, creates } = await execute('start', agents);
	expect(outputs).toEqual([]);
	expect(messages).toHaveLength(agents.length);
	const statuses = creates.map(({ status }) => status);
	expect(statuses.sort()).toEqual(agents);
});
