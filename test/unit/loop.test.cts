import fc from 'fast-check';

import { fail, succeed } from '../../nodes/AgentInvocation/result.ts';
import { runBatch } from '../../nodes/AgentInvocation/runs/loop.ts';

const wait = (ticks: number) =>
	Array.from({ length: ticks }).reduce<Promise<void>>(
		(chain) => chain.then(() => {}),
		Promise.resolve(),
	);
const failure = fail({ message: 'no', description: '' });

test('items are begun in order, each once, and never too many at a time', async () => {
	await fc.assert(
		fc.asyncProperty(
			fc.array(fc.record({ ticks: fc.nat(20), fails: fc.boolean() }), { maxLength: 60 }),
			fc.integer({ min: 1, max: 12 }),
			async (plans, concurrency) => {
				const begun: number[] = [];
				let atWork = 0;
				let most = 0;
				const stop = await runBatch(
					{ count: plans.length, concurrency, stopAtFailure: false },
					async (index) => {
						begun.push(index);
						most = Math.max(most, ++atWork);
						await wait(plans[index]!.ticks);
						atWork--;
						return plans[index]!.fails ? failure : succeed(index);
					},
				);
				expect(begun).toEqual(plans.map((_, index) => index));
				expect(most).toBeLessThanOrEqual(concurrency);
				expect(atWork).toBe(0);
				expect(stop).toBeUndefined();
			},
		),
	);
});

test('a failure that stops the batch begins no further item and waits for those at work', async () => {
	const begun: number[] = [];
	const returned: number[] = [];
	const stop = await runBatch(
		{ count: 100, concurrency: 3, stopAtFailure: true },
		async (index, halt) => {
			begun.push(index);
			await wait(index === 1 ? 5 : 30);
			returned.push(index);
			return index === 1 ? failure : halt.aborted ? undefined : succeed(index);
		},
	);
	expect(begun).toEqual([0, 1, 2]);
	expect(returned.sort()).toEqual([0, 1, 2]);
	expect(stop).toEqual({ index: 1, failure: failure.ok ? undefined : failure.failure });
});

test('10,000 items work', async () => {
	const worked = new Set<number>();
	await runBatch({ count: 10_000, concurrency: 100, stopAtFailure: true }, async (index) => {
		await wait(1);
		worked.add(index);
		return succeed(index);
	});
	expect(worked.size).toBe(10_000);
});

test('cancelling halts those at work and begins no further item', async () => {
	const cancelling = new AbortController();
	let begun = 0;
	await runBatch(
		{ count: 100, concurrency: 2, stopAtFailure: false, cancel: cancelling.signal },
		async (index, halt) => {
			begun++;
			if (index === 1) cancelling.abort();
			await wait(3);
			return halt.aborted ? undefined : succeed(index);
		},
	);
	expect(begun).toBe(2);
});
