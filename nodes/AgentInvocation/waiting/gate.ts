import type { Answer } from '../api/answer';
import { backoffMs } from '../api/retryPolicy';
import type { Clock } from './clock';

/** Requests a second before anything is known of the service's limit. */
const FIRST_RATE = 50;
const HIGHEST_RATE = 1_000;
const LOWEST_RATE = 0.5;

/** The rate grows by this factor a second until the limit is known, and by this one afterwards. */
const FAST_GROWTH = 2;
const SLOW_GROWTH = 1.02;

/** What is kept of the rate that the service has just carried, once it refused more. */
const KEPT_OF_LIMIT = 0.9;

/** For how long after a refusal the limit counts as known, in ms. */
const LIMIT_KNOWN_MS = 60_000;

/** How far the gate catches up when a timer came late, in ms. */
const CATCH_UP_MS = 50;

/** A request that wants to pass. */
export interface Passage {
	/** Creates go before looks, so that runs start early. */
	urgent: boolean;
	/** By the clock. */
	deadline: number;
	/** Whether it passes then, come what may, or is too late. */
	passesAtDeadline: boolean;
	signal?: AbortSignal;
}

interface Waiter extends Passage {
	settle(verdict: Verdict): void;
}

/** `late`: the service asks for a longer pause than the deadline allows. */
type Verdict = 'pass' | 'late' | 'halted';

/**
 * The one gate that all requests of an execution pass, so that they share one pacing.
 *
 * The rate starts moderately and doubles every second for as long as nothing is refused. A 429 pauses
 * everything for as long as the service asks, or for a growing time. If the rate was really in use,
 * the service's limit is now known: the gate goes on a little below what was carried and grows by 2 %
 * a second. If it was not, the rate is halved.
 */
export class Gate {
	private readonly queue: Waiter[] = [];

	private rate = FIRST_RATE;

	private growth = FAST_GROWTH;

	private nextSlot = -Infinity;

	private pausedAt = -Infinity;

	private pausedUntil = -Infinity;

	private refusalsInARow = 0;

	/** When the latest requests were carried, not longer ago than a second. */
	private carriedAt: number[] = [];

	private pumping = false;

	private sleepsUntil = -Infinity;

	private waking = new AbortController();

	/** The latest refusal, for whoever could not pass because of it. */
	refusal: Answer<never> = { kind: 'rateLimited', status: 429 };

	constructor(private readonly clock: Clock) {}

	/** Resolves when the request may be sent, or will not be. */
	async pass(passage: Passage): Promise<Verdict> {
		if (passage.signal?.aborted) return 'halted';
		return await new Promise((resolve) => {
			const onAbort = () => settle('halted');
			const settle = (verdict: Verdict) => {
				passage.signal?.removeEventListener('abort', onAbort);
				const index = this.queue.indexOf(waiter);
				if (index >= 0) this.queue.splice(index, 1);
				resolve(verdict);
			};
			const waiter = { ...passage, settle };
			passage.signal?.addEventListener('abort', onAbort);
			this.enqueue(waiter);
			if (passage.deadline < this.sleepsUntil) this.waking.abort();
			void this.pump();
		});
	}

	/**
	 * Learns from an answer.
	 *
	 * @param sentAt when its request passed, by the clock
	 */
	learn(answer: Answer, sentAt: number): void {
		const now = this.clock.now();
		if (answer.kind !== 'rateLimited') {
			this.refusalsInARow = 0;
			this.carriedAt.push(now);
			return;
		}

		this.refusal = { ...answer, body: undefined };
		// Requests that were under way when the pause began say nothing new about the rate.
		if (sentAt >= this.pausedAt) {
			this.pausedAt = now;
			this.refusalsInARow++;
			const carried = this.carriedAt.filter((at) => now - at < 1_000).length;
			const inUse = carried >= this.rate / 2;
			this.rate = Math.max(
				inUse ? Math.min(carried, this.rate) * KEPT_OF_LIMIT : this.rate / 2,
				LOWEST_RATE,
			);
			this.growth = inUse ? SLOW_GROWTH : FAST_GROWTH;
		}
		const pause = backoffMs(answer, this.refusalsInARow, this.clock.date(), Math.random());
		this.pausedUntil = Math.max(this.pausedUntil, now + pause);
	}

	private enqueue(waiter: Waiter): void {
		const behind = waiter.urgent ? this.queue.findIndex(({ urgent }) => !urgent) : -1;
		this.queue.splice(behind < 0 ? this.queue.length : behind, 0, waiter);
	}

	private async pump(): Promise<void> {
		if (this.pumping) return;
		this.pumping = true;
		for (let next = this.queue[0]; next; next = this.queue[0]) {
			const now = this.clock.now();
			if (this.settleOverdue(now)) continue;
			const opensAt = Math.max(this.pausedUntil, this.nextSlot);
			if (opensAt <= now) {
				this.takeSlot(now);
				next.settle('pass');
				continue;
			}
			const firstDeadline = this.queue.reduce(
				(first, { deadline }) => Math.min(first, deadline),
				Infinity,
			);
			this.sleepsUntil = Math.min(opensAt, firstDeadline);
			this.waking = new AbortController();
			await this.clock.sleep(this.sleepsUntil - now, this.waking.signal);
			this.sleepsUntil = -Infinity;
		}
		this.pumping = false;
	}

	/** Settles those whose deadline has come, or comes before the pause ends; tells whether any. */
	private settleOverdue(now: number): boolean {
		const overdue = this.queue.filter(
			({ deadline, passesAtDeadline }) =>
				deadline <= now || (!passesAtDeadline && deadline < this.pausedUntil),
		);
		for (const waiter of overdue) waiter.settle(waiter.passesAtDeadline ? 'pass' : 'late');
		return overdue.length > 0;
	}

	private takeSlot(now: number): void {
		this.carriedAt = this.carriedAt.filter((at) => now - at < 1_000);
		if (now - this.pausedAt > LIMIT_KNOWN_MS) this.growth = FAST_GROWTH;
		this.nextSlot = Math.max(this.nextSlot, now - CATCH_UP_MS) + 1_000 / this.rate;
		// Growing with each slot taken and not with time, a gate that nobody uses does not open wider.
		this.rate = Math.min(this.rate * this.growth ** (1 / this.rate), HIGHEST_RATE);
	}
}
