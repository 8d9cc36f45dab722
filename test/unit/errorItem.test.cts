import { contextOf, type Told } from '../support/simulation/world/context.cts';

const failure = { message: 'No', description: 'Do', details: { code: 'odd' } };

/** The error item of the fourth item, on an n8n of this version. */
async function errorItem(version: string, told: Told = {}) {
	jest.resetModules();
	jest.doMock('n8n-workflow/package.json', () => {
		if (version === 'hidden') throw new Error('Not found');
		return { version };
	});
	const { toErrorItem } = await import('../../nodes/AgentInvocation/engine/errorItem.ts');
	const context = contextOf({ node: { onError: 'continueErrorOutput' }, ...told });
	const item = await toErrorItem(context, failure, 3);
	jest.dontMock('n8n-workflow/package.json');
	return item;
}

// Before 2.36, n8n sends an item to the error output by its `error` property alone. Later it takes the details
// from an item that has it.
test.each([
	['1.120.0', true],
	['2.0.0', true],
	['2.35.6', true],
	['2.36.0', false],
	['2.41.0', false],
	['3.0.0', false],
	['not told', true],
	['hidden', true],
])('on n8n %s a failed item has the property `error`: %s', async (version, hasProperty) => {
	const item = await errorItem(version);
	expect(item).toMatchObject({
		json: { error: 'No', details: { code: 'odd' } },
		pairedItem: { item: 3 },
	});
	expect(item.error !== undefined).toBe(hasProperty);
});

describe('where n8n does not find the input item', () => {
	const findsInput = (_: string, item: number) => item !== 3;

	test.each(['2.36.0', '1.120.0'])(
		'a failed item is not paired with it (n8n %s)',
		async (version) => {
			const item = await errorItem(version, { findsInput });
			expect(item).not.toHaveProperty('pairedItem');
			expect(item.json).toEqual({ error: 'No', details: { code: 'odd' } });
		},
	);

	test('it is where n8n does not look for it: without an error output', async () => {
		const node = { onError: 'continueRegularOutput' } as const;
		expect(await errorItem('2.36.0', { findsInput, node })).toHaveProperty('pairedItem');
	});

	test.each([[null], [{}], [{ main: [null] }]])(
		'and where there is no node before (source %j)',
		async (source) => {
			const entry = { source: source as never };
			expect(await errorItem('2.36.0', { findsInput, entry })).toHaveProperty('pairedItem');
		},
	);
});
