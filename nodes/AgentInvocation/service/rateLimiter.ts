import { clock } from '../clock';
import type { Answer } from './answer';
import { PacesByPriority, type Priority } from './pacesByPriority';
import { Queues, type Waiter } from './queues';
import { isUnavailable } from './retryPolicy';

/** How long, and until when, a request may wait to be sent. */
export interface Patience {
	/** From when its patience counts, by the clock. */
	since: number;
	/** How long it waits while the service answers nothing at all, in ms. */
	patienceMs: number;
	/** If requests are paused for longer than this, in ms, it is late; Infinity when absent. */
	longestPauseMs?: number;
	/** When it is late in any case, by the clock; never when absent. */
	deadline?: number;
	/** If it is aborted, the request is not sent any more. */
	signal?: AbortSignal;
}

/**
 * `late`: its patience or its time has run out, or will have before requests may be sent again. `released`: it waits
 * no longer here, since its API key may have been replaced.
 */
type Turn = 'send' | 'late' | 'aborted' | 'released';

interface Request extends Waiter, Patience {
	settle(turn: Turn): void;
}

/** Where all requests that use one API key wait for their turn (`pace.ts` says how fast it comes). */
export class RateLimiter {
	private readonly paces = new PacesByPriority();

	private readonly queues = new Queues<Request>();

	private isServing = false;

	/** When the first waiter may give up. */
	private firstGivesUpAt = Infinity;

	private sleepsUntil = -Infinity;

	private waking = new AbortController();

	/**
	 * Whether nothing was sent since the latest refusal. The next turn then goes to a poll that has waited long: the
	 * service may refuse creates alone.
	 */
	private isAfterRefusal = false;

	/** The latest answer that refused a request or said that the service is away, if nothing else was answered since. */
	private refusal: Answer<never> | undefined;

	/**
	 * When the service last answered a request, by the clock. A 429 does not count, nor does an answer that says that the
	 * service is away (`isUnavailable`).
	 */
	answeredAt = -Infinity;

	/** Until when such requests pause, by the clock. */
	pausedUntilFor(priority: Priority): number {
		return this.paces.pausedUntilFor(priority);
	}

	/** Why such a request was not sent, if an answer to another one was the reason. Only creates wait for an outage. */
	refusalOf(priority: Priority): Answer<never> | undefined {
		const isOutage = this.refusal?.kind !== 'rateLimited';
		return isOutage && priority === 'poll' ? undefined : this.refusal;
	}

	/** Resolves when the request may be sent, or will not be. */
	async admit(request: Omit<Waiter, 'cameAt'> & Patience): Promise<Turn> {
		const { priority, signal } = request;
		if (signal?.aborted) return 'aborted';
		return await new Promise((resolve) => {
			const onAbort = () => waiter.settle('aborted');
			const settle = (turn: Turn) => {
				signal?.removeEventListener('abort', onAbort);
				this.queues.remove(waiter);
				if (turn === 'send') {
					this.isAfterRefusal = false;
					this.paces.take(priority, clock.now());
				}
				resolve(turn);
			};
			const waiter = { ...request, cameAt: clock.now(), settle };
			signal?.addEventListener('abort', onAbort);
			this.queues.add(waiter);
			const givesUpAt = this.givesUpAt(waiter);
			this.firstGivesUpAt = Math.min(this.firstGivesUpAt, givesUpAt);
			const actsAt = Math.min(givesUpAt, this.paces.opensAt(priority));
			if (actsAt < this.sleepsUntil) this.waking.abort();
			this.settleIfLate(waiter);
			void this.serve();
		});
	}

	/** When a request gives up, by the clock. Its patience begins again with each answer (see `answeredAt`). */
	givesUpAt({ since, patienceMs, deadline = Infinity }: Patience): number {
		return Math.min(Math.max(since, this.answeredAt) + patienceMs, deadline);
	}

	/**
	 * Learns from an answer.
	 *
	 * @param turnAt when its request had its turn, by the clock
	 * @param path that of the request
	 */
	learn(priority: Priority, answer: Answer, turnAt: number, path?: string): void {
		const pausedUntil = this.paces.pausedUntilFor(priority);
		const isRefused = answer.kind === 'rateLimited';
		if (isRefused) this.isAfterRefusal = true;
		if (isRefused || (isUnavailable(answer) && answer.status !== undefined)) {
			this.refusal = { ...answer, body: undefined, requestId: undefined };
		} else if (!isUnavailable(answer)) {
			this.refusal = undefined;
			this.answeredAt = clock.now();
		}
		this.paces.learn(priority, answer, turnAt, clock.now(), path);
		if (this.paces.opensFirstAt < this.sleepsUntil) this.waking.abort();
		if (this.paces.pausedUntilFor(priority) === pausedUntil) return;
		for (const waiter of this.queues.waiters) this.settleIfLate(waiter);
	}

	/** Ends the waiting of an owner's requests, which perhaps no longer use this limiter's API key. */
	release(owner: object): void {
		for (const waiter of this.queues.waiters) if (waiter.owner === owner) waiter.settle('released');
	}

	private async serve(): Promise<void> {
		if (this.isServing) return;
		this.isServing = true;
		for (let next = this.next(); next; next = this.next()) {
			const now = clock.now();
			if (this.firstGivesUpAt <= now) {
				this.settleOverdue();
				continue;
			}
			const opensAt = this.paces.opensAt(next.priority);
			if (opensAt <= now) {
				next.settle('send');
				this.queues.endTurn(next);
				continue;
			}
			this.sleepsUntil = Math.min(this.firstGivesUpAt, opensAt);
			this.waking = new AbortController();
			await clock.sleep(this.sleepsUntil - now, this.waking.signal);
			this.sleepsUntil = -Infinity;
		}
		this.isServing = false;
	}

	/** Whose turn is next: of those who may have it soonest, the first one. */
	private next(): Request | undefined {
		const { paces } = this;
		const now = clock.now();
		// While creates alone are refused, polls that have waited through a pause go first: the next create may cause
		// another one.
		const poll = paces.areCreatesRefused && this.queues.pollBefore(paces.pausedUntilFor('poll'));
		if (poll) return poll;
		const soonest = Math.max(now, paces.opensFirstAt);
		let first: Request | undefined;
		for (const waiter of this.queues.inOrder(now, this.isAfterRefusal, paces.areCreatesLimited)) {
			if (paces.opensAt(waiter.priority) <= soonest) return waiter;
			first ??= waiter;
		}
		return first;
	}

	private settleOverdue(): void {
		for (const waiter of this.queues.waiters) this.settleIfLate(waiter);
		this.firstGivesUpAt = this.queues.waiters.reduce(
			(first, one) => Math.min(first, this.givesUpAt(one)),
			Infinity,
		);
	}

	/** Settles a waiter if its turn would come too late. */
	private settleIfLate(waiter: Request): void {
		const { longestPauseMs = Infinity, priority, settle } = waiter;
		const now = clock.now();
		const pausedUntil = this.paces.pausedUntilFor(priority);
		const givesUpAt = this.givesUpAt(waiter);
		if (givesUpAt <= now || givesUpAt < pausedUntil || pausedUntil - now > longestPauseMs) {
			settle('late');
		}
	}
}
