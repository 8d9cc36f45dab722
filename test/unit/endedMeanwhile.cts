import { systemClock as clock } from '../../nodes/AgentInvocation/clock.ts';
import type { ItemWork, Operation } from '../../nodes/AgentInvocation/items/operation.ts';
import type { Step } from '../../nodes/AgentInvocation/itemState.ts';
import { RunMemory } from '../../nodes/AgentInvocation/items/memory.ts';
import { RateLimiter } from '../../nodes/AgentInvocation/service/rateLimiter.ts';
import { contextOf } from '../support/simulation/fakeContext.cts';
import { settle } from '../support/virtualTime.cts';

/** Begins an item of an execution that ends a second later, at a service that never answers. */
export async function endedMeanwhile({ begin }: Operation, parameters: object): Promise<Step> {
	const ending = new AbortController();
	setTimeout(() => ending.abort(), 1_000);
	const context = contextOf({ parameters: { ...parameters } });
	const memory = RunMemory.open(context, clock.date());
	if (!memory.ok) throw new Error(memory.failure.message);
	const work = {
		context,
		memory: memory.value,
		itemIndex: 0,
		service: { key: 'key', limiter: new RateLimiter(clock), send: () => new Promise(() => {}) },
		signal: ending.signal,
	};
	return await settle(begin(work as unknown as ItemWork));
}
