import { createRun, creates, jsonOf, onError, run, useSandbox } from '../support/sandboxed.cts';

const sandbox = useSandbox();

const REGIONS = ['north', 'nroth', 'south', 'sooth', 'north'];
const items = REGIONS.map((region) => ({ region }));
const report = createRun(2, '={{ JSON.stringify({ region: $json.region }) }}', {
	options: { checkFirst: true },
});
const isCheck = ({ url }: { url: string }) => url.includes('dry_run=true');

test('with On Error set to stop, a wrong item costs nothing', async () => {
	const { error } = await run(sandbox.current, report, { items });
	expect(sandbox.current.runs.all).toEqual([]);
	expect(creates(sandbox.current)).toHaveLength(4);
	expect(creates(sandbox.current).every(isCheck)).toBe(true);
	expect(error).toMatchObject({
		name: 'NodeApiError',
		message:
			"Item 1 and 1 other did not pass the check: Parameter 'region' of agent 2 cannot be 'nroth'",
		context: { itemIndex: 1 },
	});
	expect(error?.description).toContain('These items did not pass either: 3.');
});

test.each(['continueRegularOutput', 'continueErrorOutput'] as const)(
	'with On Error set to %s, the right items run',
	async (setting) => {
		const outcome = await run(sandbox.current, report, { items, ...onError(setting) });
		expect(jsonOf(outcome.output).filter(({ status }) => status === 'succeeded')).toHaveLength(3);
		expect(sandbox.current.runs.all).toHaveLength(3);
		expect(creates(sandbox.current).map(isCheck)).toEqual([
			...[true, true, true, true, false, false, false],
		]);
	},
);

test('a service that cannot be reached starts nothing', async () => {
	sandbox.current.faults.add({ method: 'POST', kind: 'html', status: 200 });
	const { output } = await run(sandbox.current, report, {
		items: [{ region: 'north' }],
		...onError('continueRegularOutput'),
	});
	expect(jsonOf(output)).toMatchObject([
		{
			error:
				'Item 0 could not be checked: The answer did not come from the agent invocation service',
		},
	]);
	expect(sandbox.current.runs.all).toEqual([]);
});

test('Retry On Fail checks again only what has not passed', async () => {
	await run(sandbox.current, report, {
		items,
		node: { retryOnFail: true, maxTries: 2, waitBetweenTries: 10 },
	});
	expect(creates(sandbox.current)).toHaveLength(6);
	expect(sandbox.current.runs.all).toEqual([]);
});
