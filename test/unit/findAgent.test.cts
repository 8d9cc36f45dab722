import { readAgentId, readRunId } from '../../nodes/AgentInvocation/operations/ids.ts';
import {
	findAgent,
	listedOf,
	pick,
	readAgent,
} from '../../nodes/AgentInvocation/operations/findAgent.ts';
import { nameKey } from '../../nodes/AgentInvocation/textKey.ts';
import type { ItemWork } from '../../nodes/AgentInvocation/items/operation.ts';
import { toAgent } from '../../nodes/AgentInvocation/service/types.ts';
import type { Service } from '../../nodes/AgentInvocation/service/service.ts';
import { contextOf } from '../support/simulation/world/context.cts';
import { outcomeOf, settled } from '../support/outcome.cts';

const failing = (message: string) => ({
	ok: false,
	failure: { message, description: expect.stringMatching(/\w/) as string, details: {} },
});

test.each<[unknown, unknown]>([
	[42, 42],
	[0, 0],
	[' 42 ', 42],
	[{ mode: 'id', value: '7' }, 7],
	[{ mode: 'list', value: 7 }, 7],
	[{ mode: 'name', value: ' Report ' }, 'Report'],
	[{ mode: 'name', value: 7 }, '7'],
])('%j as an agent is %j', (given, value) => {
	expect(outcomeOf(() => readAgent(given))).toEqual({ ok: true, value });
});

test.each<[unknown, string]>([
	['', "'Agent' is empty"],
	[undefined, "'Agent' is empty"],
	[true, "'Agent' is not an agent ID: true"],
	[{ mode: 'name', value: ' ' }, "'Agent' is empty"],
	[{ mode: 'name', value: '\u200b' }, "'Agent' is empty"],
	[{ mode: 'name' }, "'Agent' is empty"],
	[{ mode: 'id', value: '' }, "'Agent' is empty"],
	['seven', "'Agent' is not an agent ID: seven"],
	['7a', "'Agent' is not an agent ID: 7a"],
	['07', "'Agent' is not an agent ID: 07"],
	['1e3', "'Agent' is not an agent ID: 1e3"],
	[1.5, "'Agent' is not an agent ID: 1.5"],
	[-1, "'Agent' is not an agent ID: -1"],
	['9007199254740993', "'Agent' is not an agent ID: 9007199254740993"],
])('%j as an agent: %s', (given, message) => {
	expect(outcomeOf(() => readAgent(given))).toEqual(failing(message));
});

test('what to do about it is to choose an agent', () => {
	expect(outcomeOf(() => readAgentId('x'))).toMatchObject({
		failure: { description: expect.stringContaining('Choose an agent from the list') as string },
	});
});

const UUID = '123e4567-e89b-12d3-a456-426614174000';

test.each<[unknown, string]>([
	[' 123e4567-e89b-12d3-a456-426614174000 ', '123e4567-e89b-12d3-a456-426614174000'],
	[7, '7'],
	['"a-1"', 'a-1'],
	['(a-1).', 'a-1'],
	['\u200ba-1\u2060', 'a-1'],
	[`run_id: ${UUID}`, UUID],
	[`https://agents.example.com/agents/2/runs/${UUID}?`, UUID],
	[`It has failed (run ${UUID} of agent 2)`, UUID],
	[JSON.stringify({ run_id: UUID, agent_id: 1 }), UUID],
	[`run ${UUID} or ${UUID.toUpperCase()}`, UUID],
	[`run_id:${UUID}`, UUID],
	[`Run ID=${UUID}!`, UUID],
	[`**${UUID}**`, UUID],
	[`=${UUID}`, UUID],
	[`prod:${UUID}`, `prod:${UUID}`],
	[`прод:${UUID}`, `прод:${UUID}`],
	[`run-${UUID}`, `run-${UUID}`],
])('%j as a run ID is %s', (given, value) => {
	expect(outcomeOf(() => readRunId(given))).toEqual({ ok: true, value });
});

test.each<[unknown, string]>([
	['', "'Run ID' is empty"],
	[' ', "'Run ID' is empty"],
	[undefined, "'Run ID' is empty"],
	['a/b', "'Run ID' is not a run ID: a/b"],
	[1.5, "'Run ID' is not a run ID: 1.5"],
	[
		`${UUID}, ${UUID.replace('1', '2')}`,
		`'Run ID' is not a run ID: ${UUID}, 223e4567-e89b-12d3-a45…`,
	],
	[`x/a${UUID}00`, `'Run ID' is not a run ID: x/a${UUID}00`],
	[`x/a${UUID}`, `'Run ID' is not a run ID: x/a${UUID}`],
	[`x/${UUID}00`, `'Run ID' is not a run ID: x/${UUID}00`],
	['{"run_id":"a","agent_id":1}', `'Run ID' is not a run ID: {"run_id":"a","agent_id":1}`],
	[2 ** 53, "'Run ID' is not a run ID: 9007199254740992"],
	[{}, "'Run ID' is not a run ID: an object"],
])('%j as a run ID: %s', (given, message) => {
	expect(outcomeOf(() => readRunId(given))).toEqual(failing(message));
});

test('an ID may have been pasted with what nobody sees', () => {
	expect(readAgentId('\u200b42\ufeff')).toBe(42);
});

test('names that differ in case or in the space around them are the same', () => {
	expect(nameKey(' Straße A ')).toBe(nameKey('straße a'));
	expect(nameKey('STRASSE')).toBe(nameKey('Straße'));
	expect(nameKey('STRAẞE')).toBe(nameKey('Straße'));
	expect(nameKey('Caf\u00e9')).toBe(nameKey('CAFE\u0301'));
	expect(nameKey('a')).not.toBe(nameKey('b'));
});

describe('of the agents', () => {
	const agents = [
		{ id: 1, name: 'Report' },
		{ id: 2, name: ' twice' },
		{ id: 3, name: 'Twice' },
		{ id: 4, name: 'TWICE ' },
	].map(toAgent);
	const listed = listedOf(agents);

	test('the one of the name is picked', () => {
		expect(pick(listed, 'REPORT')).toBe(agents[0]);
	});

	test('none is where no name is the same, and that is said', () => {
		expect(outcomeOf(() => pick(listed, 'Repor'))).toEqual(
			failing("No published agent is named 'Repor'"),
		);
	});

	test('none is where several have the name, and they are told', () => {
		expect(outcomeOf(() => pick(listed, 'twice'))).toEqual(
			failing("3 published agents are named 'twice': 2, 3, 4"),
		);
	});
});

describe('the list of agents', () => {
	/** Nodes of one execution, at a service whose agents these are by and by. */
	function execution(...answers: Array<Array<{ id: number; name: string }> | 'failing'>) {
		let lists = 0;
		const context = contextOf({});
		const node = () => {
			const service = {
				key: 'key',
				owner: {},
				baseUrl: '',
				limiter: { admit: () => Promise.resolve('send'), learn: () => {} },
				renew: () => Promise.resolve(undefined),
				send() {
					const agents = answers[Math.min(lists++, answers.length - 1)]!;
					return Promise.resolve(
						agents === 'failing'
							? { kind: 'rejected', status: 400 }
							: { kind: 'ok', body: { agents, pagination: { total: agents.length } } },
					);
				},
			} as unknown as Service;
			const { signal } = new AbortController();
			return async (name: string) =>
				await settled(
					findAgent(name, { context, service, signal } as unknown as ItemWork, Infinity),
				);
		};
		return { node, lists: () => lists };
	}

	const found = (value: number) => ({ ok: true, value });
	const [one, two] = [
		{ id: 1, name: 'one' },
		{ id: 2, name: 'two' },
	];

	test('is read once for all items, and all nodes', async () => {
		const { node, lists } = execution([one, two]);
		const first = node();
		expect(await Promise.all([first('one'), first('two'), first('none')])).toMatchObject([
			found(1),
			found(2),
			{ ok: false },
		]);
		expect(await node()('two')).toEqual(found(2));
		expect(lists()).toBe(1);
	});

	test('is read once more for a name that an earlier node did not find in it', async () => {
		const { node, lists } = execution([one], [one, two]);
		await node()('one');
		const later = node();
		expect(await Promise.all([later('two'), later('two'), later('none')])).toMatchObject([
			found(2),
			found(2),
			{ ok: false },
		]);
		expect(await later('none')).toMatchObject({ ok: false });
		expect(lists()).toBe(2);
	});

	test('is read again by whoever comes after a failure', async () => {
		const { node, lists } = execution('failing', [one]);
		const first = node();
		expect(await first('one')).toMatchObject({ ok: false });
		expect(await first('one')).toEqual(found(1));
		expect(lists()).toBe(2);
	});

	test('may hold one without an ID that can be used, and that is said', async () => {
		const { node } = execution([{ id: NaN, name: 'one' }, two]);
		const find = node();
		expect(await find('one')).toEqual(failing("The agent named 'one' has no ID that can be used"));
		expect(await find('two')).toEqual(found(2));
	});

	test('of another execution is not taken', async () => {
		const first = execution([one]);
		const second = execution([two]);
		expect(await first.node()('one')).toEqual(found(1));
		expect(await second.node()('one')).toMatchObject({ ok: false });
	});
});
