import { clock } from '../clock';
import { keptBy } from '../engine/host';
import { fail } from '../failure';
import type { ItemWork } from '../items/operation';
import { MORE_TIME_ADVICE } from '../items/waitPlan';
import { readText } from '../readValue';
import { readAgents } from '../service/agents';
import { isJsonObject, type Agent } from '../service/types';
import { byName, nameKey } from '../textKey';
import { few, shorten } from '../wording';
import { readAgentId } from './ids';

/** An agent as it is given in 'Agent': a number is its ID, a text its name. */
export type GivenAgent = number | string;

/**
 * Reads the value of 'Agent', which includes how the agent is chosen. A plain value is an ID.
 *
 * @throws FailureError if it is neither an ID nor a name
 */
export function readAgent(given: unknown): GivenAgent {
	if (!isJsonObject(given)) return readAgentId(given);
	if (given.mode !== 'name') return readAgentId(given.value);
	const name = readText(given.value, 'agentId');
	// An empty name fails like an empty ID.
	return nameKey(name) === '' ? readAgentId('') : name;
}

/**
 * Gives the ID of an item's agent. A name is looked up in the organization's list, which is read once for an
 * execution. If an earlier pass of a node read it and the name is not in it, it is read again.
 *
 * @param deadline until when, by the clock, the service may hold up the reading
 * @throws FailureError if the list cannot be read, or has no such agent
 */
export async function findAgent(
	given: GivenAgent,
	work: ItemWork,
	deadline: number,
): Promise<number> {
	if (typeof given === 'number') return given;
	const { id } = await agentOf(given, work, deadline);
	if (id !== undefined) return id;
	return fail({
		message: `The agent named '${shorten(given)}' has no ID that can be used`,
		description:
			"In the service's list, its ID is missing, not a whole number, or too large. Contact the service's support.",
	});
}

/** An organization's agents, by their IDs and by the {@link nameKey} of their names. */
type Listed = Map<GivenAgent, Agent[]>;

export function listedOf(agents: Agent[]): Listed {
	const listed = new Map<GivenAgent, Agent[]>(byName(agents, ({ name }) => name));
	for (const agent of agents) if (agent.id !== undefined) listed.set(agent.id, [agent]);
	return listed;
}

/** The same for all ways to give the same agent. */
export function keyOf(given: GivenAgent): GivenAgent {
	return typeof given === 'number' ? given : nameKey(given);
}

interface Reading {
	/** The pass of the node that began the reading. */
	owner: object;
	/** Until when, by the clock, the service may hold it up. */
	deadline: number;
	/** The signal of the item that began the reading, which ends with it. */
	signal: AbortSignal;
	agents: Promise<Listed>;
}

/** The latest reading of each service (by its key), for each execution in progress. */
const readings = new WeakMap<object, Map<string, Reading>>();

/**
 * Gives an agent as the organization's list has it, which is read as for {@link findAgent}.
 *
 * @param deadline as for {@link findAgent}
 * @throws FailureError if the list cannot be read, or has no such agent
 */
export async function agentOf(given: GivenAgent, work: ItemWork, deadline: number): Promise<Agent> {
	const { key, owner } = work.service;
	const kept = readingsOf(work);
	for (;;) {
		const reading = kept.get(key) ?? beginReading(work, deadline);
		kept.set(key, reading);
		const agents = await reading.agents.catch(() => undefined);
		const isOwn = reading.owner === owner;
		if (agents && (isOwn || agents.has(keyOf(given)))) return pick(agents, given);
		if (kept.get(key) === reading) kept.delete(key);
		if (clock.now() >= deadline) {
			return fail({
				message: "The workflow's own timeout leaves no time to find the agent",
				description: MORE_TIME_ADVICE,
			});
		}
		// A failed reading is final: awaiting it again throws its failure. But an item that has more time reads again, and
		// so does one that is still wanted when only the item that began the reading has ended.
		const hasEnded = reading.signal.aborted && !work.signal.aborted;
		const isFinal = isOwn && deadline <= reading.deadline && !hasEnded;
		if (!agents && isFinal) await reading.agents;
	}
}

/** Drops the reading of an earlier pass, since the service does not know an agent that was found in it. */
export function dropOldReading(work: ItemWork): void {
	const { key, owner } = work.service;
	const kept = readingsOf(work);
	if (kept.get(key)?.owner !== owner) kept.delete(key);
}

function readingsOf({ context }: ItemWork): Map<string, Reading> {
	const execution = keptBy(context, 'flow') ?? context;
	const kept = readings.get(execution) ?? new Map<string, Reading>();
	readings.set(execution, kept);
	return kept;
}

function beginReading({ service, signal }: ItemWork, deadline: number): Reading {
	const patience = { deadline, signal };
	const agents = readAgents(service, { limit: Infinity, offset: 0 }, patience).then(listedOf);
	return { owner: service.owner, deadline, signal, agents };
}

/** @throws FailureError if the list has no such agent, or several of that name */
export function pick(agents: Listed, given: GivenAgent): Agent {
	const [agent, ...others] = agents.get(keyOf(given)) ?? [];
	if (agent && others.length === 0) return agent;
	if (typeof given === 'number') {
		return fail({
			message: `Agent ${given} is not in the organization's list`,
			description: "Choose an agent from the list in 'Agent'.",
			details: { agent_id: given },
		});
	}
	if (!agent) {
		return fail({
			message: `No published agent is named '${shorten(given)}'`,
			description:
				"Compare it with the agent's name at the service, or choose the agent from the list in 'Agent'. If the name is right, the agent is not published, or the credential is another organization's.",
		});
	}
	const ids = few([agent, ...others].map(({ id }) => id ?? 'one without an ID'));
	return fail({
		message: `${others.length + 1} published agents are named '${shorten(given)}': ${ids}`,
		description:
			"Set 'Agent' to 'By ID' and enter the ID of the right one, or give the agents different names at the service.",
	});
}
