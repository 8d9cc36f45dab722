import type { INodeParameters } from 'n8n-workflow';

import { getAgentParameters } from '../../nodes/AgentInvocation/editor/getAgentParameters.ts';
import { backoffRange } from '../../nodes/AgentInvocation/service/retryPolicy.ts';
import type { Sandbox } from '../../sandbox/server.cts';
import { loadOptionsContext } from '../support/engine.cts';
import {
	createRun,
	creates,
	getRun,
	jsonOf,
	onError,
	run,
	useSandbox,
} from '../support/sandboxed.cts';

const sandbox = useSandbox();
beforeEach(() => void jest.replaceProperty(backoffRange, 'first', 20));
afterEach(() => jest.restoreAllMocks());

const byName = (name: string) => ({ agentId: { __rl: true, mode: 'name', value: name } });

/** Parameters of 'Create a run' of the agent with a name. */
const createNamed = (name: string, values: unknown = {}, more: INodeParameters = {}) =>
	createRun(0, values, { ...byName(name), ...more });

/** The requests that read the list of agents. */
const listings = ({ requests }: Sandbox) =>
	requests.filter(({ url }) => url.includes('/agents?')).map(({ url }) => url.split('?')[1]);

const WHOLE_LIST = ['limit=100&offset=0', 'limit=100&offset=100'];

test.each(['Regional report', '  regional REPORT '])('%j finds its agent', async (name) => {
	const { output } = await run(sandbox.current, createNamed(name, { region: 'north' }));
	expect(jsonOf(output)).toMatchObject([
		{ status: 'succeeded', agent_id: 2, output: 'Sales in the north grew in Q4.' },
	]);
});

test('many items, each with a name of its own, cost one reading of the list', async () => {
	const names = ['Daily briefing', 'Archive agent 127', 'Daily briefing', 'archive agent 20'];
	const { output } = await run(sandbox.current, createNamed('={{ $json.agent }}'), {
		items: names.map((agent) => ({ agent })),
	});
	expect(jsonOf(output).map(({ agent_id: id }) => id)).toEqual([1, 127, 1, 20]);
	expect(listings(sandbox.current)).toEqual(WHOLE_LIST);
});

test('an agent that is given by its ID is not looked up', async () => {
	await run(sandbox.current, createRun(7));
	expect(listings(sandbox.current)).toEqual([]);
});

test('each execution looks again, so that it sees an agent that was renamed or published just now', async () => {
	const execute = async () => await run(sandbox.current, createNamed('archive agent 7'));
	expect(jsonOf((await execute()).output)).toMatchObject([{ agent_id: 7 }]);
	sandbox.with({ agentCount: 6 });
	expect((await execute()).error?.message).toContain('No published agent is named');
	sandbox.with({ agentCount: 130, agentNames: { 9: 'Archive agent 7', 7: 'Old agent' } });
	expect(jsonOf((await execute()).output)).toMatchObject([{ agent_id: 9 }]);
});

test('no agent of a name, or several, fails the item alone, and nothing is started for it', async () => {
	sandbox.with({ agentNames: { 8: 'Twins', 9: 'TWINS ' } });
	const names = ['Regional reprot', 'twins', '', 'Daily briefing'];
	const { output } = await run(sandbox.current, createNamed('={{ $json.agent }}'), {
		items: names.map((agent) => ({ agent })),
		...onError('continueRegularOutput'),
	});
	expect(jsonOf(output)).toMatchObject([
		{ error: "No published agent is named 'Regional reprot'" },
		{ error: "2 published agents are named 'twins': 8, 9" },
		{ error: "'Agent' is empty" },
		{ agent_id: 1, status: 'succeeded' },
	]);
	expect(creates(sandbox.current)).toHaveLength(1);
	expect(listings(sandbox.current)).toEqual(WHOLE_LIST);

	const { error } = await run(sandbox.current, createNamed('twins'));
	expect(error?.description).toContain("Set 'Agent' to 'By ID'");
});

test('a list that cannot be read fails the items with its reason, once for all of them', async () => {
	const down = { kind: 'html' as const, status: 503, path: '/agents$', times: 5 };
	sandbox.current.faults.add(down);
	const { output } = await run(sandbox.current, createNamed('Daily briefing'), {
		items: Array.from({ length: 10 }, () => ({})),
		...onError('continueRegularOutput'),
	});
	for (const { error } of jsonOf(output)) expect(error).toContain('could not process the request');
	expect(listings(sandbox.current)).toHaveLength(5);
	expect(creates(sandbox.current)).toEqual([]);
});

test('a dry run and Get a run find it by its name too', async () => {
	const { output } = await run(
		sandbox.current,
		createNamed('Regional report', { region: 'north' }, { dryRun: true }),
	);
	expect(output).toHaveLength(1);
	expect(sandbox.current.runs.all).toEqual([]);

	await run(sandbox.current, createRun(1));
	const { runId } = sandbox.current.runs.all[0]!;
	for (const waitForCompletion of [false, true]) {
		const parameters = getRun(0, runId, { ...byName('daily briefing'), waitForCompletion });
		const found = await run(sandbox.current, parameters);
		expect(jsonOf(found.output)).toMatchObject([{ agent_id: 1, run_id: runId }]);
	}
});

describe('a retry', () => {
	const retrying = { retryOnFail: true, maxTries: 2, waitBetweenTries: 10 };
	const revoked = {
		kind: 'answer' as const,
		method: 'GET' as const,
		status: 401,
		body: { error: { code: 'invalid_api_key', message: '', request_id: 'r' } },
	};

	test('of a started run does not look the name up again', async () => {
		sandbox.current.faults.add({ ...revoked, path: '/runs/' });
		const running = run(sandbox.current, createNamed('Scripted run', { seconds: 0.5 }), {
			node: retrying,
		});
		// From the first create on nobody has that name.
		while (creates(sandbox.current).length === 0) await new Promise(setImmediate);
		sandbox.with({ agentNames: { 3: 'Another name' } });
		expect(jsonOf((await running).output)).toMatchObject([{ status: 'succeeded', agent_id: 3 }]);
		expect(creates(sandbox.current)).toHaveLength(1);
		expect(listings(sandbox.current)).toEqual(WHOLE_LIST);
	});

	test('looks a name up again that was not found', async () => {
		sandbox.with({ agentNames: { 3: 'Another name' } });
		const running = run(sandbox.current, createNamed('Scripted run', { seconds: 0.1 }), {
			node: { ...retrying, waitBetweenTries: 1_000 },
		});
		while (listings(sandbox.current).length < 2) await new Promise(setImmediate);
		sandbox.with({ agentNames: {} });
		expect(jsonOf((await running).output)).toMatchObject([{ status: 'succeeded', agent_id: 3 }]);
	});
});

describe('in the editor', () => {
	const fieldsOf = async (name: string) =>
		await getAgentParameters.call(
			loadOptionsContext({
				credential: { baseUrl: sandbox.current.baseUrl, apiKey: 'sandbox-key' },
				parameters: createNamed(name),
			}),
		);

	test('an agent by its name has its fields', async () => {
		const { fields } = await fieldsOf(' regional report');
		expect(fields).toMatchObject([{ id: 'region' }, { id: 'quarter' }]);
	});

	test('a name that is not found, or stands for several, says so', async () => {
		sandbox.with({ agentNames: { 8: 'Twins', 9: 'Twins' } });
		await expect(fieldsOf('Twins')).rejects.toThrow("2 published agents are named 'Twins': 8, 9");
		await expect(fieldsOf('nobody')).rejects.toThrow("No published agent is named 'nobody'");
	});
});
