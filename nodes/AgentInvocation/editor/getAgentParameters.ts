import type {
	ILoadOptionsFunctions,
	ResourceMapperField,
	ResourceMapperFields,
} from 'n8n-workflow';

import { isTool } from '../engine/host';
import { toEditorError } from '../engine/nodeError';
import { byName, pickNamed, readAgent, type GivenAgent } from '../operations/findAgent';
import { fail } from '../failure';
import { readKeptAgents, type Question } from '../service/agents';
import { openService, type Service } from '../service/service';
import type { Agent, AgentParameter } from '../service/types';
import { toColumn, toLabel } from '../storedText';

/**
 * The parameters of the chosen agent as fields. The options that a parameter knows do not stand in the
 * agents' list, so each field is text.
 *
 * @throws NodeApiError, upon which the editor offers to try again and keeps the fields it has
 */
export async function getAgentParameters(
	this: ILoadOptionsFunctions,
): Promise<ResourceMapperFields> {
	try {
		const { parameters = [] } = (await findChosenAgent(this, 'fields')) ?? {};
		return { fields: parameters.map((parameter) => toField(parameter, !isTool(this))) };
	} catch (thrown) {
		throw toEditorError(this, thrown);
	}
}

/**
 * Finds the agent that is chosen in the node. Parameters stand in the agents' list alone, so the list is
 * read. Gives undefined where 'Agent' is an expression that has no value yet.
 *
 * @param place of the editor, which wants to know something of it
 * @throws FailureError if it cannot be found
 */
export async function findChosenAgent(
	context: ILoadOptionsFunctions,
	place: string,
): Promise<Agent | undefined> {
	const value = context.getNodeParameter('agentId', '', { extractValue: true }) ?? '';
	if (value === '') return undefined;
	const given = readAgent(context.getNodeParameter('agentId', ''));
	const service = await openService(context);
	return await readAgentOf(service, given, { place, asks: String(given) });
}

async function readAgentOf(
	service: Service,
	given: GivenAgent,
	question: Question,
): Promise<Agent> {
	if (typeof given === 'string') {
		return pickNamed(byName(await readKeptAgents(service, question, Infinity)), given);
	}
	const isIt = ({ id }: Agent) => id === given;
	const agents = await readKeptAgents(service, question, Infinity, (some) => some.some(isIt));
	const agent = agents.find(isIt);
	if (agent) return agent;
	return fail({
		message: `Agent ${given} is not in the organization's list`,
		description: "Choose an agent from the list in 'Agent'.",
		details: { agent_id: given },
	});
}

// The editor shows the name of a field and nothing else of it; `describeParameters` shows the rest. The
// button of a tool's field, by which the model fills it in, names the argument after it: no asterisk there.
function toField({ name, required }: AgentParameter, marksRequired: boolean): ResourceMapperField {
	return {
		id: toColumn(name),
		displayName: toLabel(required && marksRequired ? `${name} *` : name),
		required,
		defaultMatch: false,
		canBeUsedToMatch: false,
		display: true,
		type: 'string',
	};
}
