import type {
	ILoadOptionsFunctions,
	ResourceMapperField,
	ResourceMapperFields,
} from 'n8n-workflow';

import { isTool } from '../engine/host';
import { toEditorError } from '../engine/nodeError';
import { fail } from '../failure';
import { keyOf, listedOf, pick, readAgent } from '../operations/findAgent';
import { createFields } from '../operations/run/create';
import { readKeptAgents } from '../service/agents';
import { openService } from '../service/service';
import type { Agent, AgentParameter } from '../service/types';
import { toColumn, toLabel } from '../storedText';

/**
 * Gives the chosen agent's parameters as fields. All are text fields, since the agents' list does not tell
 * which options a parameter has.
 *
 * @throws NodeApiError; the editor then offers to try again, and keeps the fields that it has. Without an error, it
 *   would take them for outdated, and drop what was entered in them
 */
export async function getAgentParameters(
	this: ILoadOptionsFunctions,
): Promise<ResourceMapperFields> {
	try {
		const { parameters } = await findChosenAgent(this, 'fields');
		return { fields: isTool(this) ? toToolFields(parameters) : parameters.map(toField) };
	} catch (thrown) {
		throw toEditorError(this, thrown);
	}
}

/**
 * Finds the agent that is chosen in the node. Reads the agents' list, the only place that has parameters.
 *
 * @param place the place in the editor that asks (see `Question` in service/agents.ts)
 * @throws FailureError if the agent cannot be found, or 'Agent' is an expression that has no value yet
 */
export async function findChosenAgent(
	context: ILoadOptionsFunctions,
	place: string,
): Promise<Agent> {
	const value = context.getNodeParameter('agentId', '', { extractValue: true }) ?? '';
	if (value === '') {
		fail({
			message: "'Agent' is an expression that has no value yet, so its parameters are not known",
			description:
				"Execute the previous nodes to see them here. 'Using Name-Value Pairs' and 'Using JSON' work without it.",
		});
	}
	const given = readAgent(context.getNodeParameter('agentId', ''));
	const service = await openService(context);
	const question = { place, asks: String(given) };
	// For a name, the whole list is read, since several agents may have it.
	const isFound = (read: Agent[]) => read.some(({ id }) => id === given);
	const read = async () => listedOf(await readKeptAgents(service, question, Infinity, isFound));
	const agents = await read();
	// The same question twice in a row makes `readKeptAgents` read the list again: the agent may have been published since.
	return pick(agents.has(keyOf(given)) ? agents : await read(), given);
}

/** Names that n8n lets no argument have, of those that a parameter may have (docs/n8n.md, The editor). */
const RESERVED = [
	'__proto__',
	'arguments',
	'binding',
	'callee',
	'caller',
	'constructor',
	'prototype',
];

/**
 * Fields of a tool. n8n names the model's argument after the field, and replaces many characters with '_'. So such a field
 * has no asterisk, and gets a number if its argument would have a name that is taken or not allowed.
 */
function toToolFields(parameters: AgentParameter[]): ResourceMapperField[] {
	const own = createFields.map(({ displayName }) => argumentOf(displayName));
	const taken = new Set([...own, ...RESERVED]);
	return parameters.map((parameter) => {
		let shown = parameter.name;
		for (let next = 2; taken.has(argumentOf(shown)); next++) shown = `${next} ${parameter.name}`;
		taken.add(argumentOf(shown));
		return { ...toField(parameter), displayName: toLabel(shown) };
	});
}

/** The name of the model's argument for a field, as n8n's editor makes it. */
function argumentOf(displayName: string): string {
	return toLabel(displayName)
		.slice(0, 63)
		.replace(/[^a-zA-Z0-9-]/g, '_');
}

// The editor shows only a field's name; `describeParameters` shows the rest.
function toField({ name, required }: AgentParameter): ResourceMapperField {
	return {
		id: toColumn(name),
		displayName: toLabel(required ? `${name} *` : name),
		required,
		defaultMatch: false,
		canBeUsedToMatch: false,
		display: true,
		type: 'string',
	};
}
