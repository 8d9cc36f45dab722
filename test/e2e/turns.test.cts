import { jsonOf, TestHost } from '../support/host.cts';
import { agentNode, createForRow, n8nNode, rowsWorkflow } from '../support/workflows.cts';

// n8n executes one at a time, and many are due: whose turn comes late is polled then, and makes room.

const CROWD = 12;

const ours = rowsWorkflow(
	'ours',
	agentNode('Run', { ...createForRow, options: { pollInterval: 65 } }),
);

/** n8n keeps an execution that waits for less than 65 s in memory, and in its place. The row says how long. */
const busy = rowsWorkflow(
	'busy',
	n8nNode('Run', 'wait', 1.1, {
		parameters: { resume: 'timeInterval', amount: '={{ $json.row }}', unit: 'seconds' },
		webhookId: 'busy-wait',
	}),
);

let host: TestHost;

beforeAll(async () => {
	host = await TestHost.start('n8n-2', [ours, busy], {
		environment: { N8N_CONCURRENCY_PRODUCTION_LIMIT: '1' },
	});
});

afterAll(async () => await host?.stop());

test(`${CROWD} whose turn comes late do not keep it for longer than their polls take`, async () => {
	const { n8n } = host;
	const ids: string[] = [];
	for (let n = 0; n < CROWD; n++) {
		const row = { agent: 3, values: { seconds: 30, text: `run ${n}` } };
		ids.push(await host.begin('ours', [row]));
	}
	for (const id of ids) await host.untilParked(id);
	const due = (await n8n.executions('ours')).map(({ waitTill }) => Date.parse(waitTill!));
	// The first until they are due, the second, for which n8n answers at its turn, for some time after that.
	await host.begin('busy', [64]);
	await n8n.callWebhook('busy', { rows: [20] });

	const [busyOne] = await n8n.executions('busy');
	const [before] = (await n8n.endOf(busyOne!.id)).data.resultData.runData.Run!;
	expect(before!.startTime + before!.executionTime).toBeGreaterThan(Math.max(...due));
	for (const [n, id] of ids.entries()) {
		const execution = await n8n.endOf(id);
		expect(jsonOf(execution, 'Good')).toMatchObject([{ output: `run ${n}` }]);
		const [task] = execution.data.resultData.runData.Run!;
		expect(task!.startTime).toBeGreaterThan(before!.startTime + before!.executionTime);
		expect(task!.executionTime).toBeLessThan(before!.executionTime);
	}
});
