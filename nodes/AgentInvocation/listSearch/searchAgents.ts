import type { ILoadOptionsFunctions, INodeListSearchResult } from 'n8n-workflow';

import { LARGEST_PAGE, readAgents } from '../api/agents';
import { READ_PATIENCE_MS } from '../api/retryPolicy';
import { openService } from '../api/service';
import type { Agent } from '../api/types';
import { toNodeError } from '../output/nodeError';
import { systemClock as clock } from '../waiting/clock';

/**
 * The agents for the editor's list: a page at a time, or all that match once the user searches, since
 * the service has no search of its own.
 *
 * @throws NodeApiError or NodeOperationError, which the editor shows in the list
 */
export async function searchAgents(
	this: ILoadOptionsFunctions,
	filter?: string,
	paginationToken?: string,
): Promise<INodeListSearchResult> {
	const service = await openService(this);
	if (!service.ok) throw toNodeError(this, service.failure);

	const offset = Number(paginationToken ?? 0);
	const limit = filter ? Infinity : LARGEST_PAGE;
	const patience = { clock, deadline: clock.now() + READ_PATIENCE_MS };
	const agents = await readAgents(service.value, { limit, offset }, patience);
	if (!agents.ok) throw toNodeError(this, agents.failure);

	const mayHaveMore = !filter && agents.value.length === limit;
	return {
		results: agents.value
			.filter((agent) => !filter || matches(agent, filter))
			.map(({ id, name, description }) => ({
				name: name || `Agent ${id}`,
				value: id,
				...(description && { description }),
			})),
		...(mayHaveMore && { paginationToken: String(offset + limit) }),
	};
}

function matches({ id, name, description }: Agent, filter: string): boolean {
	return `${id} ${name} ${description ?? ''}`.toLowerCase().includes(filter.toLowerCase());
}
