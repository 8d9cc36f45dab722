import type { Clock } from '../clock';
import type { Answer } from './answer';
import { Pace } from './pace';

/** A request that wants to be sent. */
export interface Admission {
	/** Whose request it is: those of different owners take turns. */
	owner: object;
	/** Creates go before polls of the same owner, so that runs start early. */
	priority: 'create' | 'poll';
	/** By the clock. */
	deadline: number;
	/** Whether it is sent then, come what may, or is too late. */
	sendsAtDeadline: boolean;
	signal?: AbortSignal;
}

/** `late`: the service asks for a longer pause than the deadline allows. */
type Verdict = 'send' | 'late' | 'aborted';

interface Waiter extends Admission {
	settle(verdict: Verdict): void;
}

/** Where all requests that use one API key wait for their turn (`pace.ts` says how fast it comes). */
export class RateLimiter {
	private readonly pace = new Pace();

	/** The waiters of each owner; the first owner's turn is next. */
	private readonly queues = new Map<object, Waiter[]>();

	private isServing = false;

	/** No waiter's deadline is earlier. */
	private soonest = Infinity;

	private sleepsUntil = -Infinity;

	private waking = new AbortController();

	/** The latest refusal, for whoever cannot be sent because of it. */
	refusal: Answer<never> = { kind: 'rateLimited', status: 429 };

	constructor(private readonly clock: Clock) {}

	/** Until when the service asks to be left alone, by the clock. */
	get pausedUntil(): number {
		return this.pace.pausedUntil;
	}

	/** Resolves when the request may be sent, or will not be. */
	async admit(admission: Admission): Promise<Verdict> {
		const { owner, signal, deadline } = admission;
		if (signal?.aborted) return 'aborted';
		return await new Promise((resolve) => {
			const onAbort = () => settle('aborted');
			const settle = (verdict: Verdict) => {
				signal?.removeEventListener('abort', onAbort);
				this.remove(waiter);
				resolve(verdict);
			};
			const waiter = { ...admission, settle };
			signal?.addEventListener('abort', onAbort);
			const queue = this.queues.get(owner) ?? [];
			const firstPoll = queue.findIndex(({ priority }) => priority === 'poll');
			const isFirst = admission.priority === 'create' && firstPoll >= 0;
			queue.splice(isFirst ? firstPoll : queue.length, 0, waiter);
			this.queues.set(owner, queue);
			this.soonest = Math.min(this.soonest, deadline);
			if (deadline < this.sleepsUntil) this.waking.abort();
			void this.serve();
		});
	}

	/**
	 * Learns from an answer.
	 *
	 * @param sentAt when its request was sent, by the clock
	 */
	learn(answer: Answer, sentAt: number): void {
		if (answer.kind === 'rateLimited') this.refusal = { ...answer, body: undefined };
		this.pace.learn(answer, sentAt, this.clock.now(), this.clock.date());
	}

	private remove(waiter: Waiter): void {
		const queue = this.queues.get(waiter.owner);
		const index = queue?.indexOf(waiter) ?? -1;
		if (!queue || index < 0) return;
		queue.splice(index, 1);
		if (queue.length === 0) this.queues.delete(waiter.owner);
	}

	private async serve(): Promise<void> {
		if (this.isServing) return;
		this.isServing = true;
		for (let next = this.next(); next; next = this.next()) {
			const now = this.clock.now();
			if (this.settleOverdue(now)) continue;
			const { opensAt } = this.pace;
			if (opensAt <= now) {
				this.pace.take(now);
				next.settle('send');
				this.endTurn(next.owner);
				continue;
			}
			this.sleepsUntil = Math.min(this.soonest, opensAt);
			this.waking = new AbortController();
			await this.clock.sleep(this.sleepsUntil - now, this.waking.signal);
			this.sleepsUntil = -Infinity;
		}
		this.isServing = false;
	}

	private next(): Waiter | undefined {
		const [queue] = this.queues.values();
		return queue?.[0];
	}

	private endTurn(owner: object): void {
		const queue = this.queues.get(owner);
		if (!queue) return;
		this.queues.delete(owner);
		this.queues.set(owner, queue);
	}

	private waiters(): Waiter[] {
		return [...this.queues.values()].flat();
	}

	/** Settles those whose deadline has come, or comes before the pause ends; tells whether any. */
	private settleOverdue(now: number): boolean {
		if (this.soonest > now && this.soonest >= this.pausedUntil) return false;
		const overdue = this.waiters().filter(
			({ deadline, sendsAtDeadline }) =>
				deadline <= now || (!sendsAtDeadline && deadline < this.pausedUntil),
		);
		for (const waiter of overdue) waiter.settle(waiter.sendsAtDeadline ? 'send' : 'late');
		this.soonest = this.waiters().reduce((first, one) => Math.min(first, one.deadline), Infinity);
		return overdue.length > 0;
	}
}
