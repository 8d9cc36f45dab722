import { Workflow, type INodeParameters } from 'n8n-workflow';

import { AgentInvocation } from '../../nodes/AgentInvocation/AgentInvocation.node.ts';

const type = new AgentInvocation();

/** What the editor shows for a node with these parameters: it evaluates the text without any data. */
function shown(parameters: INodeParameters): unknown {
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
	const text = type.description.waitingNodeTooltip!;
	return expression.getSimpleParameterValue(node, text, 'internal', {});
}

const agent = (mode: string, value: unknown, cachedResultName?: string) => ({
	agentId: { __rl: true, mode, value, ...(cachedResultName && { cachedResultName }) },
});
const REST =
	'n8n has stored this execution and polls again by itself; the list of executions says when.';

test.each([
	[
		agent('list', 2, 'Regional report — Writes'),
		{},
		"'Regional report' to finish, for up to 1 hour",
	],
	[agent('name', 'A & <b>'), { timeout: 7_200 }, "'A &amp; &lt;b>' to finish, for up to 2 hours"],
	[agent('id', 2), { timeout: 0 }, 'the agent to finish'],
	[
		agent('name', '={{ $json.agent }}'),
		{ timeout: 90 },
		'the agent to finish, for up to 90 seconds',
	],
	[agent('id', 2), { timeout: 60 }, 'the agent to finish, for up to 1 minute'],
	[agent('id', 2), { timeout: '={{ $json.limit }}' }, 'the agent to finish'],
	[agent('id', 2), { timeout: 90.5 }, 'the agent to finish, for up to 90.5 seconds'],
	[agent('id', 2), { timeout: 0.5 }, 'the agent to finish, for up to 0.5 seconds'],
	[agent('id', 2), { timeout: 5_400 }, 'the agent to finish, for up to 90 minutes'],
	[{ agentId: 2 }, {}, 'the agent to finish, for up to 1 hour'],
])('a stored execution says what it waits for: %j, %j', (chosen, options, says) => {
	expect(shown({ ...chosen, options } as INodeParameters)).toBe(`Waiting for ${says}. ${REST}`);
});
