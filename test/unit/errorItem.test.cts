import type { IExecuteFunctions } from 'n8n-workflow';

const context = {
	getNode: () => ({ name: 'Run', type: 'agentInvocation', onError: 'continueErrorOutput' }),
} as unknown as IExecuteFunctions;

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
])('on n8n %s a failed item has the property `error`: %s', async (version, hasProperty) => {
	jest.resetModules();
	jest.doMock('n8n-workflow/package.json', () => ({ version }));
	const { toErrorItem } = await import('../../nodes/AgentInvocation/errors/errorItem.ts');
	const failure = { message: 'No', description: 'Do', details: { code: 'odd' } };
	const item = await toErrorItem(context, failure, 3);
	jest.dontMock('n8n-workflow/package.json');
	expect(item).toMatchObject({
		json: { error: 'No', details: { code: 'odd' } },
		pairedItem: { item: 3 },
	});
	expect(item.error !== undefined).toBe(hasProperty);
});
