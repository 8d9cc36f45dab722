import type { IDataObject } from 'n8n-workflow';

import { OwnWorld, type Said } from '../support/simulation/ownWorld.cts';
import { json } from '../support/simulation/world/answers.cts';
import type { Hand } from '../support/simulation/world/hand.cts';

// What becomes of items whose agent was given by its name when names change, or cannot be looked up.
const SECOND = 1_000;

const named = (value: string): IDataObject => ({ agentId: { __rl: true, mode: 'name', value } });
const byId = (value: number): IDataObject => ({ agentId: { __rl: true, mode: 'id', value } });

/** Three runs of 100 s and more, of an agent by its name. `given` may be changed between attempts. */
function worldOf(given: IDataObject = named('Report'), said: Said = {}, failing = [1]) {
	const hand: Hand = { parameters: () => given };
	const world = new OwnWorld({
		count: 3,
		options: { pollInterval: 65 },
		service: { agents: ['Report', 'Other'] },
		runOf: (item) =>
			failing.includes(item)
				? { durationMs: 400 * SECOND, end: 'failed', shown: {} }
				: { durationMs: (100 + item * 400) * SECOND },
		...said,
		hand,
	});
	/** The list cannot be read any more. */
	const away = () => {
		hand.respond = ({ kind }) => (kind === 'list' ? { statusCode: 503 } : undefined);
	};
	return { world, hand, away };
}

const lists = ({ requests }: OwnWorld) => requests.filter(({ kind }) => kind === 'list').length;
const started = ({ runs, started }: OwnWorld) =>
	runs.map(({ agentId }, index) => [agentId, started[index]]).sort();

test('an execution that was stored goes on without the list of agents', async () => {
	const { world, hand } = worldOf(undefined, {}, []);
	hand.respond = ({ kind, sentAt }) =>
		kind === 'list' && sentAt > 65 * SECOND ? { statusCode: 503 } : undefined;
	const { jsons, parks } = await world.execute();
	expect(jsons.map(({ output }) => output)).toEqual(['0', '1', '2']);
	expect(parks.length).toBeGreaterThan(1);
	expect([world.runs.length, lists(world)]).toEqual([3, 1]);
});

test('items that begin after a rest are looked up then, and fail alone where that is not possible', async () => {
	const options = { pollInterval: 65, maxConcurrency: 2 };
	const said: Said = { options, onError: 'continueRegularOutput' };
	const { world, hand } = worldOf(undefined, said, []);
	hand.respond = ({ kind, sentAt }) =>
		kind === 'list' && sentAt > 60 * SECOND ? { statusCode: 503 } : undefined;
	const { jsons, parks } = await world.execute();
	expect(parks.length).toBeGreaterThan(0);
	expect(jsons.map(({ output, error }) => output ?? error)).toEqual([
		'0',
		'1',
		expect.stringContaining('could not process the request'),
	]);
	expect(started(world)).toEqual([
		[1, 0],
		[1, 1],
	]);
});

test('in a loop, an attempt reads the list again, once, if the one before it met an unknown agent', async () => {
	const said: Said = { turns: 2, maxTries: 2, count: 2, options: {}, runOf: () => ({}) };
	const { world, hand } = worldOf(undefined, said);
	hand.respond = ({ kind, url }) => {
		// After the first turn, another agent has the name.
		if (world.runs.length < 2) return undefined;
		if (kind === 'list')
			return json(200, { agents: [{ id: 2, name: 'Report' }], pagination: { total: 1 } });
		return url.endsWith('/agents/1/runs')
			? json(404, { error: { code: 'agent_not_found', message: '', request_id: 'r' } })
			: undefined;
	};
	const { calls } = await world.execute();
	expect(calls.map((result) => result?.agent_id)).toEqual([1, 2]);
	const sent = world.requests.filter(({ kind }) => kind !== 'poll').map(({ kind }) => kind);
	const [first, refused] = [
		['list', 'create', 'create'],
		['create', 'create'],
	];
	expect(sent).toEqual([...first, ...refused, ...first]);
});

test('the list is read once where it has an agent of which the service knows nothing', async () => {
	const options = { maxConcurrency: 1 };
	const said: Said = { count: 3, options, onError: 'continueRegularOutput' };
	const { world, hand } = worldOf(undefined, said);
	hand.respond = ({ kind }) =>
		kind === 'create'
			? json(404, { error: { code: 'agent_not_found', message: '', request_id: 'r' } })
			: undefined;
	await world.execute();
	const sent = world.requests.map(({ kind }) => kind);
	expect(sent).toEqual(['list', 'create', 'create', 'create']);
});

describe("n8n's Retry", () => {
	/** An execution whose second item has failed while the third one's run goes on. */
	async function fail(given?: IDataObject) {
		const made = worldOf(given);
		expect((await made.world.execute()).error?.message).toContain('failed');
		Object.assign(made.world.runOf(1), { end: 'succeeded', shown: { output: '1' } });
		return made;
	}

	test('keeps finished runs, waits for those that go on, and looks up the name for new ones alone', async () => {
		const { world } = await fail();
		world.world.service.agents.splice(0, 2, 'Old report', 'Report');
		const { jsons } = await world.retry();
		expect(jsons.map(({ output, agent_id }) => [output, agent_id])).toEqual([
			['0', 1],
			['1', 2],
			['2', 1],
		]);
		expect(started(world)).toEqual([
			[1, 0],
			[1, 1],
			[1, 2],
			[2, 1],
		]);
	});

	test.each([
		['by its ID', byId(1), 4],
		['by its name in other letters', named(' REPORT'), 4],
		['another one', byId(2), 6],
	])('where the agent is given %s meanwhile', async (_, parameters, runs) => {
		const { world, hand } = await fail();
		hand.parameters = () => parameters;
		const { items } = await world.retry({ workflow: 'saved', changesNode: true });
		expect(items).toHaveLength(3);
		expect(world.runs).toHaveLength(runs);
	});

	test('where it was given by its ID, and now is by its name', async () => {
		const { world, hand } = await fail(byId(1));
		hand.parameters = () => named('Report');
		const { items } = await world.retry({ workflow: 'saved', changesNode: true });
		expect(items).toHaveLength(3);
		expect(world.runs).toHaveLength(4);
	});

	test('asks for no list where the run is known, also if the user has written the name otherwise', async () => {
		const { world, hand, away } = worldOf(undefined, { count: 1, options: { timeout: 5 } }, []);
		expect((await world.execute()).error?.message).toContain('has not finished');
		away();
		hand.parameters = () => named(' REPORT');
		world.world.executions[0]!.options = {};
		const { items } = await world.retry({ workflow: 'saved', changesNode: true });
		expect(items).toHaveLength(1);
		expect([world.runs.length, lists(world)]).toEqual([1, 1]);
	});

	test('starts none for what is in doubt, whoever has the name', async () => {
		const { world, hand, away } = worldOf(undefined, { count: 1 });
		hand.respond = ({ kind }) => (kind === 'create' ? { statusCode: 500 } : undefined);
		expect((await world.execute()).error?.message).toContain('may have been started');
		away();
		const { error } = await world.retry();
		expect(error?.message).toContain('may have started a run of agent 1 ');
		expect(world.runs).toEqual([]);
	});
});
