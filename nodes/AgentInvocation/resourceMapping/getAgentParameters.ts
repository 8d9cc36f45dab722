import type {
	ILoadOptionsFunctions,
	ResourceMapperField,
	ResourceMapperFields,
} from 'n8n-workflow';

import { toEditorError } from '../errors/nodeError';
import { readAgentId } from '../resources/ids';
import { readKeptAgents } from '../service/agents';
import { openService } from '../service/service';
import type { Agent, AgentParameter } from '../service/types';
import { toColumn, toLabel } from '../storedText';

const NO_PARAMETERS = 'This agent has no parameters. Nothing needs to be filled in.';
const AGENT_NOT_KNOWN =
	"'Agent' is an expression that has no value yet, so its parameters are not known. Execute the previous nodes, or set 'Specify Parameters' to 'Using Name-Value Pairs' or 'Using JSON'.";

/**
 * The parameters of the chosen agent as fields. They stand in the agents' list alone, so the list is
 * read; the options that a parameter knows do not stand there, so each field is text.
 *
 * @throws NodeApiError, upon which the editor offers to try again
 */
export async function getAgentParameters(
	this: ILoadOptionsFunctions,
): Promise<ResourceMapperFields> {
	const given = this.getNodeParameter('agentId', '', { extractValue: true }) ?? '';
	if (given === '') return { fields: [], emptyFieldsNotice: AGENT_NOT_KNOWN };
	const agentId = readAgentId(given);
	if (!agentId.ok) throw toEditorError(this, agentId.failure);
	const service = await openService(this);
	if (!service.ok) throw toEditorError(this, service.failure);

	const isIt = ({ id }: Agent) => id === agentId.value;
	const question = `parameters ${agentId.value}`;
	const agents = await readKeptAgents(service.value, question, Infinity, isIt);
	if (!agents.ok) throw toEditorError(this, agents.failure);
	const agent = agents.value.find(isIt);
	if (!agent) {
		// Thrown, so that the editor keeps the fields of an agent that is gone for a moment.
		throw toEditorError(this, {
			message: `Agent ${agentId.value} is not in the organization's list`,
			description: "Choose an agent from the list in 'Agent'.",
			details: { agent_id: agentId.value },
		});
	}
	const fields = (agent.parameters ?? []).map(toField);
	return fields.length > 0 ? { fields } : { fields, emptyFieldsNotice: NO_PARAMETERS };
}

// The editor shows the name of a field and nothing else of it, cut off where the panel is narrow.
function toField({ name, required, description }: AgentParameter): ResourceMapperField {
	return {
		id: toColumn(name),
		displayName: toLabel([required ? `${name} *` : name, description].filter(Boolean).join(': ')),
		required: required === true,
		defaultMatch: false,
		canBeUsedToMatch: false,
		display: true,
		type: 'string',
	};
}
