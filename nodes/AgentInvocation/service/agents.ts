import type { Clock } from '../clock';
import { succeed, type Result } from '../result';
import { listAgents } from './endpoints';
import { failWith } from './explainAnswer';
import { sendWithRetry } from './sendWithRetry';
import type { Service } from './service';
import type { Agent } from './types';

/** The largest page that the service gives. */
export const LARGEST_PAGE = 100;

/**
 * Reads the organization's agents page by page.
 *
 * A page may hold fewer agents than asked for, and the order is not documented, so an agent may stand
 * on two pages: it is given once. The list ends when `total` is reached, when a page is empty, or
 * when a page holds nothing new.
 *
 * @param limit how many agents at most; Infinity for all
 * @param offset how many agents to skip
 * @param patienceMs for how long each page's request may be repeated
 */
export async function readAgents(
	service: Service,
	{ limit, offset }: { limit: number; offset: number },
	{ clock, patienceMs, signal }: { clock: Clock; patienceMs: number; signal?: AbortSignal },
): Promise<Result<Agent[]>> {
	const agents = new Map<unknown, Agent>();
	let next = offset;

	while (agents.size < limit) {
		const request = listAgents(Math.min(limit - agents.size, LARGEST_PAGE), next);
		const answer = await sendWithRetry(service, request, 'read', {
			clock,
			deadline: clock.now() + patienceMs,
			...(signal && { signal }),
		});
		if (answer.kind !== 'ok' || !answer.body) {
			return failWith(answer, { baseUrl: service.baseUrl });
		}

		const page = answer.body;
		const known = agents.size;
		for (const agent of page.agents) {
			const key = agent.id ?? JSON.stringify(agent);
			if (!agents.has(key)) agents.set(key, agent);
		}
		next += page.agents.length;
		const total = page.pagination?.total;
		if (agents.size === known || (typeof total === 'number' && next >= total)) break;
	}

	return succeed([...agents.values()].slice(0, limit));
}
