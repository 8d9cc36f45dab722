import { keptBy } from '../engine/host';
import { readText } from '../readValue';
import { fail, succeed, type Result } from '../result';
import { readAgents } from '../service/agents';
import { isJsonObject, type Agent } from '../service/types';
import { textKey } from '../textKey';
import { few, shorten } from '../wording';
import { readAgentId } from './ids';
import type { ItemWork } from '../items/operation';

/** An agent as 'Agent' gives it: a number is its ID, a text its name. */
export type GivenAgent = number | string;

/** Reads the value of 'Agent', which tells how the agent is chosen. A plain value is an ID. */
export function readAgent(given: unknown): Result<GivenAgent> {
	if (!isJsonObject(given)) return readAgentId(given);
	if (given.mode !== 'name') return readAgentId(given.value);
	const name = readText(given.value, 'Agent');
	return name.ok && name.value === '' ? readAgentId('') : name;
}

/** What two names have in common that differ in case, Unicode form or the space around them alone. */
export function nameKey(name: string): string {
	return textKey(name.trim());
}

/** The one agent of a name. */
export function pickNamed(agents: Agent[], name: string): Result<Agent> {
	const [agent, ...others] = agents.filter((one) => nameKey(one.name) === nameKey(name));
	if (!agent) {
		return fail({
			message: `No published agent is named '${shorten(name)}'`,
			description:
				"Compare it with the agent's name at the service, or choose the agent from the list in 'Agent'. If the name is right, the agent is not published, or the credential is another organization's.",
		});
	}
	if (others.length === 0) return succeed(agent);
	const ids = few([agent, ...others].map(({ id }) => id ?? 'one without an ID'));
	return fail({
		message: `${others.length + 1} published agents are named '${shorten(name)}': ${ids}`,
		description:
			"Set 'Agent' to 'By ID' and enter the ID of the right one, or give the agents different names at the service.",
	});
}

/**
 * Gives the ID of an item's agent. A name is looked up in the organization's list, which is read once an
 * execution, and once more when an earlier run of a node has read it and the name is not in it.
 */
export async function findAgent(given: GivenAgent, work: ItemWork): Promise<Result<number>> {
	if (typeof given === 'number') return succeed(given);
	const agent = await lookUp(given, work);
	if (!agent.ok) return agent;
	const { id } = agent.value;
	if (id !== undefined) return succeed(id);
	return fail({
		message: `The agent named '${shorten(given)}' has no ID that can be used`,
		description: "Its ID in the service's list is no whole number. Contact the service's support.",
	});
}

interface Reading {
	/** The run of a node that has read it. */
	owner: object;
	agents: Promise<Result<Agent[]>>;
	/** What was found in it, by the name that was looked for: many items may have one agent. */
	found: Map<string, Result<Agent>>;
}

/** The latest readings in each execution that goes on, by the key of the service. */
const readings = new WeakMap<object, Map<string, Reading>>();

async function lookUp(
	name: string,
	{ context, service, signal }: ItemWork,
): Promise<Result<Agent>> {
	const execution = keptBy(context, 'flow') ?? context;
	const kept = readings.get(execution) ?? new Map<string, Reading>();
	readings.set(execution, kept);
	const { key, owner } = service;
	for (;;) {
		const reading = kept.get(key) ?? {
			owner,
			agents: readAgents(service, { limit: Infinity, offset: 0 }, { signal }),
			found: new Map<string, Result<Agent>>(),
		};
		kept.set(key, reading);
		const agents = await reading.agents;
		const agent = agents.ok ? (reading.found.get(name) ?? pickNamed(agents.value, name)) : agents;
		reading.found.set(name, agent);
		const isOwn = reading.owner === owner;
		if ((!agents.ok || (!agent.ok && !isOwn)) && kept.get(key) === reading) kept.delete(key);
		if (agent.ok || isOwn) return agent;
	}
}
