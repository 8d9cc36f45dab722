import type { INodeParameters } from 'n8n-workflow';

import { executeAlone } from '../support/engine.cts';
import { byId, createRun, getRun, listAgents, useSandbox } from '../support/sandboxed.cts';

// n8n's own agents run the node without an execution: there is no execution data, and no node before it.
const sandbox = useSandbox();

const alone = async (parameters: INodeParameters) => {
	const credential = { baseUrl: sandbox.current.baseUrl, apiKey: 'sandbox-key' };
	const [output] = await executeAlone({ credential, parameters });
	return output?.map(({ json }) => json);
};

test('each operation works without execution data', async () => {
	expect(await alone(listAgents())).not.toHaveLength(0);
	const [created] = (await alone(createRun(3, { seconds: 0.1, text: 'Hello' })))!;
	expect(created).toMatchObject({ status: 'succeeded', output: 'Hello' });
	const got = await alone(getRun(3, created!.run_id, { waitForCompletion: true }));
	expect(got).toMatchObject([{ status: 'succeeded', output: 'Hello' }]);
});

test('an agent is found by its name, and what fails says why', async () => {
	const [agent] = (await alone(listAgents()))!;
	const agentId = { ...byId(agent!.name), mode: 'name' } as INodeParameters;
	const runs = await alone(createRun(3, {}, { agentId, dryRun: true }));
	expect(runs).toHaveLength(1);
	await expect(alone(createRun(999))).rejects.toThrow(/agent 999/i);
});
