import type { IHttpRequestOptions } from 'n8n-workflow';

import type { Limiter } from './limiters.cts';
import { json, type Answered } from './answers.cts';
import type { Hand } from './hand.cts';
import {
	itemOf,
	organizationOf,
	specOf,
	tagOf,
	type Attempt,
	type History,
	type SeenRequest,
	type SeenRun,
} from './history.cts';
import { othersOf, parameters } from './agentList.cts';
import { limiterFrom } from './limiterOf.cts';
import type { VirtualClock } from './virtualClock.cts';
import type { ServiceSpec } from './world.cts';

/** The service of a world: its agents, its runs and its limits. */
export class WorldService {
	private readonly limiters = new Map<number, Limiter>();

	private readonly runs = new Map<string, SeenRun>();

	private readonly before = new Map<string, string[]>();

	private listed = 0;

	constructor(
		private readonly spec: ServiceSpec,
		private readonly clock: VirtualClock,
		private readonly random: () => number,
		private readonly history: History,
		private readonly hand: Hand = {},
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

	/** Runs that there were before, for 'Get a run', by item. */
	runIdsOf(attempt: Attempt, turn: number): string[] {
		const { index } = attempt;
		const { operation, items, key } = specOf(this.history.world, attempt);
		if (operation !== 'get') return [];
		const known = this.before.get(`${index} ${turn}`);
		if (known) return known;
		const made = items.map(({ ownKey, agent }, at) => {
			const ofKey = ownKey ? key + 1 : key;
			return this.startRun(ofKey, 1 + agent + 1_000 * ofKey, tagOf(index, turn, at)).id;
		});
		this.before.set(`${index} ${turn}`, made);
		return made;
	}

	/** What it answers to a request. */
	answer(seen: SeenRequest, options: IHttpRequestOptions): Answered | Error {
		const waitMs = this.limiterOf(seen.key)(this.clock.now);
		const carryOut = () => this.carryOut(seen, options);
		const given = waitMs > 0 ? this.refuse(waitMs) : this.hand.respond?.(seen, carryOut);
		if (given instanceof Error) return given;
		const own = given
			? { statusCode: 200, body: '', ...given, headers: { ...given.headers } }
			: carryOut();
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
		if (seen.tag && itemOf(this.history.world, seen.tag).isWrong) {
			return envelope(seen, 400, 'invalid_parameter_value', " of 'tag'");
		}
		const isCreate = seen.kind === 'create' || this.spec.dropsDryRuns;
		if ((isCreate || this.spec.quota?.refusesDryRuns) && this.isFull(seen)) {
			return this.refuseForQuota();
		}
		if (!isCreate) return json(200, { prompt: `of ${seen.tag}`, parameters: {} });
		seen.started = this.startRun(organizationOf(seen.key), agentId, seen.tag ?? '');
		seen.started.request = seen;
		return this.json(202, { run_id: seen.started.id, status: 'pending' });
	}

	private isFull({ key }: SeenRequest): boolean {
		const { quota } = this.spec;
		if (!quota) return false;
		const counts = (run: SeenRun) =>
			run.key === organizationOf(key) && (quota.isBudget || run.endsAt > this.clock.now);
		return this.history.runs.filter(counts).length >= quota.runs;
	}

	private agents(key: number): Array<{ id: number; name: string }> {
		const first = 1 + 1_000 * organizationOf(key);
		return this.spec.agents.map((name, index) => ({ id: first + index, name, parameters }));
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
			run_id: this.spec.hasPlainIds ? id.replaceAll('-', '').toUpperCase() : id,
			status: isOver ? (spec.end === 'odd' ? 'archived' : spec.end) : underWay,
			created_at: dateOf(createdAt),
			// A run that was cancelled has no such date.
			completed_at: isOver && spec.end !== 'cancelled' ? dateOf(endsAt) : blank,
			...(spec.hasBlanks && { error: '' }),
			...(isOver && spec.end === 'succeeded' && { output: outputOf(run) }),
			...(isOver && spec.end === 'failed' && { error: this.reasonOf(run) }),
			...(isOver && spec.shown),
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

	private refuseForQuota(): Answered {
		const answer = json(429, {});
		const { retryAfter } = this.spec.quota!;
		if (retryAfter) answer.headers['retry-after'] = retryAfter;
		return answer;
	}

	private refuse(waitMs: number): Answered {
		const answer = json(429, {});
		const { retryAfter: style = 'none' } = this.hand.limits ?? this.spec.limiter ?? {};
		const seconds = Math.ceil(waitMs / 1_000);
		if (style === 'seconds') answer.headers['retry-after'] = String(seconds);
		if (style === 'short') answer.headers['retry-after'] = '1';
		if (style === 'date') {
			answer.headers['retry-after'] = new Date(
				Math.ceil((this.clock.trueDate + waitMs) / 1_000) * 1_000,
			).toUTCString();
		}
		return answer;
	}

	private limiterOf(key: number): Limiter {
		const { limiter } = this.spec;
		if (this.hand.limits) return this.hand.limits.limiter;
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

function envelope(seen: SeenRequest, statusCode: number, code: string, of = ''): Answered {
	seen.code = code;
	return json(statusCode, {
		error: { code, message: `The service says ${code}${of}.`, request_id: `q${seen.number}` },
	});
}

function hex(random: () => number, digits: number): string {
	return Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join('');
}
