import { jsonOf, TestHost } from '../support/host.cts';
import { agentNode, createForRow, n8nNode, webhookWorkflow } from '../support/workflows.cts';

// Somebody waits for what the node outputs, and would get it before there is a result.
jest.setTimeout(300_000);

const node = agentNode('Run', { ...createForRow, options: { pollInterval: 65 } });
const rows = [40, 1].map((seconds) => ({ agent: 3, values: { seconds, text: `${seconds}` } }));

let host: TestHost;

beforeAll(async () => {
	const called = {
		id: 'called',
		name: 'called',
		nodes: [
			n8nNode('Start', 'executeWorkflowTrigger', 1.1, {
				parameters: { inputSource: 'passthrough' },
			}),
			node,
		],
		connections: { Start: { main: [[{ node: 'Run', type: 'main', index: 0 }]] } },
		settings: { callerPolicy: 'any' },
	};
	const call = n8nNode('Call', 'executeWorkflow', 1.2, {
		parameters: { workflowId: { __rl: true, mode: 'id', value: 'called' }, mode: 'each' },
	});
	host = await TestHost.start('n8n-2', [
		called,
		webhookWorkflow('calls', [call], { Rows: [['Call']] }),
		webhookWorkflow('answers', [node], { Rows: [['Run']] }, 'lastNode'),
		webhookWorkflow(
			'responds',
			[node, n8nNode('Respond', 'respondToWebhook', 1.1)],
			{ Rows: [['Run']], Run: [['Respond']] },
			'responseNode',
		),
	]);
}, 900_000);

afterAll(async () => await host?.stop());

test('a webhook is answered with the result, and a calling workflow has one for each item', async () => {
	const [answer, response, execution] = await Promise.all([
		host.n8n.callWebhook('answers', { rows: rows.slice(0, 1) }),
		host.n8n.callWebhook('responds', { rows: rows.slice(0, 1) }),
		// One item after the other.
		host.begin('calls', rows).then((id) => host.n8n.endOf(id, 240_000)),
	]);
	for (const answered of [answer, response]) {
		expect(answered).toMatchObject({ status: 'succeeded', output: '40' });
	}
	const [responds] = await host.n8n.executions('responds');
	const { data } = await host.n8n.execution(responds!.id);
	expect(data.resultData.runData.Run?.[0]?.hints).toMatchObject([
		{ message: expect.stringContaining('waits for its answer') as string },
	]);
	expect(jsonOf(execution, 'Call').map(({ output }) => output)).toEqual(['40', '1']);
});
