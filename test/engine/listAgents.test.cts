import { jsonOf, listAgents, run, useSandbox } from '../support/sandboxed.cts';

const sandbox = useSandbox();

test('250 agents are listed by 3 requests, every agent once', async () => {
	sandbox.with({ agentCount: 250 });
	const { output } = await run(sandbox.current, listAgents({ returnAll: true }));
	const ids = output.map(({ json }) => json.id as number);
	expect(ids).toEqual(Array.from({ length: 250 }, (_, index) => index + 1));
	expect(sandbox.current.requests.map(({ url }) => url)).toEqual([
		'/api/v1/agents?limit=100&offset=0',
		'/api/v1/agents?limit=100&offset=100',
		'/api/v1/agents?limit=100&offset=200',
	]);
});

test.each([
	{ changes: { agentOrder: 'descending' as const }, what: 'the order is another' },
	{ changes: { largestPage: 33 }, what: 'pages hold fewer than asked for' },
	{ changes: { totalOffBy: 70 }, what: 'the total is too high' },
])('every agent comes once when $what', async ({ changes }) => {
	sandbox.with(changes);
	const { output } = await run(sandbox.current, listAgents({ returnAll: true }));
	const ids = output.map(({ json }) => json.id as number).sort((a, b) => a - b);
	expect(ids).toEqual(Array.from({ length: 130 }, (_, index) => index + 1));
});

test('an agent is output as it came, paired with the item that asked', async () => {
	const { output } = await run(sandbox.current, listAgents({ limit: 2 }), { items: [{}, {}] });
	expect(output).toHaveLength(4);
	expect(output[1]).toEqual({
		json: {
			id: 2,
			name: 'Regional report',
			description: 'Writes the sales report of a region',
			parameters: [
				{ name: 'region', required: true, description: 'north, south, east or west' },
				{
					name: 'quarter',
					required: false,
					description: 'Q1 to Q4; the present one when left out',
				},
			],
		},
		pairedItem: { item: 0 },
	});
	expect(output.map(({ pairedItem }) => pairedItem)).toEqual(
		[0, 0, 1, 1].map((item) => ({ item })),
	);
});

test('the limit may be over 100, and the offset skips', async () => {
	const { output } = await run(sandbox.current, listAgents({ limit: 110, options: { offset: 5 } }));
	expect(output).toHaveLength(110);
	expect(jsonOf(output)[0]).toMatchObject({ id: 6 });
});

test.each([
	['REGION', [2]],
	['  in archive 127 ', [127]],
	['unreliable', [5]],
	['no such agent', []],
	['reportWrites', []],
])('a filter finds agents by their name or description: %j', async (filter, ids) => {
	const parameters = listAgents({ returnAll: true, options: { filter } });
	const { output } = await run(sandbox.current, parameters);
	expect(jsonOf(output).map(({ id }) => id)).toEqual(ids);
});

test('limit and offset count the agents that a filter finds, and no page is read in vain', async () => {
	sandbox.with({ agentCount: 350 });
	const find = async (limit: number, offset = 0) => {
		sandbox.current.requests.length = 0;
		const parameters = listAgents({ limit, options: { filter: 'archive agent 1', offset } });
		const { output } = await run(sandbox.current, parameters);
		const asked = sandbox.current.requests.map(({ url }) => url.split('?')[1]);
		return [jsonOf(output).map(({ id }) => id), asked];
	};
	// 10 to 19 and 100 are on the first page, 101 to 199 on the second.
	expect(await find(2)).toEqual([[10, 11], ['limit=100&offset=0']]);
	expect(await find(2, 10)).toEqual([
		[100, 101],
		['limit=100&offset=0', 'limit=100&offset=100'],
	]);
	expect(await find(50, 105)).toEqual([
		[195, 196, 197, 198, 199],
		[0, 100, 200, 300].map((offset) => `limit=100&offset=${offset}`),
	]);
});

test('a list request that fails in passing is repeated', async () => {
	sandbox.current.faults.add({ kind: 'html', status: 502 });
	sandbox.current.faults.add({ kind: 'reset' });
	const { output } = await run(sandbox.current, listAgents({ limit: 3 }));
	expect(output).toHaveLength(3);
	expect(sandbox.current.requests).toHaveLength(3);
});
