import type { Answer } from './answer';
import { leavesDoubt } from './answerKinds';
import { Outage } from './outage';
import { Pace } from './pace';
import { HANGING_MS, REFUSED_AMID_POLLS, SILENT_CREATE_MS, SLOW_CREATE_MS } from './paceTuning';
import { removeSent, RequestsUnderWay } from './requestsUnderWay';
import { backoffRange, isUnavailable, jittered, retryAfterMs } from './retryPolicy';

/** A create; a dry run, which takes turns like one; or `poll`, which stands for every GET, also of a page of agents. */
export type Priority = 'create' | 'dryRun' | 'poll';

/**
 * When requests with one API key may be sent, by what they are for. They share one pace (`pace.ts`), unless the
 * service refuses creates alone because no more runs may be under way: that says nothing about polls.
 *
 * While the service fails, each create may leave its item in doubt. So after one that does, creates pause. Then one may
 * be under way, and one more for each that is carried.
 *
 * Moments are those of the clock, in ms.
 */
export class PacesByPriority {
	private readonly underWay = new RequestsUnderWay();

	private creates = new Pace(this.underWay);

	/** The same as that of creates, unless these alone are refused. */
	private polls = this.creates;

	/** When each create that is under way was sent, ascending. */
	private readonly createsUnderWay: number[] = [];

	/** How many creates were carried since one was refused alone or left doubt, or polls failed; Infinity until that happens. */
	private createsCarried = Infinity;

	/** The least pause after such a create, in ms. */
	private createsPauseMs = 0;

	/** Until when it lasts. */
	private createsPausedUntil = -Infinity;

	/** When the latest refusal of a poll came. */
	private pollRefusedAt = -Infinity;

	/** How many creates were refused that each came after polls that were carried. One that is carried takes off half. */
	private refusedAmidPolls = 0;

	private readonly outage = new Outage();

	private wasPollCarried = false;

	/** Whether the service seems to refuse creates alone. */
	get areCreatesRefused(): boolean {
		return this.polls !== this.creates;
	}

	/**
	 * Whether only some creates may be under way: one was refused alone or left doubt, or polls failed. It stays so, but
	 * the number grows with each create that is carried.
	 */
	get areCreatesLimited(): boolean {
		return this.createsCarried < Infinity;
	}

	/** Until when such requests pause; creates alone may pause longer than the service asks. */
	pausedUntilFor(priority: Priority): number {
		const { pausedUntil } = this.paceOf(priority);
		return priority === 'poll' ? pausedUntil : Math.max(pausedUntil, this.createsPausedUntil);
	}

	/** When the next request of any kind may be sent. */
	get opensFirstAt(): number {
		return Math.min(this.opensAt('create'), this.opensAt('poll'));
	}

	/**
	 * When the next such request may be sent. While creates are refused alone, or leave doubt, one of them is sent at a
	 * time, and one more for each that is carried. One that takes long keeps the others waiting for a while: longer if
	 * nothing is answered meanwhile, or polls fail.
	 */
	opensAt(priority: Priority): number {
		if (priority === 'poll') return this.polls.opensAt;
		const oneTooMany = this.createsUnderWay.at(-1 - this.createsCarried) ?? -Infinity;
		const silentMs = this.underWay.answeredAt < oneTooMany ? SILENT_CREATE_MS : SLOW_CREATE_MS;
		const slowMs = this.outage.isOn ? HANGING_MS : silentMs;
		const pausedUntil = Math.max(this.createsPausedUntil, this.outage.createsWaitUntil);
		const opensAt = Math.max(this.creates.opensAt, this.underWay.createsOpenAt);
		return Math.max(oneTooMany + slowMs, opensAt, pausedUntil);
	}

	/** Counts a request that is sent now. */
	take(priority: Priority, now: number): void {
		this.paceOf(priority).take(now);
		if (priority !== 'poll') this.createsUnderWay.push(now);
	}

	/**
	 * Learns from an answer.
	 *
	 * @param turnAt when the turn of its request came
	 * @param path that of the request
	 */
	learn(priority: Priority, answer: Answer, turnAt: number, now: number, path = ''): void {
		if (priority !== 'poll') {
			this.learnFromCreate(answer, turnAt, now, priority === 'create');
			return;
		}
		if (answer.kind === 'rateLimited') {
			// Then it is a limit of all requests. The pace of polls knows more of it, since creates were slowed.
			this.creates = this.polls;
			this.pollRefusedAt = now;
			this.refusedAmidPolls = 0;
		} else if (answer.status !== undefined) this.wasPollCarried = true;
		// A poll of a run, and not a page of agents.
		if (path.includes('/runs/')) this.outage.learn(answer, path, now);
		if (this.outage.isOn) this.createsCarried = 0;
		this.polls.learn(answer, turnAt, now);
	}

	/** @param startsRun whether it was no dry run, which leaves no item in doubt */
	private learnFromCreate(answer: Answer, turnAt: number, now: number, startsRun: boolean): void {
		const isRefused = answer.kind === 'rateLimited';
		const isAskedToWait = retryAfterMs(answer) > 0;
		removeSent(this.createsUnderWay, turnAt);
		if (startsRun && leavesDoubt(answer)) {
			this.createsCarried = 0;
			// Any other answer may be about one agent alone.
			if (isAskedToWait || isUnavailable(answer)) this.pauseCreates(answer, turnAt, now);
			if (isUnavailable(answer)) this.outage.noteCreate(now);
		} else if (isRefused && this.areCreatesRefused) {
			this.createsCarried = 0;
			if (!isAskedToWait) {
				// It is no limit of requests, so it says nothing about how fast creates may be sent.
				this.creates.learn({ kind: 'notSent' }, turnAt, now);
				this.pauseCreates(answer, turnAt, now);
				return;
			}
		} else if (!isRefused && answer.status !== undefined && !leavesDoubt(answer)) {
			this.createsCarried++;
			this.createsPauseMs /= 4;
			this.outage.end();
		}
		// A dry run that is carried says nothing of creates: it adds no run to those under way.
		if (startsRun && !isRefused) this.refusedAmidPolls = Math.max(this.refusedAmidPolls - 0.5, 0);
		this.creates.learn(answer, turnAt, now);
		if (!isRefused) return;
		if (this.wasPollCarried) this.refusedAmidPolls++;
		this.wasPollCarried = false;
		if (!this.areCreatesRefused) {
			const isAlone =
				this.creates.isRefusedTooSoon(answer) || this.refusedAmidPolls >= REFUSED_AMID_POLLS;
			if (turnAt <= this.pollRefusedAt || !isAlone) return;
			this.polls = new Pace(this.underWay, this.creates);
			this.createsCarried = 0;
			if (!isAskedToWait) this.creates = new Pace(this.underWay);
		}
		this.polls.pauseUntil(now + retryAfterMs(answer));
	}

	/** Creates pause, for as long as the service asks and at least a time that doubles with each pause in a row. */
	private pauseCreates(answer: Answer, turnAt: number, now: number): void {
		// Of those that were under way together, the first one has lengthened the pause.
		if (turnAt >= this.createsPausedUntil) {
			const doubled = Math.max(this.createsPauseMs * 2, backoffRange.first);
			this.createsPauseMs = Math.min(doubled, backoffRange.longest);
		}
		const pauseMs = Math.max(retryAfterMs(answer), jittered(this.createsPauseMs));
		this.createsPausedUntil = Math.max(this.createsPausedUntil, now + pauseMs);
	}

	private paceOf(priority: Priority): Pace {
		return priority === 'poll' ? this.polls : this.creates;
	}
}
