import type { Answer } from './answer';
import { Pace } from './pace';
import { REFUSED_AMID_POLLS } from './paceTuning';
import { backoffRange, jittered, retryAfterMs } from './retryPolicy';

/** What a request is: a create, which may be a dry run, or any other. */
export type Priority = 'create' | 'poll';

/**
 * When requests with one API key may be sent, by what they are for. They share one pace (`pace.ts`), unless the
 * service refuses creates alone because no more runs may be under way: that says nothing about polls. Moments are
 * those of the clock, in ms.
 */
export class PacesByPriority {
	private creates = new Pace();

	/** The same as that of creates, unless these alone are refused. */
	private polls = this.creates;

	private createsUnderWay = 0;

	/** How many creates in a row were not refused. */
	private createsCarried = 0;

	/** The pause after a refused create, in ms, where the service asks for none. */
	private createsPauseMs = 0;

	/** When the latest refusal of a poll came. */
	private pollRefusedAt = -Infinity;

	/** How many creates in a row were refused that each came after polls that were carried. */
	private refusedAmidPolls = 0;

	private wasPollCarried = false;

	/** Whether the service seems to refuse creates alone. */
	get areCreatesRefused(): boolean {
		return this.polls !== this.creates;
	}

	/** Until when polls are paused. */
	get pausedUntil(): number {
		return this.polls.pausedUntil;
	}

	/** Until when such requests pause; creates alone may pause longer than the service asks. */
	pausedUntilFor(priority: Priority): number {
		return this.paceOf(priority).pausedUntil;
	}

	/** When the next request of any kind may be sent. */
	get opensFirstAt(): number {
		return Math.min(this.opensAt('create'), this.opensAt('poll'));
	}

	/**
	 * When the next such request may be sent; Infinity where an answer decides. While creates alone are refused, one
	 * of them is sent at a time, and one more for each that is carried.
	 */
	opensAt(priority: Priority): number {
		if (priority === 'poll') return this.polls.opensAt;
		const isHeld = this.areCreatesRefused && this.createsUnderWay > this.createsCarried;
		return isHeld ? Infinity : this.creates.opensAt;
	}

	/** A request is sent. */
	take(priority: Priority, now: number): void {
		this.paceOf(priority).take(now);
		if (priority === 'create') this.createsUnderWay++;
	}

	/**
	 * Learns from an answer.
	 *
	 * @param sentAt when its request was sent
	 */
	learn(priority: Priority, answer: Answer, sentAt: number, now: number): void {
		if (priority === 'create') {
			this.learnFromCreate(answer, sentAt, now);
			return;
		}
		if (answer.kind === 'rateLimited') {
			// It is a limit of all requests then, of which the pace of polls knows more: creates were held back.
			this.creates = this.polls;
			this.pollRefusedAt = now;
			this.refusedAmidPolls = 0;
		} else if (answer.status !== undefined) this.wasPollCarried = true;
		this.polls.learn(answer, sentAt, now);
	}

	private learnFromCreate(answer: Answer, sentAt: number, now: number): void {
		const isRefused = answer.kind === 'rateLimited';
		const isAskedToWait = retryAfterMs(answer) > 0;
		this.createsUnderWay--;
		this.createsCarried = isRefused ? 0 : this.createsCarried + 1;
		if (!isRefused) {
			this.refusedAmidPolls = 0;
			this.createsPauseMs /= 4;
		} else if (this.areCreatesRefused && !isAskedToWait) {
			// It is no limit of requests, so it says nothing about how fast creates may be sent.
			this.creates.learn({ kind: 'notSent' }, sentAt, now);
			this.createsPauseMs = Math.max(this.createsPauseMs * 2, backoffRange.first);
			this.createsPauseMs = Math.min(this.createsPauseMs, backoffRange.longest);
			this.creates.pauseUntil(now + jittered(this.createsPauseMs));
			return;
		}
		this.creates.learn(answer, sentAt, now);
		if (!isRefused) return;
		if (this.wasPollCarried) this.refusedAmidPolls++;
		this.wasPollCarried = false;
		if (!this.areCreatesRefused) {
			const isAlone =
				this.creates.isRefusedTooSoon(answer) || this.refusedAmidPolls >= REFUSED_AMID_POLLS;
			if (sentAt <= this.pollRefusedAt || !isAlone) return;
			this.polls = new Pace(this.creates);
			if (!isAskedToWait) this.creates = new Pace();
		}
		this.polls.pauseUntil(now + retryAfterMs(answer));
	}

	private paceOf(priority: Priority): Pace {
		return priority === 'create' ? this.creates : this.polls;
	}
}
