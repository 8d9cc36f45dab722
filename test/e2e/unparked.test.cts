import type { HostName } from '../../hosts/install.cts';
import { jsonOf, TestHost, type HostOptions } from '../support/host.cts';
import { agentNode, createForRow, rowsWorkflow } from '../support/workflows.cts';

jest.setTimeout(300_000);

const node = agentNode('Run', { ...createForRow, options: { pollInterval: 65 } });
const rows = [40, 1].map((seconds) => ({ agent: 3, values: { seconds, text: `${seconds}` } }));

// Runs of a minute and more at an interval that other hosts park.
describe.each<[HostName, string, HostOptions['environment'], string]>([
	['n8n-1', 'is too old to park', {}, 'n8n 2.27 and later can park it'],
	[
		'n8n-2',
		"has n8n's Wait node switched off",
		{ NODES_EXCLUDE: '["n8n-nodes-base.wait"]' },
		'n8n did not start the sub-workflow',
	],
])('in an %s that %s', (hostName, _, environment, says) => {
	let host: TestHost;

	beforeAll(async () => {
		host = await TestHost.start(hostName, [rowsWorkflow('wait', node)], { environment });
	}, 900_000);

	afterAll(async () => await host?.stop());

	test('long waits stay in the node, end right, and a hint says why', async () => {
		const execution = await host.execute('wait', rows);
		expect(execution.status).toBe('success');
		expect(jsonOf(execution, 'Good').map(({ output }) => output)).toEqual(['40', '1']);
		expect(host.sandbox.runs.all).toHaveLength(2);
		expect(execution.data.resultData.runData.Run?.[0]?.hints).toMatchObject([
			{ message: expect.stringContaining(says) as string, location: 'outputPane' },
		]);
	});
});
