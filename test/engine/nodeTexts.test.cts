import { Workflow, type INodeParameters } from 'n8n-workflow';

import { AgentInvocation } from '../../nodes/AgentInvocation/AgentInvocation.node.ts';

const type = new AgentInvocation();
const { subtitle, waitingNodeTooltip } = type.description;

/** What the editor shows for a node with these parameters: it evaluates the text without any data. */
function shown(text: string, parameters: INodeParameters): unknown {
	const node = {
		id: 'run',
		name: 'Run',
		type: 'run',
		typeVersion: 1,
		position: [0, 0] as [number, number],
		parameters,
	};
	const types = {
		getByName: () => type,
		getByNameAndVersion: () => type,
		getKnownTypes: () => ({}),
	};
	const { expression } = new Workflow({
		nodes: [node],
		connections: {},
		active: false,
		nodeTypes: types,
	});
	return expression.getSimpleParameterValue(node, text, 'internal', {});
}

const agent = (mode: string, value: unknown, cachedResultName?: string) => ({
	agentId: { __rl: true, mode, value, ...(cachedResultName && { cachedResultName }) },
});
const REST =
	'n8n has stored this execution and polls again by itself; the list of executions says when.';

test.each([
	[
		agent('list', 2, 'Regional report\u2060 — Writes'),
		{},
		"'Regional report' to finish, for up to 1 hour",
	],
	[agent('name', 'A & <b>'), { timeout: 7_200 }, "'A &amp; &lt;b>' to finish, for up to 2 hours"],
	[agent('id', 2), { timeout: 0 }, "'agent 2' to finish"],
	[
		agent('name', '={{ $json.agent }}'),
		{ timeout: 90 },
		'the agent to finish, for up to 90 seconds',
	],
	[agent('id', 2), { timeout: 60 }, "'agent 2' to finish, for up to 1 minute"],
	[agent('id', 2), { timeout: '={{ $json.limit }}' }, "'agent 2' to finish"],
	[agent('id', 2), { timeout: 90.5 }, "'agent 2' to finish, for up to 90.5 seconds"],
	[agent('id', 2), { timeout: 0.5 }, "'agent 2' to finish, for up to 0.5 seconds"],
	[agent('id', 2), { timeout: 5_400 }, "'agent 2' to finish, for up to 90 minutes"],
	[{ agentId: 2 }, {}, 'the agent to finish, for up to 1 hour'],
])('a stored execution says what it waits for: %j, %j', (chosen, options, says) => {
	const parameters = { ...chosen, options } as INodeParameters;
	expect(shown(waitingNodeTooltip!, parameters)).toBe(`Waiting for ${says}. ${REST}`);
});

test.each<[object, string]>([
	[agent('list', 2, 'Regional report\u2060 — Writes'), 'Regional report'],
	[agent('list', 2, 'Sales — EMEA\u2060 — Writes'), 'Sales — EMEA'],
	[agent('list', ''), 'create run'],
	[agent('name', 'Regional report'), 'Regional report'],
	[agent('id', 42), 'agent 42'],
	[agent('id', '={{ $json.agent }}'), 'create run'],
	[{ ...agent('name', 'Regional report'), dryRun: true }, 'dry run: Regional report'],
	[{ ...agent('id', ''), dryRun: true }, 'dry run'],
	[{ resource: 'agent', operation: 'list', returnAll: false, limit: 9 }, 'up to 9 agents'],
	[{ resource: 'agent', operation: 'list', returnAll: false, limit: 1 }, 'up to 1 agent'],
	[{ resource: 'agent', operation: 'list', returnAll: true, limit: 9 }, 'all agents'],
])('a node with %j is called %s', (parameters, says) => {
	const all = { resource: 'run', operation: 'create', ...parameters };
	expect(shown(subtitle as string, all as INodeParameters)).toBe(says);
});
