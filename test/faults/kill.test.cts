import type { Fault } from '../../sandbox/faults.cts';
import { jsonOf, TestHost, until } from '../support/host.cts';
import { agentNode, createForRow, rowsWorkflow, webhookWorkflow } from '../support/workflows.cts';
import { listAgents } from '../engine/sandboxed.cts';
import { kills } from './kills.cts';

jest.setTimeout(240_000);

let host: TestHost;
const ids: Record<string, string> = {};

const parked = agentNode('Run', { ...createForRow, options: { pollInterval: 65 } });

beforeAll(async () => {
	host = await TestHost.start('n8n-2', [
		rowsWorkflow('run', agentNode('Run', createForRow)),
		rowsWorkflow('parked', parked),
		webhookWorkflow('resumed', [parked, agentNode('Next', listAgents())], {
			Rows: [['Run']],
			Run: [['Next']],
		}),
	]);
}, 900_000);

afterAll(async () => await host?.stop());

const runsOf = (text: string) =>
	host.sandbox.runs.all.filter(({ bindings }) => bindings.text === text);
const asked = ({ method, path = '' }: Omit<Fault, 'kind'>) =>
	host.sandbox.requests.filter(
		(request) =>
			request.method === method && new RegExp(path).test(request.url.replace(/\?.*/, '')),
	).length;

async function restart(): Promise<void> {
	await host.n8n.kill('SIGKILL');
	host.sandbox.faults.clear();
	await host.n8n.start();
}

const stalls: Record<string, Omit<Fault, 'kind'>> = {
	'The create is on its way': { method: 'POST' },
	'The create was carried out, its answer is on its way': { method: 'POST', carriedOut: true },
	"In the node's wait": { method: 'GET', path: '/runs/' },
	'Resumed, in the next node': { method: 'GET', path: '/agents$' },
};
const workflowAt: Record<string, string> = {
	Parked: 'parked',
	'Resumed, in the next node': 'resumed',
};

// 'Parked, in mid-poll' takes longer than all the others: parkingTrouble.test.cts has it.
test.each(kills.filter(({ moment }) => moment !== 'Parked, in mid-poll'))(
	'$moment: afterwards the execution is $status, with $runs runs',
	async ({ moment, status, runs }) => {
		const workflow = workflowAt[moment] ?? 'run';
		const { requests, faults } = host.sandbox;
		requests.length = 0;
		const stall = stalls[moment];
		if (stall) faults.add({ kind: 'stall', times: 9, ...stall });

		const id = await host.begin(workflow, [{ agent: 3, values: { seconds: 20, text: moment } }]);
		if (stall) await until(() => asked(stall) > 0, 150_000);
		else await host.untilParked(id);
		await restart();

		ids[moment] = id;
		const execution = await host.n8n.endOf(id, 200_000);
		expect(execution.status).toBe(status);
		if (status === 'success') expect(jsonOf(execution, 'Good')).toMatchObject([{ output: moment }]);
		// Whatever n8n takes up again when it starts, it starts no run.
		await new Promise((resolve) => setTimeout(resolve, 3_000));
		expect(runsOf(moment)).toHaveLength(runs);
		if (workflowAt[moment]) {
			expect(JSON.stringify(execution.data)).toContain(runsOf(moment)[0]?.runId);
		}
		expect(asked({ method: 'POST' })).toBeLessThanOrEqual(1);
	},
);

test("the editor's Retry of a crashed execution knows of no run, and starts one anew", async () => {
	const moment = "In the node's wait";
	await host.n8n.endOf(await host.n8n.retry(ids[moment]!));
	expect(runsOf(moment)).toHaveLength(2);
});

test('the key is nowhere in n8n, after all that', async () => {
	await host.n8n.kill('SIGTERM');
	expect(host.filesWithKey()).toEqual([]);
});
