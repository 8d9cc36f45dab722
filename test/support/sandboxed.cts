import type { IDataObject, INode, INodeParameters } from 'n8n-workflow';

import { startSandbox, type Sandbox, type SeenRequest } from '../../sandbox/server.cts';
import type { Settings } from '../../sandbox/settings.cts';
import { execute, type Execution, type Outcome } from './engine.cts';

/** A sandbox for the tests of one file: fresh for each test, and held to its own OpenAPI description. */
export function useSandbox(): { current: Sandbox; with(changes: Partial<Settings>): void } {
	const held = {
		current: undefined as unknown as Sandbox,
		with(changes: Partial<Settings>) {
			Object.assign(held.current.settings, changes);
		},
	};
	beforeEach(async () => {
		held.current = await startSandbox();
	});
	afterEach(async () => {
		await held.current.close();
		expect(held.current.contractBreaches).toEqual([]);
	});
	return held;
}

/** Executes our node against a sandbox with a good credential. */
export async function run(
	sandbox: Sandbox,
	parameters: INodeParameters,
	more: Omit<Partial<Execution>, 'parameters'> = {},
): Promise<Outcome> {
	const credential = { baseUrl: sandbox.baseUrl, apiKey: 'sandbox-key' };
	return await execute({ credential, parameters, ...more });
}

export const byId = (value: unknown) => ({ __rl: true, mode: 'id', value }) as INodeParameters;

/** Parameters of 'Create a run' with values as JSON. */
export function createRun(
	agentId: unknown,
	values: unknown = {},
	more: INodeParameters = {},
): INodeParameters {
	return {
		resource: 'run',
		operation: 'create',
		agentId: byId(agentId),
		specifyParameters: 'json',
		parametersJson: typeof values === 'string' ? values : JSON.stringify(values),
		...more,
	};
}

/** Parameters of 'Get a run'. */
export function getRun(
	agentId: unknown,
	runId: unknown,
	more: INodeParameters = {},
): INodeParameters {
	return {
		resource: 'run',
		operation: 'get',
		agentId: byId(agentId),
		runId: runId as string,
		...more,
	};
}

/** Parameters of 'List agents'. */
export function listAgents(more: INodeParameters = {}): INodeParameters {
	return { resource: 'agent', operation: 'list', ...more };
}

export const onError = (setting: INode['onError']) => ({ node: { onError: setting } });

/** The requests that started, or would have started, a run. */
export function creates({ requests }: Sandbox): SeenRequest[] {
	return requests.filter(({ method }) => method === 'POST');
}

export function jsonOf(items: Outcome['output']): IDataObject[] {
	return items.map(({ json }) => json);
}
