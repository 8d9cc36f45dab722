import type { INodeParameters } from 'n8n-workflow';

import { Prism } from '../../hosts/prism.cts';
import { startSandbox, type Sandbox } from '../../sandbox/server.cts';
import { execute } from '../support/engine.cts';
import { createRun, getRun, listAgents, onError } from '../support/sandboxed.cts';

// The node and the sandbox were written by the same hands, and the sandbox checks itself. Here Prism, which
// others wrote, stands between the two and holds what both say against the OpenAPI description.

const KEY = 'sandbox-key';
const UNKNOWN_RUN = '123e4567-e89b-12d3-a456-426614174000';

let sandbox: Sandbox;
let prism: Prism;

beforeAll(async () => {
	sandbox = await startSandbox(0, { apiKeys: [KEY] });
	prism = await Prism.start({ upstream: sandbox.baseUrl });
});

afterAll(async () => {
	await prism?.stop();
	await sandbox?.close();
});

beforeEach(() => void (prism.exchanges.length = 0));

interface Case {
	what: string;
	parameters: INodeParameters;
	/** The statuses of the answers, in the order in which each is seen first. */
	statuses: number[];
	apiKey?: string;
}

const all = listAgents({ returnAll: true });
const values = { seconds: 1, text: 'Zoë “quotes” her \\ and \n\t🙂' };
const cases: Case[] = [
	{ what: 'a list of all agents', parameters: all, statuses: [200] },
	{
		what: 'a part of the list',
		parameters: listAgents({ limit: 7, options: { offset: 120 } }),
		statuses: [200],
	},
	{ what: 'a run that is waited for', parameters: createRun(3, values), statuses: [202, 200] },
	{
		what: 'a run that fails',
		parameters: createRun(3, { ...values, status: 'failed' }),
		statuses: [202, 200],
	},
	{
		what: 'a run that is cancelled',
		parameters: createRun(3, { ...values, status: 'cancelled' }),
		statuses: [202, 200],
	},
	{
		what: 'a run without parameters',
		parameters: createRun(1, {}, { waitForCompletion: false }),
		statuses: [202],
	},
	{
		what: 'a dry run',
		parameters: createRun(2, { region: 'east' }, { dryRun: true }),
		statuses: [200],
	},
	{ what: 'an agent that is not there', parameters: createRun(4_711), statuses: [404] },
	{ what: 'a parameter that is not there', parameters: createRun(1, { no: 1 }), statuses: [400] },
	{ what: 'an agent with a bad configuration', parameters: createRun(6), statuses: [400] },
	{ what: 'a run that is not there', parameters: getRun(1, UNKNOWN_RUN), statuses: [404] },
	{ what: 'a key that is not accepted', parameters: all, statuses: [401], apiKey: 'revoked' },
];

test.each(cases)(
	'$what: neither side breaks the description',
	async ({ parameters, statuses, apiKey = KEY }) => {
		const credential = { baseUrl: prism.baseUrl, apiKey };
		await execute({ credential, parameters, ...onError('continueRegularOutput') });
		const seen = new Set(prism.exchanges.map(({ status }) => status));
		expect([...seen]).toEqual(statuses);
		expect(prism.violations).toEqual([]);
	},
);

test('a run that was created is got', async () => {
	const credential = { baseUrl: prism.baseUrl, apiKey: KEY };
	const { runId } = sandbox.runs.all[0]!;
	const { output } = await execute({ credential, parameters: getRun(3, runId) });
	expect(output).toMatchObject([{ json: { run_id: runId, output: values.text } }]);
	expect(prism.violations).toEqual([]);
});

test('what breaks the description is seen: in a request, and in an answer', async () => {
	const credential = { baseUrl: prism.baseUrl, apiKey: KEY };
	await execute({
		credential,
		parameters: getRun(1, 'no-uuid'),
		...onError('continueRegularOutput'),
	});
	expect(prism.violations).toEqual([expect.stringContaining('run_id')]);

	prism.exchanges.length = 0;
	const body = { agents: [{ id: 'one' }], pagination: { total: 1, limit: 1, offset: 0 } };
	sandbox.faults.add({ kind: 'answer', body });
	await execute({ credential, parameters: all });
	expect(prism.violations).toContainEqual(expect.stringContaining('agents'));
});
