import type {
	ILoadOptionsFunctions,
	ResourceMapperField,
	ResourceMapperFields,
} from 'n8n-workflow';

import { readAgents } from '../api/agents';
import { readAgentId } from '../api/ids';
import { READ_PATIENCE_MS } from '../api/retryPolicy';
import { openService } from '../api/service';
import type { AgentParameter } from '../api/types';
import { toNodeError } from '../output/nodeError';
import { systemClock as clock } from '../waiting/clock';

/**
 * The parameters of the chosen agent as fields. They stand in the agents' list alone, so the list is
 * read; the options that a parameter knows do not stand there, so each field is text.
 *
 * @throws NodeApiError or NodeOperationError, which the editor shows in place of the fields
 */
export async function getAgentParameters(
	this: ILoadOptionsFunctions,
): Promise<ResourceMapperFields> {
	const agentId = readAgentId(this.getNodeParameter('agentId', undefined, { extractValue: true }));
	if (!agentId.ok) throw toNodeError(this, agentId.failure);
	const service = await openService(this);
	if (!service.ok) throw toNodeError(this, service.failure);

	const patience = { clock, deadline: clock.now() + READ_PATIENCE_MS };
	const agents = await readAgents(service.value, { limit: Infinity, offset: 0 }, patience);
	if (!agents.ok) throw toNodeError(this, agents.failure);
	const agent = agents.value.find(({ id }) => id === agentId.value);
	if (!agent) {
		throw toNodeError(this, {
			message: `Agent ${agentId.value} is not in the organization's list`,
			description: "Choose an agent from the list in 'Agent'.",
			details: { agent_id: agentId.value },
		});
	}
	return { fields: (agent.parameters ?? []).map(toField) };
}

function toField({ name, required, description }: AgentParameter): ResourceMapperField {
	return {
		id: name,
		displayName: description ? `${name}: ${description}` : name,
		required: required === true,
		defaultMatch: false,
		canBeUsedToMatch: false,
		display: true,
		type: 'string',
	};
}
