import fc from 'fast-check';

import { fail, succeed } from '../../nodes/AgentInvocation/api/failure.ts';
import { runBatch } from '../../nodes/AgentInvocation/waiting/batch.ts';

const wait = (ticks: number) =>
	Array.from({ length: ticks }).reduce<Promise<void>>(
		(chain) => chain.then(() => {}),
		Promise.resolve(),
	);
const failure = fail({ message: 'no', description: '' });

test('items are begun in order, never too many at a time, and their results keep their order', async () => {
	await fc.assert(
		fc.asyncProperty(
			fc.array(fc.record({ ticks: fc.nat(20), fails: fc.boolean() }), { maxLength: 60 }),
			fc.integer({ min: 1, max: 12 }),
			async (plans, concurrency) => {
				const begun: number[] = [];
				let atWork = 0;
				let most = 0;
				const end = await runBatch(
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
				expect(end.stoppedBy).toBeUndefined();
				expect([...end.results]).toEqual(
					plans.map(({ fails }, index) => (fails ? failure : succeed(index))),
				);
			},
		),
	);
});

test('a failure that stops the batch begins no further item and waits for those at work', async () => {
	const begun: number[] = [];
	const returned: number[] = [];
	const end = await runBatch(
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
	expect(end.stoppedBy).toEqual({ index: 1, failure: failure.ok ? undefined : failure.failure });
});

test('10,000 items work', async () => {
	const end = await runBatch(
		{ count: 10_000, concurrency: 100, stopAtFailure: true },
		async (index) => {
			await wait(1);
			return succeed(index);
		},
	);
	expect(end.results.every((result, index) => result?.ok && result.value === index)).toBe(true);
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
