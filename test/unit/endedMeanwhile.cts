import { PassTime, systemClock as clock } from '../../nodes/AgentInvocation/clock.ts';
import { NOT_BEGUN, type Item } from '../../nodes/AgentInvocation/item.ts';
import type { ItemWork, Operation } from '../../nodes/AgentInvocation/items/operation.ts';
import { RateLimiter } from '../../nodes/AgentInvocation/service/rateLimiter.ts';
import { contextOf } from '../support/simulation/fakeContext.cts';
import { settle } from '../support/virtualTime.cts';

/** Begins an item of an execution that ends a second later, at a service that never answers. */
export async function endedMeanwhile({ begin }: Operation, parameters: object): Promise<Item> {
	const ending = new AbortController();
	setTimeout(() => ending.abort(), 1_000);
	const work = {
		context: contextOf({ parameters: { ...parameters } }),
		itemIndex: 0,
		service: { key: 'key', limiter: new RateLimiter(clock), send: () => new Promise(() => {}) },
		parking: { time: new PassTime(), latestEndOn: Infinity },
		signal: ending.signal,
		note: () => {},
	};
	return await settle(begin(NOT_BEGUN, work as unknown as ItemWork));
}
