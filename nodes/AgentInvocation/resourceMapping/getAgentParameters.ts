import type {
	ILoadOptionsFunctions,
	ResourceMapperField,
	ResourceMapperFields,
} from 'n8n-workflow';

import { toEditorError } from '../errors/nodeError';
import { fail, succeed, type Result } from '../result';
import { pickNamed, readAgent, type GivenAgent } from '../resources/findAgent';
import { readKeptAgents } from '../service/agents';
import { openService, type Service } from '../service/service';
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
	const value = this.getNodeParameter('agentId', '', { extractValue: true }) ?? '';
	if (value === '') return { fields: [], emptyFieldsNotice: AGENT_NOT_KNOWN };
	const given = readAgent(this.getNodeParameter('agentId', ''));
	if (!given.ok) throw toEditorError(this, given.failure);
	const service = await openService(this);
	if (!service.ok) throw toEditorError(this, service.failure);

	const agent = await readAgentOf(service.value, given.value);
	// Thrown, so that the editor keeps the fields of an agent that is gone for a moment.
	if (!agent.ok) throw toEditorError(this, agent.failure);
	const fields = (agent.value.parameters ?? []).map(toField);
	return fields.length > 0 ? { fields } : { fields, emptyFieldsNotice: NO_PARAMETERS };
}

async function readAgentOf(service: Service, given: GivenAgent): Promise<Result<Agent>> {
	const question = `parameters ${given}`;
	if (typeof given === 'string') {
		const agents = await readKeptAgents(service, question, Infinity);
		return agents.ok ? pickNamed(agents.value, given) : agents;
	}
	const isIt = ({ id }: Agent) => id === given;
	const agents = await readKeptAgents(service, question, Infinity, (some) => some.some(isIt));
	if (!agents.ok) return agents;
	const agent = agents.value.find(isIt);
	if (agent) return succeed(agent);
	return fail({
		message: `Agent ${given} is not in the organization's list`,
		description: "Choose an agent from the list in 'Agent'.",
		details: { agent_id: given },
	});
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
