import { clock } from '../clock';
import type { Answer } from './answer';
import { Pace } from './pace';

/** A request that wants to be sent. */
export interface Admission {
	/** Whose request it is. Owners take turns. */
	owner: object;
	/**
	 * 'poll' is any request that is no create. An owner's creates go before its polls, so that runs start early. But
	 * each third turn, and the first one after a refusal, goes to a poll that has waited long.
	 */
	priority: 'create' | 'poll';
	/** From when its patience counts, by the clock. */
	since: number;
	/** How long it waits while the service carries nothing at all, in ms. */
	patienceMs: number;
	/** If requests are paused for longer than this, in ms, it is late; Infinity when absent. */
	longestPauseMs?: number;
	/** When it is late in any case, by the clock; never when absent. */
	deadline?: number;
	/** If it is aborted, the request is not sent any more. */
	signal?: AbortSignal | undefined;
}

/** `late`: its patience or its time has run out, or will have before requests may be sent again. */
type Turn = 'send' | 'late' | 'aborted';

interface Waiter extends Admission {
	/** By the clock. */
	cameAt: number;
	settle(turn: Turn): void;
}

/** The waiters of an owner, in the order in which they came. */
interface Queue {
	create: Set<Waiter>;
	poll: Set<Waiter>;
	/** How many turns it has had. */
	turns: number;
}

/** Which share of the turns late polls get: without one, they would wait for as long as runs are created. */
const POLLS_EACH = 3;

/** How long a poll has to wait to get such a turn, in ms: sooner, it would only keep runs from starting. */
const POLLS_LATE_MS = 2_000;

/** Where all requests that use one API key wait for their turn (`pace.ts` says how fast it comes). */
export class RateLimiter {
	private readonly pace = new Pace();

	/** By owner; the first one's turn is next. */
	private readonly queues = new Map<object, Queue>();

	private isServing = false;

	/** When the first waiter may give up. */
	private firstGivesUpAt = Infinity;

	private sleepsUntil = -Infinity;

	private waking = new AbortController();

	/**
	 * Whether nothing was sent since the latest refusal. The next turn is then a late poll's: the service may
	 * refuse creates until a run has ended, but carry polls.
	 */
	private isAfterRefusal = false;

	/** The latest refusal, if nothing was carried since; explains why a request was not sent. */
	refusal: Answer<never> | undefined;

	/** When the service last carried a request, by the clock. */
	carriedAt = -Infinity;

	/** Until when the service asks clients to back off, by the clock. */
	get pausedUntil(): number {
		return this.pace.pausedUntil;
	}

	/** Resolves when the request may be sent, or will not be. */
	async admit(admission: Admission): Promise<Turn> {
		const { owner, priority, signal } = admission;
		if (signal?.aborted) return 'aborted';
		return await new Promise((resolve) => {
			const onAbort = () => waiter.settle('aborted');
			const settle = (turn: Turn) => {
				signal?.removeEventListener('abort', onAbort);
				this.remove(waiter);
				if (turn === 'send') this.take();
				resolve(turn);
			};
			const waiter = { ...admission, cameAt: clock.now(), settle };
			signal?.addEventListener('abort', onAbort);
			const queue = this.queues.get(owner) ?? { create: new Set(), poll: new Set(), turns: 0 };
			queue[priority].add(waiter);
			this.queues.set(owner, queue);
			const givesUpAt = this.givesUpAt(waiter);
			this.firstGivesUpAt = Math.min(this.firstGivesUpAt, givesUpAt);
			if (givesUpAt < this.sleepsUntil) this.waking.abort();
			this.settleIfLate(waiter);
			void this.serve();
		});
	}

	/** When a request gives up, by the clock. Its patience begins again whenever the service carries a request. */
	givesUpAt({
		since,
		patienceMs,
		deadline = Infinity,
	}: Pick<Admission, 'since' | 'patienceMs' | 'deadline'>): number {
		return Math.min(Math.max(since, this.carriedAt) + patienceMs, deadline);
	}

	/**
	 * Learns from an answer.
	 *
	 * @param sentAt when its request was sent, by the clock
	 */
	learn(answer: Answer, sentAt: number): void {
		const { pausedUntil } = this.pace;
		if (answer.kind === 'rateLimited') {
			this.refusal = { ...answer, body: undefined };
			this.isAfterRefusal = true;
		} else if (answer.status !== undefined) {
			this.refusal = undefined;
			this.carriedAt = clock.now();
		}
		this.pace.learn(answer, sentAt, clock.now());
		if (this.pace.opensAt < this.sleepsUntil) this.waking.abort();
		if (this.pace.pausedUntil === pausedUntil) return;
		for (const waiter of this.waiters()) this.settleIfLate(waiter);
	}

	private take(): void {
		this.isAfterRefusal = false;
		this.pace.take(clock.now());
	}

	private remove(waiter: Waiter): void {
		const queue = this.queues.get(waiter.owner);
		queue?.[waiter.priority].delete(waiter);
		if (queue?.create.size === 0 && queue.poll.size === 0) this.queues.delete(waiter.owner);
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
			const { opensAt } = this.pace;
			if (opensAt <= now) {
				next.settle('send');
				this.endTurn(next.owner);
				continue;
			}
			this.sleepsUntil = Math.min(this.firstGivesUpAt, opensAt);
			this.waking = new AbortController();
			await clock.sleep(this.sleepsUntil - now, this.waking.signal);
			this.sleepsUntil = -Infinity;
		}
		this.isServing = false;
	}

	private next(): Waiter | undefined {
		for (const queue of this.queues.values()) {
			const [[create], [poll]] = [queue.create, queue.poll];
			const isLate = poll !== undefined && clock.now() >= poll.cameAt + POLLS_LATE_MS;
			const isPollsTurn = isLate && (this.isAfterRefusal || (queue.turns + 1) % POLLS_EACH === 0);
			return isPollsTurn ? poll : (create ?? poll);
		}
		return undefined;
	}

	private endTurn(owner: object): void {
		const queue = this.queues.get(owner);
		if (!queue) return;
		queue.turns++;
		this.queues.delete(owner);
		this.queues.set(owner, queue);
	}

	private waiters(): Waiter[] {
		return [...this.queues.values()].flatMap(({ create, poll }) => [...create, ...poll]);
	}

	private settleOverdue(): void {
		for (const waiter of this.waiters()) this.settleIfLate(waiter);
		this.firstGivesUpAt = this.waiters().reduce(
			(first, one) => Math.min(first, this.givesUpAt(one)),
			Infinity,
		);
	}

	/** Settles a waiter if its turn would come too late. */
	private settleIfLate(waiter: Waiter): void {
		const { longestPauseMs = Infinity, settle } = waiter;
		const now = clock.now();
		const { pausedUntil } = this.pace;
		const givesUpAt = this.givesUpAt(waiter);
		if (givesUpAt <= now || givesUpAt < pausedUntil || pausedUntil - now > longestPauseMs) {
			settle('late');
		}
	}
}
