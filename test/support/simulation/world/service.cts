import type { IHttpRequestOptions } from 'n8n-workflow';

import type { Limiter } from '../limiters.cts';
import { answerOf, type Answered } from './answers.cts';
import {
	itemOf,
	organizationOf,
	type Attempt,
	type History,
	type SeenRequest,
	type SeenRun,
} from './history.cts';
import { othersOf } from './agentList.cts';
import { limiterFrom } from './limiterOf.cts';
import type { VirtualClock } from './virtualClock.cts';
import type { FaultSpec, RequestKind, ServiceSpec } from './world.cts';

/** How long it takes until a connection is refused, in ms. */
const REFUSED_MS = 2;

/** Who sends a request. */
export interface Sender {
	execution: Attempt;
	/** Whether the process that has sent the request is still there. */
	isAlive(): boolean;
	cancel: AbortSignal | undefined;
}

/** The service of a world, as n8n's request helper shows it. */
export class WorldService {
	private readonly limiters = new Map<number, Limiter>();

	private readonly runs = new Map<string, SeenRun>();

	private readonly listeners = new Map<number, () => void>();

	private listed = 0;

	constructor(
		private readonly spec: ServiceSpec,
		private readonly clock: VirtualClock,
		private readonly random: () => number,
		private readonly history: History,
	) {}

	/** Starts a run that there was before, or that a create asks for. */
	startRun(key: number, agentId: number, tag: string): SeenRun {
		const number = this.history.runs.length;
		const spec = itemOf(this.history.world, tag).run;
		const run: SeenRun = {
			id: this.newId(number),
			key,
			agentId,
			tag,
			createdAt: this.clock.now,
			endsAt: this.clock.now + (spec.durationMs ?? Infinity),
			spec,
		};
		this.history.runs.push(run);
		this.runs.set(run.id, run);
		return run;
	}

	/** Calls once when so many requests have been sent. */
	onRequest(count: number, listener: () => void): void {
		this.listeners.set(count, listener);
	}

	/** What n8n's request helper does with a request. */
	async request(options: IHttpRequestOptions, sender: Sender): Promise<Answered> {
		const { clock, history } = this;
		const [least, most] = this.spec.tripMs;
		const tripMs = least + this.random() * (most - least);
		const seen = this.note(options, sender, tripMs);
		const fault = this.faultFor(seen);
		if (fault) seen.fault = fault.kind;
		history.requests.push(seen);
		this.listeners.get(history.requests.length)?.();
		const isUnsent = fault && ['refused', 'dns', 'certificate', 'blocked'].includes(fault.kind);
		return await new Promise((resolve, reject) => {
			let answer: Answered | Error | undefined;
			const onCancel = () => {
				if (seen.answeredAt === Infinity) seen.isCut = true;
				answer = new Error('canceled', { cause: { code: 'ERR_CANCELED' } });
				end();
			};
			const end = () => {
				if (seen.answeredAt < Infinity || !sender.isAlive()) return;
				seen.answeredAt = clock.now;
				sender.cancel?.removeEventListener('abort', onCancel);
				const isLate = answer === undefined;
				const came = answer ?? answerOf('timeout', seen);
				if (isLate) seen.fault ??= 'timeout';
				if (came instanceof Error) {
					seen.code = (came.cause as { code?: string } | undefined)?.code ?? came.name;
					reject(came);
				} else {
					seen.status = came.statusCode;
					seen.retryAfter = came.headers['retry-after'];
					resolve(came);
				}
			};
			if (isUnsent) {
				answer = answerOf(fault.kind, seen, fault);
				clock.after(REFUSED_MS, end);
			} else {
				clock.after(tripMs / 2, () => {
					const own = this.arrive(seen, options, fault);
					if (!(own instanceof Error)) own.headers.date = new Date(clock.trueDate).toUTCString();
					if (fault?.kind === 'timeout') return;
					clock.after(tripMs / 2, () => {
						if (clock.now - seen.sentAt >= seen.timeoutMs) return;
						answer = own;
						end();
					});
				});
				clock.after(seen.timeoutMs, end);
			}
			if (sender.cancel?.aborted) onCancel();
			sender.cancel?.addEventListener('abort', onCancel);
		});
	}

	private note(
		{ method, url, qs, body, timeout = 300_000, headers }: IHttpRequestOptions,
		{ execution }: Sender,
		tripMs: number,
	): SeenRequest {
		const path = new URL(url).pathname.split('/').slice(3);
		const isDryRun = (qs as { dry_run?: boolean } | undefined)?.dry_run === true;
		const ofRuns: RequestKind = method === 'POST' ? (isDryRun ? 'dryRun' : 'create') : 'poll';
		const kind = path.length === 1 ? 'list' : ofRuns;
		const bindings = (
			body as { parameter_bindings?: Array<{ name: string; value: string }> | null }
		)?.parameter_bindings;
		const tag = bindings?.find(({ name }) => name === 'tag')?.value;
		return {
			number: this.history.requests.length,
			kind,
			execution,
			...(tag !== undefined && { tag }),
			...(kind === 'poll' && { runId: decodeURIComponent(path[3] ?? '') }),
			key: this.history.apiKeys.indexOf(headers?.['x-api-key'] as string),
			sentAt: this.clock.now,
			timeoutMs: timeout,
			arrivedAt: this.clock.now + tripMs / 2,
			answeredAt: Infinity,
			isOwn: false,
		};
	}

	private faultFor({ kind, sentAt }: SeenRequest): FaultSpec | undefined {
		return this.spec.faults.find(
			({ on, share, fromMs = 0, untilMs = Infinity }) =>
				(on === kind || on === 'any') &&
				sentAt >= fromMs &&
				sentAt < untilMs &&
				this.random() < share,
		);
	}

	/** A request has reached the service. */
	private arrive(
		seen: SeenRequest,
		options: IHttpRequestOptions,
		fault: FaultSpec | undefined,
	): Answered | Error {
		if (fault && !fault.isDone) return answerOf(fault.kind, seen, fault);
		const waitMs = this.limiterOf(seen.key)(this.clock.now);
		const own = waitMs > 0 ? this.refuse(waitMs) : this.carryOut(seen, options);
		if (fault) return answerOf(fault.kind, seen, fault);
		seen.isOwn = true;
		const { odd } = this.spec;
		if (odd && own.statusCode !== 429 && this.random() < odd.share) {
			own.headers['retry-after'] = odd.retryAfter;
		}
		return own;
	}

	private carryOut(seen: SeenRequest, { url, qs }: IHttpRequestOptions): Answered {
		if (seen.key < 0) return envelope(seen, 401, 'invalid_api_key');
		if (seen.kind === 'list') return this.list(seen, qs as { limit: number; offset: number });
		const agentId = Number(new URL(url).pathname.split('/')[4]);
		if (!this.agents(seen.key).some(({ id }) => id === agentId)) {
			return envelope(seen, 404, 'agent_not_found');
		}
		if (seen.kind === 'poll') return this.show(seen);
		if (seen.kind === 'dryRun') return json(200, { prompt: `of ${seen.tag}`, parameters: {} });
		if (this.isFull(seen)) return this.refuse(0);
		seen.started = this.startRun(organizationOf(seen.key), agentId, seen.tag ?? '');
		seen.started.request = seen;
		return this.json(202, { run_id: seen.started.id, status: 'pending' });
	}

	private isFull({ key }: SeenRequest): boolean {
		const { mostUnderWay } = this.spec;
		if (mostUnderWay === undefined) return false;
		const isUnderWay = (run: SeenRun) =>
			run.key === organizationOf(key) && run.endsAt > this.clock.now;
		return this.history.runs.filter(isUnderWay).length >= mostUnderWay;
	}

	/** Each key has its own agents. */
	private agents(key: number): Array<{ id: number; name: string }> {
		const first = 1 + 1_000 * organizationOf(key);
		return this.spec.agents.map((name, index) => ({ id: first + index, name }));
	}

	private list(seen: SeenRequest, { limit, offset }: { limit: number; offset: number }): Answered {
		const { others } = this.spec;
		this.listed++;
		const all = [...(others ? othersOf(others, this.listed) : []), ...this.agents(seen.key)];
		const agents = all.slice(offset, offset + Math.min(limit, this.spec.pageSize));
		return json(200, { agents, pagination: { total: all.length, limit, offset } });
	}

	private show(seen: SeenRequest): Answered {
		const run = this.runs.get(seen.runId ?? '');
		const { now, trueDate } = this.clock;
		if (
			!run ||
			run.key !== organizationOf(seen.key) ||
			now - run.createdAt < this.spec.unknownForMs
		) {
			return envelope(seen, 404, 'run_not_found');
		}
		const { id, createdAt, endsAt, spec } = run;
		const isOver = now >= endsAt;
		seen.said = isOver ? 'finished' : 'unfinished';
		const dateOf = (at: number) => new Date(trueDate - now + at).toISOString();
		const blank = spec.hasBlanks ? '' : null;
		const underWay = spec.end === 'odd' ? 'queued' : 'running';
		return this.json(200, {
			run_id: id,
			status: isOver ? (spec.end === 'odd' ? 'archived' : spec.end) : underWay,
			created_at: dateOf(createdAt),
			// A run that was cancelled has no such date.
			completed_at: isOver && spec.end !== 'cancelled' ? dateOf(endsAt) : blank,
			...(spec.hasBlanks && { error: '' }),
			...(isOver && spec.end === 'succeeded' && { output: outputOf(run) }),
			...(isOver && spec.end === 'failed' && { error: this.reasonOf(run) }),
		});
	}

	private reasonOf({ tag }: SeenRun): string {
		return `The agent gave up on ${tag}.${this.spec.isWordy ? ' So it goes.'.repeat(10_000) : ''}`;
	}

	private newId(number: number): string {
		const { random } = this;
		const last = String(number).padStart(12, '0');
		if (this.spec.hasNumericIds) return `9007199${last}`;
		return `${hex(random, 8)}-${hex(random, 4)}-4${hex(random, 3)}-8${hex(random, 3)}-${last}`;
	}

	/** An answer in which the runs' IDs are as this service writes them. */
	private json(statusCode: number, body: object): Answered {
		const answer = json(statusCode, body);
		if (this.spec.hasNumericIds) answer.body = answer.body.replace(/("run_id":)"(\d+)"/, '$1$2');
		return answer;
	}

	private refuse(waitMs: number): Answered {
		const answer = json(429, {});
		const style = this.spec.limiter?.retryAfter ?? 'none';
		const seconds = Math.ceil(waitMs / 1_000);
		if (style === 'seconds') answer.headers['retry-after'] = String(seconds);
		if (style === 'date') {
			answer.headers['retry-after'] = new Date(
				Math.ceil((this.clock.trueDate + waitMs) / 1_000) * 1_000,
			).toUTCString();
		}
		return answer;
	}

	private limiterOf(key: number): Limiter {
		const { limiter } = this.spec;
		const known = this.limiters.get(key);
		if (known) return known;
		const made = limiter ? limiterFrom(limiter) : () => 0;
		this.limiters.set(key, made);
		return made;
	}
}

/** What an agent says at the end of a run. */
export function outputOf({ id, spec }: SeenRun): string {
	return spec.isJson ? JSON.stringify({ result: id }) : `Result of ${id}`;
}

function json(statusCode: number, body: unknown): Answered {
	return { statusCode, headers: {}, body: JSON.stringify(body) };
}

function envelope(seen: SeenRequest, statusCode: number, code: string): Answered {
	seen.code = code;
	return json(statusCode, {
		error: { code, message: `The service says ${code}.`, request_id: `q${seen.number}` },
	});
}

function hex(random: () => number, digits: number): string {
	return Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join('');
}
