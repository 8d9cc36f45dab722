import { systemClock } from '../clock';
import { succeed, type Result } from '../result';
import { listAgents } from './endpoints';
import { read, type ReadPatience } from './read';
import { EDITOR_PATIENCE_MS } from './retryPolicy';
import type { Service } from './service';
import { shareByKey } from './shared';
import type { Agent } from './types';

/** The largest page that the service gives. */
export const LARGEST_PAGE = 100;

/** For how long a list that was read is used again, in ms. */
const KEPT_MS = 60_000;

/**
 * The organization's agents, as far as they have been read.
 *
 * A page may hold fewer agents than asked for, and the order is not documented, so an agent may stand
 * on two pages: it is given once. The list ends when `total` is reached, when a page is empty, or
 * when a page holds nothing new.
 */
class AgentList {
	private readonly agents = new Map<unknown, Agent>();

	private isComplete = false;

	private reading: Promise<unknown> = Promise.resolve();

	/** @param next how many agents to skip */
	constructor(private next: number) {}

	/** Reads on, page by page, until it has `limit` agents or they are enough. One reads at a time. */
	async read(
		service: Service,
		limit: number,
		patience: ReadPatience,
		isEnough: (agents: Agent[]) => boolean = () => false,
	): Promise<Result<Agent[]>> {
		const before = this.reading;
		const result = before.then(async () => {
			while (!this.isComplete && this.agents.size < limit) {
				if (isEnough([...this.agents.values()])) break;
				const failure = await this.readPage(service, limit, patience);
				if (failure) return failure;
			}
			return succeed([...this.agents.values()]);
		});
		this.reading = result;
		return await result;
	}

	private async readPage(service: Service, limit: number, patience: ReadPatience) {
		const request = listAgents(Math.min(limit - this.agents.size, LARGEST_PAGE), this.next);
		const page = await read(service, request, {}, patience);
		if (!page.ok) return page;
		const { agents, pagination } = page.value;
		const known = this.agents.size;
		for (const agent of agents) {
			const key = agent.id ?? JSON.stringify(agent);
			if (!this.agents.has(key)) this.agents.set(key, agent);
		}
		this.next += agents.length;
		const total = pagination?.total;
		const isLast = typeof total === 'number' && this.next >= total;
		this.isComplete = isLast || this.agents.size === known;
		return undefined;
	}
}

/** Which agents are to be read. */
interface Selection {
	/** How many at most; Infinity for all. */
	limit: number;
	/** How many are passed over first. */
	offset: number;
	/** A text that their names or descriptions hold, in any case. Only those that do are counted. */
	filter?: string;
}

/**
 * Reads agents from the service's list, no further than needed.
 *
 * @param patience with each page
 */
export async function readAgents(
	service: Service,
	{ limit, offset, filter = '' }: Selection,
	patience: ReadPatience,
): Promise<Result<Agent[]>> {
	if (filter === '') {
		const agents = await new AgentList(offset).read(service, limit, patience);
		return agents.ok ? succeed(agents.value.slice(0, limit)) : agents;
	}
	const end = offset + limit;
	const matching = (agents: Agent[]) => agents.filter((agent) => holds(agent, filter));
	const isEnough = (agents: Agent[]) => matching(agents).length >= end;
	const agents = await new AgentList(0).read(service, Infinity, patience, isEnough);
	return agents.ok ? succeed(matching(agents.value).slice(offset, end)) : agents;
}

function holds({ name, description }: Agent, text: string): boolean {
	// With a line between them, so that no text is found half in one and half in the other.
	return `${name}\n${description ?? ''}`.toLowerCase().includes(text.toLowerCase());
}

const lists = shareByKey(systemClock, () => ({
	list: new AgentList(0),
	beganAt: -Infinity,
	questions: new Set<string>(),
}));

/**
 * The same for the editor, from a list that is kept for a minute and read no further than needed.
 *
 * @param question what the editor wants to know. Asked a second time, as its 'Refresh' does, it is answered
 *   from a list that is read anew.
 */
export async function readKeptAgents(
	service: Service,
	question: string,
	limit: number,
	isEnough?: (agents: Agent[]) => boolean,
	patience: ReadPatience = { patienceMs: EDITOR_PATIENCE_MS },
): Promise<Result<Agent[]>> {
	const kept = lists(service.key);
	const now = (patience.clock ?? systemClock).now();
	if (kept.questions.has(question) || now - kept.beganAt > KEPT_MS) {
		Object.assign(kept, { list: new AgentList(0), beganAt: now, questions: new Set() });
	}
	kept.questions.add(question);
	return await kept.list.read(service, limit, patience, isEnough);
}
