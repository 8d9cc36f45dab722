import type { ILoadOptionsFunctions, ResourceMapperFields } from 'n8n-workflow';

import { escapeHtml } from '../engine/nodeError';
import { failureOf } from '../failure';
import type { AgentParameter } from '../service/types';
import { bound } from '../wording';
import { findChosenAgent } from './getAgentParameters';

const NO_PARAMETERS = 'This agent has no parameters. Nothing needs to be filled in.';

/**
 * Describes the chosen agent's parameters in the notice of a resource mapper that has no fields. It is
 * the only loaded text that the editor shows whole, and as HTML (docs/n8n.md, The editor). There is always
 * a text: without one, the editor would keep showing the previous one.
 */
export async function describeParameters(
	this: ILoadOptionsFunctions,
): Promise<ResourceMapperFields> {
	let notice: string;
	try {
		const { parameters } = await findChosenAgent(this, 'descriptions');
		notice = parameters.map(describeParameter).join('<br>') || NO_PARAMETERS;
	} catch (thrown) {
		const { message, description } = failureOf(thrown);
		notice = escapeHtml(bound(`${message}. ${description}`));
	}
	return { fields: [], emptyFieldsNotice: notice };
}

function describeParameter({ name, required, description }: AgentParameter): string {
	const title = `<b>${escapeHtml(name)}</b>${required ? ' (required)' : ''}`;
	return description ? `${title}: ${escapeHtml(description)}` : title;
}
