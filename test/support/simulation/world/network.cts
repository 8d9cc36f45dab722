import type { IHttpRequestOptions } from 'n8n-workflow';

import { answerOf, responseOf, UNSENT, type Answered } from './answers.cts';
import type { Hand } from './hand.cts';
import type { Attempt, History, SeenRequest } from './history.cts';
import type { WorldService } from './service.cts';
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

/** What lies between n8n and the service, as n8n's request helper shows it: round trips and faults. */
export class Network {
	private readonly listeners = new Map<number, () => void>();

	/** How many requests are still to meet a fault in a row, in the present span of its time. */
	private readonly metInARow = new Map<FaultSpec, { span: number; left: number }>();

	/** When n8n has time to send another request. */
	private freeAt = 0;

	/** When the service has done what has arrived. It does not notice that nobody waits for an answer any more. */
	private doneAt = 0;

	constructor(
		private readonly spec: ServiceSpec,
		private readonly service: WorldService,
		private readonly clock: VirtualClock,
		private readonly random: () => number,
		private readonly history: History,
		private readonly hand: Hand = {},
	) {}

	/** Calls once when so many requests have been sent. */
	onRequest(count: number, listener: () => void): void {
		this.listeners.set(count, listener);
	}

	/** What n8n's request helper does with a request. */
	async request(options: IHttpRequestOptions, sender: Sender): Promise<Answered> {
		const { clock, history, hand } = this;
		if (hand.costMs !== undefined) {
			this.freeAt = Math.max(this.freeAt, clock.now) + hand.costMs;
			const leftMs = this.freeAt - clock.now;
			await new Promise<void>((resolve) => clock.after(leftMs, resolve));
		}
		const [least, most] = this.spec.tripMs;
		const tripMs = least + this.random() * (most - least);
		const seen = this.note(options, sender, tripMs);
		const fault = this.faultFor(seen);
		if (fault) seen.fault = fault.kind;
		history.requests.push(seen);
		this.listeners.get(history.requests.length)?.();
		const isUnsent = fault && UNSENT.includes(fault.kind);
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
				const response = responseOf(came);
				if (response) {
					seen.status = response.statusCode;
					seen.retryAfter = response.headers['retry-after'];
				}
				if (!(came instanceof Error)) return resolve(came);
				if (!response) seen.code = (came.cause as { code?: string } | undefined)?.code ?? came.name;
				reject(came);
			};
			if (isUnsent) {
				answer = answerOf(fault.kind, seen, fault);
				clock.after(REFUSED_MS, end);
			} else {
				clock.after(tripMs / 2 + this.workFrom(seen.arrivedAt), () => {
					const own = this.arrive(seen, options, fault);
					if (fault?.kind === 'timeout' || fault?.kind === 'drips') return;
					clock.after(tripMs / 2, () => {
						if (clock.now - seen.sentAt >= seen.timeoutMs) return;
						answer = own;
						end();
					});
				});
				if (fault?.kind !== 'drips') clock.after(seen.timeoutMs, end);
			}
			if (sender.cancel?.aborted) onCancel();
			sender.cancel?.addEventListener('abort', onCancel);
		});
	}

	/** How long it takes until the service has done a request that arrives then. */
	private workFrom(arrivedAt: number): number {
		const { workMs = 0 } = this.spec;
		this.doneAt = Math.max(this.doneAt, arrivedAt) + workMs;
		return workMs && this.doneAt - arrivedAt;
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
			url,
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

	private faultFor({ kind, sentAt, runId }: SeenRequest): FaultSpec | undefined {
		const isOfFirst = (count: number) =>
			this.history.runs.slice(0, count).some(({ id }) => id === runId);
		return this.spec.faults.find(
			(fault) =>
				(fault.on === kind || fault.on === 'any') &&
				(fault.ofFirst === undefined || isOfFirst(fault.ofFirst)) &&
				sentAt >= (fault.fromMs ?? 0) &&
				sentAt < (fault.untilMs ?? Infinity) &&
				this.isMet(fault, sentAt),
		);
	}

	private isMet(fault: FaultSpec, sentAt: number): boolean {
		if (fault.everyMs === undefined) return this.random() < fault.share;
		const span = Math.floor(sentAt / fault.everyMs);
		const met = this.metInARow.get(fault);
		const left = met?.span === span ? met.left : 1 + Math.floor(this.random() * 3);
		this.metInARow.set(fault, { span, left: left - 1 });
		return left > 0;
	}

	/** A request has reached the service, or what stands in front of it. */
	private arrive(
		seen: SeenRequest,
		options: IHttpRequestOptions,
		fault: FaultSpec | undefined,
	): Answered | Error {
		const came = this.answer(seen, options, fault);
		if (!(came instanceof Error)) came.headers.date ??= new Date(this.clock.trueDate).toUTCString();
		return came;
	}

	private answer(
		seen: SeenRequest,
		options: IHttpRequestOptions,
		fault: FaultSpec | undefined,
	): Answered | Error {
		if (fault && !fault.isDone) return answerOf(fault.kind, seen, fault);
		const own = this.service.answer(seen, options);
		if (fault) return answerOf(fault.kind, seen, fault);
		seen.isOwn = true;
		return own;
	}
}
