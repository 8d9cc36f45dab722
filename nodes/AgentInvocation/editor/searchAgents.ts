import type {
	ILoadOptionsFunctions,
	INodeListSearchItems,
	INodeListSearchResult,
} from 'n8n-workflow';

import { toEditorError } from '../engine/nodeError';
import { fail } from '../failure';
import { LARGEST_PAGE, readKeptAgents } from '../service/agents';
import { openService } from '../service/service';
import type { Agent } from '../service/types';
import { cut, toLabel, WORD_JOINER } from '../storedText';
import { textKey } from '../textKey';

/**
 * Gives the agents for the editor's list: one page at a time or, once the user searches, all that match,
 * since the service cannot search.
 *
 * @throws NodeApiError, which the editor shows in the list
 */
export async function searchAgents(
	this: ILoadOptionsFunctions,
	filter = '',
	paginationToken?: string,
): Promise<INodeListSearchResult> {
	const offset = Number(paginationToken ?? 0);
	const end = filter ? Infinity : offset + LARGEST_PAGE;
	const question = { place: `list from ${offset}`, asks: filter };
	try {
		const agents = await readKeptAgents(await openService(this), question, end);
		if (!filter && agents.length === 0) {
			fail({
				message: 'The organization has no published agents',
				description:
					'Publish one in the service and open this list again. If your organization has published agents, the API key in the credential belongs to another organization.',
			});
		}
		const shown = agents.slice(offset, end);
		return {
			results: shown.filter((agent) => matches(agent, filter)).flatMap(toListItem),
			...(agents.length >= end && { paginationToken: String(end) }),
		};
	} catch (thrown) {
		throw toEditorError(this, thrown);
	}
}

// Stands between an agent's name and its description. `nameOf` in nodeTexts.ts cuts there. No name is likely to have it.
const DESCRIPTION_MARK = `${WORD_JOINER} — `;
const LONGEST_DESCRIPTION = 40;

// The editor shows only the name of a list's item, so the description is put into the name.
function toListItem({ id, name, description }: Agent): INodeListSearchItems[] {
	if (id === undefined) return [];
	const about = description.replace(/\s+/g, ' ').trim();
	const shown = [name || `Agent ${id}`, cut(about, LONGEST_DESCRIPTION)].filter(Boolean);
	const label = shown.join(DESCRIPTION_MARK);
	return [{ name: toLabel(label), value: id }];
}

function matches({ id, name, description }: Agent, filter: string): boolean {
	return textKey(`${id ?? ''} ${name} ${description}`).includes(textKey(filter));
}
