import { clock } from '../clock';
import { fail } from '../failure';
import { textKey } from '../textKey';
import { listAgents } from './endpoints';
import { read, type ReadPatience } from './read';
import { EDITOR_PATIENCE_MS } from './retryPolicy';
import type { Service } from './service';
import { shareByKey } from './shareByKey';
import { isJsonObject, toAgent, type Agent } from './types';

/** The largest page that the service gives. */
export const LARGEST_PAGE = 100;

/** How many times a list that may be incomplete is read, at most. */
const MOST_READINGS = 3;

/** A list with more pages than this in one reading is taken for one without an end. */
const MOST_PAGES = 1_000;

/** For how long a list that was read is used again, in ms. */
const KEPT_MS = 60_000;

/**
 * The organization's agents, as far as they have been read.
 *
 * A page may hold fewer agents than asked for, and their order is not documented. So an agent may be on two
 * pages, and is given once. The list ends with a page that holds nothing new, or that is not full and reaches
 * `total`.
 *
 * If `total` changes during a reading, or fewer agents are found than it says, they have moved: one may be on
 * no page that is read. The list is then read again, as long as that may find more. If no reading is
 * whole, the agents of all of them are given.
 */
class AgentList {
	private agents = new Map<unknown, Agent>();

	/** Those of earlier readings in which agents have moved. */
	private readonly before = new Map<unknown, Agent>();

	private readings = 1;

	/** How many pages were read in this reading. */
	private pages = 0;

	/** The offset of the next page. */
	private next: number;

	/** How many agents there are, according to the latest page of this reading. */
	private total: number | undefined;

	/** Whether `total` has changed in this reading. */
	private hasTotalChanged = false;

	private isComplete = false;

	private reading: Promise<unknown> = Promise.resolve();

	/** @param offset how many agents to skip at first */
	constructor(private readonly offset: number) {
		this.next = offset;
	}

	/** Reads on, page by page, until there are `limit` agents or `isEnough` says so. Calls wait for one another. */
	async read(
		service: Service,
		limit: number,
		patience: ReadPatience,
		isEnough: (agents: Agent[]) => boolean = () => false,
	): Promise<Agent[]> {
		const result = this.reading.then(async () => {
			while (!this.isComplete && this.agents.size < limit) {
				if (isEnough([...this.agents.values()])) break;
				await this.readPage(service, limit, patience);
			}
			return [...this.agents.values()];
		});
		this.reading = result.catch(() => {});
		return await result;
	}

	private async readPage(service: Service, limit: number, patience: ReadPatience): Promise<void> {
		if (++this.pages > MOST_PAGES) {
			fail({
				message: "The service's list of agents does not end",
				description: `It goes on after ${MOST_PAGES} pages. Choose the agent by its ID, or turn off 'Return All', and contact the service's support.`,
			});
		}
		const asked = Math.min(limit - this.agents.size, LARGEST_PAGE);
		const request = listAgents(asked, this.next);
		const { agents: listed, pagination } = await read(service, request, {}, patience);
		const agents = listed ?? [];
		const total = typeof pagination?.total === 'number' ? pagination.total : undefined;
		this.hasTotalChanged ||=
			this.total !== undefined && total !== undefined && total !== this.total;
		this.total = total;
		const known = this.agents.size;
		add(this.agents, agents.filter(isJsonObject).map(toAgent));
		if (this.hasTotalChanged && this.readings < MOST_READINGS) return this.readAgain();
		this.next += agents.length;
		const isLast = agents.length < asked && this.next === total;
		this.isComplete = isLast || this.agents.size === known;
		if (this.isComplete) this.complete();
	}

	/** Ends the list, or begins another reading if this one may have missed agents. */
	private complete(): void {
		const { before, offset, total = 0 } = this;
		const areMissing = offset + this.agents.size < total;
		if (!this.hasTotalChanged && !areMissing) return;
		const known = before.size;
		add(before, [...this.agents.values()]);
		const isNews = this.readings === 1 || before.size > known;
		const mayFindMore = isNews && offset + before.size < total;
		if (mayFindMore && this.readings < MOST_READINGS) this.readAgain();
		else this.agents = before;
	}

	private readAgain(): void {
		add(this.before, [...this.agents.values()]);
		this.isComplete = false;
		this.agents = new Map();
		this.next = this.offset;
		this.total = undefined;
		this.hasTotalChanged = false;
		this.readings++;
		this.pages = 0;
	}
}

/** Adds the agents that are not in it yet. */
function add(agents: Map<unknown, Agent>, more: Agent[]): void {
	for (const agent of more) {
		const key = agent.id ?? JSON.stringify(agent.asItCame);
		if (!agents.has(key)) agents.set(key, agent);
	}
}

/** Which agents are to be read. */
interface Selection {
	/** How many at most; Infinity for all. */
	limit: number;
	/** How many are passed over first. */
	offset: number;
	/** Counts and gives only agents whose name or description contains this text; not case-sensitive. */
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
): Promise<Agent[]> {
	if (filter === '') {
		const agents = await new AgentList(offset).read(service, limit, patience);
		return agents.slice(0, limit);
	}
	const end = offset + limit;
	const text = textKey(filter);
	const holdsText = ({ name, description }: Agent) =>
		[name, description].some((one) => textKey(one).includes(text));
	const matching = (agents: Agent[]) => agents.filter(holdsText);
	const isEnough = (agents: Agent[]) => matching(agents).length >= end;
	const agents = await new AgentList(0).read(service, Infinity, patience, isEnough);
	return matching(agents).slice(offset, end);
}

const keptLists = shareByKey(() => ({
	list: new AgentList(0),
	beganAt: -Infinity,
	/** What each place in the editor asked last. */
	asked: new Map<string, string>(),
}));

/** What the editor asks, and in which of its places. */
export interface Question {
	place: string;
	asks: string;
}

/**
 * Reads agents for the editor, from a list that is kept for a minute and read no further than needed.
 *
 * @param question if a place asks the same twice in a row, as its 'Refresh' does, the list is read again; not
 *   if it asked something else in between, as when a letter is typed and deleted
 */
export async function readKeptAgents(
	service: Service,
	{ place, asks }: Question,
	limit: number,
	isEnough?: (agents: Agent[]) => boolean,
): Promise<Agent[]> {
	const kept = keptLists(service.key);
	const now = clock.now();
	if (kept.asked.get(place) === asks || now - kept.beganAt > KEPT_MS) {
		Object.assign(kept, { list: new AgentList(0), beganAt: now, asked: new Map() });
	}
	kept.asked.set(place, asks);
	return await kept.list.read(service, limit, { patienceMs: EDITOR_PATIENCE_MS }, isEnough);
}
