import type { IHttpRequestOptions } from 'n8n-workflow';

import { fixedWindow, type Limiter } from './world/limiters.cts';

/** What a run of the simulated service is to do; an agent's parameter `item` chooses it. */
export interface SimulatedRun {
	durationMs: number;
	status?: 'succeeded' | 'failed' | 'cancelled';
	/** Fields in place of the service's own, once the run is over. */
	shown?: object;
}

/** A response in place of the service's own. */
export interface SimulatedResponse {
	statusCode: number;
	headers?: Record<string, string>;
	body?: string;
}

/** How the service behaves. All times are in ms of the virtual clock. */
export interface Behaviour {
	runOf(item: number): SimulatedRun;
	/** How long it takes to answer. */
	latencyMs?: number;
	/** Requests that it carries in each window; all when absent. */
	limit?: number;
	windowMs?: number;
	/** In place of these windows. */
	limiter?: Limiter;
	/** Whether a refusal says when the next request is carried, in whole seconds. */
	saysRetryAfter?: boolean;
	/** What a create says of the run; 'pending' when absent. */
	statusAtFirst?: 'succeeded';
	/** What a dry run gives. */
	compiled?: unknown;
	/** The names of its agents, by ID. The list can be read only where there are any. */
	agents?: Record<number, string>;
	/** A response, or a thrown error, in place of its own; undefined for its own. */
	trouble?(request: SeenRequest): SimulatedResponse | Error | undefined;
}

export interface SeenRequest {
	/** From 0. */
	number: number;
	isCreate: boolean;
	isDryRun: boolean;
	/** Whether it reads the list of agents. */
	isList: boolean;
	/** On the virtual clock. */
	at: number;
	/** How long it may take. */
	timeoutMs: number;
	url: string;
	apiKey: string;
	refused: boolean;
}

interface CreatedRun {
	agentId: number;
	item: number;
	at: number;
	date: number;
}

/** The service on virtual time, as n8n's request helper shows it. */
export class SimulatedService {
	readonly created: CreatedRun[] = [];

	readonly requests: SeenRequest[] = [];

	private readonly limiter: Limiter;

	constructor(private readonly behaviour: Behaviour) {
		const { limit = Infinity, windowMs, limiter } = behaviour;
		this.limiter = limiter ?? fixedWindow(limit, windowMs);
	}

	/** What n8n's request helper does with a request. */
	async request({ method, url, body, qs, timeout = 0 }: IHttpRequestOptions, apiKey = '') {
		const { latencyMs = 0 } = this.behaviour;
		const isDryRun = (qs as { dry_run?: boolean } | undefined)?.dry_run === true;
		const isCreate = method === 'POST' && !isDryRun;
		const seen = {
			number: this.requests.length,
			isCreate,
			isDryRun,
			isList: url.endsWith('/agents'),
			at: performance.now(),
			timeoutMs: timeout,
			url,
			apiKey,
			refused: false,
		};
		this.requests.push(seen);
		const response = this.refuse(seen) ?? this.behaviour.trouble?.(seen);
		const answer = response ?? this.carryOut(seen, url, body);
		if (latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, latencyMs));
		if (answer instanceof Error) throw answer;
		return { headers: {}, body: '', ...answer };
	}

	/** When the polls were sent, in ms after the creation of the first run. */
	get polledAt(): number[] {
		const from = this.created[0]?.at ?? 0;
		const polls = this.requests.filter((sent) => !sent.isCreate && !sent.isDryRun && !sent.isList);
		return polls.map(({ at }) => at - from);
	}

	private refuse(seen: SeenRequest): SimulatedResponse | undefined {
		const wait = this.limiter(performance.now());
		if (wait <= 0) return undefined;
		seen.refused = true;
		const headers = { 'retry-after': String(Math.ceil(wait / 1_000)) };
		return { statusCode: 429, headers: this.behaviour.saysRetryAfter ? headers : {} };
	}

	private carryOut({ isCreate, isDryRun, isList }: SeenRequest, url: string, body: unknown) {
		if (isList) return this.list();
		if (isDryRun) return json(200, this.behaviour.compiled);
		return isCreate ? this.create(url, body) : this.show(url);
	}

	private list(): SimulatedResponse {
		const { agents } = this.behaviour;
		if (!agents) return { statusCode: 503 };
		const all = Object.entries(agents).map(([id, name]) => ({ id: Number(id), name }));
		return json(200, { agents: all, pagination: { total: all.length } });
	}

	private create(url: string, body: unknown): SimulatedResponse {
		const [binding] = (body as { parameter_bindings: Array<{ value: string }> }).parameter_bindings;
		const run = {
			agentId: Number(url.split('/').at(-2)),
			item: Number(binding?.value),
			at: performance.now(),
			date: Date.now(),
		};
		this.created.push(run);
		return json(202, {
			run_id: runIdOf(this.created.length - 1),
			status: this.behaviour.statusAtFirst ?? 'pending',
		});
	}

	private show(url: string): SimulatedResponse {
		const runId = url.split('/').at(-1) ?? '';
		const run = this.created[Number(runId.slice(-12))];
		if (!run) return json(404, { error: { code: 'run_not_found', message: '', request_id: 'r' } });
		const { durationMs, status = 'succeeded', shown } = this.behaviour.runOf(run.item);
		const isOver = performance.now() - run.at >= durationMs;
		return json(200, {
			run_id: runId,
			status: isOver ? status : 'running',
			created_at: new Date(run.date).toISOString(),
			completed_at: isOver ? new Date(run.date + durationMs).toISOString() : null,
			...(isOver && status === 'succeeded' && { output: String(run.item) }),
			...(isOver && status === 'failed' && { error: `item ${run.item}` }),
			...(isOver && shown),
		});
	}
}

function runIdOf(index: number): string {
	return `11111111-2222-4333-8444-${String(index).padStart(12, '0')}`;
}

export function json(statusCode: number, body: unknown): SimulatedResponse {
	return { statusCode, body: JSON.stringify(body) };
}

/** An error as n8n's request helper throws it when no response came. */
export function lostConnection(): Error {
	const cause = Object.assign(new Error('read ECONNRESET'), {
		code: 'ECONNRESET',
		syscall: 'read',
	});
	return new Error('The connection was lost', { cause });
}
