import type { ILoadOptionsFunctions, INodeParameters } from 'n8n-workflow';

import { searchAgents } from '../../nodes/AgentInvocation/editor/searchAgents.ts';
import { getAgentParameters } from '../../nodes/AgentInvocation/editor/getAgentParameters.ts';
import { makeAgents } from '../../sandbox/agents.cts';
import type { Sandbox } from '../../sandbox/server.cts';
import { execute, loadOptionsContext } from '../support/engine.cts';
import { createRun, getRun, listAgents } from '../support/sandboxed.cts';

/** How long a run may be waited for here, in s. */
export const TIME_LIMIT_S = 12;

/** What came of an operation: an error, or what the user has then. */
export interface Outcome {
	error?: { name: string; message: string; description: string };
	/** In a few words. */
	shown?: string;
	/** All that n8n stores of it. */
	stored: unknown;
}

/** An operation of the node, and the request of it that meets the trouble. */
export interface OperationCase {
	name: string;
	hit: { method: 'GET' | 'POST'; path: string };
	/** Whether it starts a run; what is there besides was there before. */
	startsRun?: boolean;
	/** Whether a first request goes through, so that an address alone cannot make the trouble. */
	hitsLater?: boolean;
	run(credential: { baseUrl: string; apiKey: string }, sandbox: Sandbox): Promise<Outcome>;
}

const CREATE = { method: 'POST', path: '/runs$' } as const;
const POLL = { method: 'GET', path: '/runs/' } as const;
const LIST = { method: 'GET', path: '/agents$' } as const;
const options = { timeout: TIME_LIMIT_S };
const SCRIPTED = 3;
const values = { seconds: 0.1 };

/** The run that 'Get a run' is asked for: it has finished before the trouble begins. */
function existingRun(sandbox: Sandbox): string {
	const agent = makeAgents(SCRIPTED).at(-1)!;
	return sandbox.runs.create(agent, { seconds: '0' }).runId;
}

function executed(parameters: (sandbox: Sandbox) => INodeParameters): OperationCase['run'] {
	return async (credential, sandbox) => {
		const { run, output, error } = await execute({ credential, parameters: parameters(sandbox) });
		const status = output[0]?.json.status;
		return {
			stored: run,
			...(error && { error: { ...error, name: error.name as string } }),
			...(!error && {
				shown:
					typeof status === 'string'
						? `a ${status} run`
						: `${output.length} item${output.length === 1 ? '' : 's'}`,
			}),
		};
	};
}

function loaded(
	load: (context: ILoadOptionsFunctions) => Promise<unknown[]>,
): OperationCase['run'] {
	return async (credential) => {
		const context = loadOptionsContext({ credential, parameters: createRun(2) });
		try {
			const entries = await load(context);
			return { stored: entries, shown: `${entries.length} entries` };
		} catch (thrown) {
			const error = thrown as Error & { description: string };
			const { name, message, description } = error;
			return { stored: { ...error, message }, error: { name, message, description } };
		}
	};
}

export const operationCases: OperationCase[] = [
	{ name: 'List agents', hit: LIST, run: executed(() => listAgents()) },
	{
		name: 'Create a run, without waiting',
		startsRun: true,
		hit: CREATE,
		run: executed(() => createRun(SCRIPTED, values, { waitForCompletion: false, options })),
	},
	{
		name: 'Create a run, all items checked first: the check',
		startsRun: true,
		hit: CREATE,
		run: executed(() => createRun(SCRIPTED, values, { options: { ...options, checkFirst: true } })),
	},
	{
		name: 'Create a run and wait: its creation',
		startsRun: true,
		hit: CREATE,
		run: executed(() => createRun(SCRIPTED, values, { options })),
	},
	{
		name: 'Create a run and wait: a poll of it',
		startsRun: true,
		hit: POLL,
		hitsLater: true,
		run: executed(() => createRun(SCRIPTED, values, { options })),
	},
	{
		name: 'Get a run',
		hit: POLL,
		run: executed((sandbox) => getRun(SCRIPTED, existingRun(sandbox), { options })),
	},
	{
		name: 'Get a run and wait',
		hit: POLL,
		run: executed((sandbox) =>
			getRun(SCRIPTED, existingRun(sandbox), { waitForCompletion: true, options }),
		),
	},
	{
		name: 'Dry run',
		hit: CREATE,
		run: executed(() => createRun(SCRIPTED, values, { dryRun: true })),
	},
	{
		name: 'The list of agents in the editor',
		hit: LIST,
		run: loaded(async (context) => (await searchAgents.call(context)).results),
	},
	{
		name: "An agent's fields in the editor",
		hit: LIST,
		run: loaded(async (context) => (await getAgentParameters.call(context)).fields),
	},
];
