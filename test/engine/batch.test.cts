import { createRun, creates, jsonOf, run, useSandbox } from './sandboxed.cts';

const sandbox = useSandbox();

test('100 runs of 2 s side by side take at most 2.5 times as long as one', async () => {
	const started = Date.now();
	const { output } = await run(
		sandbox.current,
		createRun(3, { seconds: 2 }, { options: { maxConcurrency: 100 } }),
		{ items: Array.from({ length: 100 }, () => ({})) },
	);
	const seconds = (Date.now() - started) / 1_000;
	expect(jsonOf(output).every(({ status }) => status === 'succeeded')).toBe(true);
	expect(creates(sandbox.current)).toHaveLength(100);
	expect(seconds).toBeLessThan(2.5 * 2);
});

test('200 items against a limit of 20 requests a second all succeed, with few refusals and little time lost', async () => {
	sandbox.with({
		rateLimit: { requests: 20, windowMs: 1_000, retryAfter: 'seconds', body: 'envelope' },
	});
	const started = Date.now();
	const { output } = await run(
		sandbox.current,
		createRun(3, '={{ JSON.stringify({ seconds: 0.5, text: $json.n }) }}', {
			options: { maxConcurrency: 50 },
		}),
		{ items: Array.from({ length: 200 }, (_, n) => ({ n })) },
	);
	const seconds = (Date.now() - started) / 1_000;
	const { requests, runs } = sandbox.current;
	const refused = requests.filter(({ status }) => status === 429).length;
	expect(jsonOf(output).map((json) => json.output)).toEqual(
		Array.from({ length: 200 }, (_, n) => String(n)),
	);
	expect(runs.all).toHaveLength(200);
	expect(refused / requests.length).toBeLessThan(0.05);
	expect(seconds).toBeLessThan(1.3 * ((requests.length - refused) / 20));
});
