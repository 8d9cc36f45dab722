import type { PassTime } from '../clock';
import type { Item, KnownRun, Wait, Waiting } from '../item';
import { isFinished } from '../service/runStatus';
import type { Run } from '../service/types';
import { durationsOf } from './durations';
import {
	delayBeforeNextPoll,
	LONGEST_EARLY_MS,
	SHORTEST_STORED_DELAY_MS,
	TRIAL_MS,
} from './schedule';

/** What all waits of a pass have in common. A pass is one call of the node's `execute`. */
export interface Pass {
	time: PassTime;
	/** When waits must end because the workflow's own timeout is near, in ms since the epoch. */
	latestEndOn: number;
}

/** How a wait for a run begins. */
export interface WaitStart extends Pick<Wait, 'options' | 'where' | 'mayBeginAgain' | 'isOnTrial'> {
	/**
	 * The run as its creation showed it, or its ID and 'pending' in its place if an earlier attempt has seen it. Absent if
	 * nobody has seen it yet.
	 */
	lastSeen?: Run;
	/** For how long that answer asks clients to back off, in ms. */
	askedMs?: number;
	/** Whether the run may have finished already. */
	isDueNow?: boolean;
}

/** Begins to wait for an item's run: at once where it may have finished already. */
export function beginWait(
	{ fingerprints, earlier }: Item,
	run: KnownRun,
	{ options, where, mayBeginAgain, lastSeen, askedMs = 0, isDueNow, isOnTrial }: WaitStart,
	pass: Pass,
): Waiting {
	const now = Math.round(pass.time.date());
	const wait: Wait = {
		options,
		where,
		beganOn: now,
		isOfNewRun: lastSeen && !isDueNow,
		dueOn: now,
		delayMs: 0,
		mayBeEarly: false,
		failuresInARow: 0,
		briefAnswers: 0,
		wasSeen: lastSeen && true,
		isOnTrial: isOnTrial || undefined,
		mayBeginAgain,
	};
	const item: Waiting = { is: 'waiting', fingerprints, run, wait, earlier };
	const mayHaveFinished = isDueNow || !lastSeen || isFinished(lastSeen);
	const latestMs = isOnTrial ? TRIAL_MS : Infinity;
	const delay = mayHaveFinished ? 0 : Math.min(scheduledDelay(item, pass), latestMs);
	return dueAfter(item, delay, askedMs, pass);
}

/**
 * Plans the next poll of an item's run: after the delay or the time that the service asks for, whichever is longer,
 * but not after the time limit. Even to let the execution be stored, a run is not polled earlier than the service
 * asks.
 *
 * @param askedMs how long the service asks clients to back off, in ms
 */
export function dueAfter(item: Waiting, delay: number, askedMs: number, pass: Pass): Waiting {
	const { wait } = item;
	const now = pass.time.date();
	const untilLimit = Math.max(limitOf(wait, pass) - now, 0);
	const most = wait.graceBeganOn === undefined ? untilLimit : Infinity;
	const delayMs = Math.min(Math.max(delay, askedMs), most);
	const isPutOff = askedMs > delayMs - LONGEST_EARLY_MS || wait.failuresInARow > 0;
	const mayBeEarly = delayMs >= SHORTEST_STORED_DELAY_MS && !isPutOff;
	return { ...item, wait: { ...wait, dueOn: now + delayMs, delayMs, mayBeEarly } };
}

/**
 * The wait of a stored execution by the current clock. If the clock was set back, the wait would begin in the
 * future and be due too late. The time after its limit in which polls are repeated begins anew.
 */
export function onCurrentClock(wait: Wait, { time }: Pass): Wait {
	const now = time.date();
	const { beganOn, dueOn, delayMs } = wait;
	return {
		...wait,
		beganOn: Math.min(beganOn, now),
		dueOn: Math.min(dueOn, now + delayMs),
		graceBeganOn: undefined,
		refusals: undefined,
		heldMs: undefined,
	};
}

/**
 * The item with the current options. If they make its next poll due sooner, it is brought forward, unless it may not
 * be early (`mayBeEarly`).
 */
export function withOptions(
	item: Waiting,
	options: Pick<Wait, 'options' | 'where'>,
	pass: Pass,
): Waiting {
	const next = { ...item, wait: { ...item.wait, ...options } };
	if (!next.wait.mayBeEarly) return next;
	const leftMs = Math.max(next.wait.dueOn - pass.time.date(), 0);
	return dueAfter(next, Math.min(leftMs, scheduledDelay(next, pass)), 0, pass);
}

/** The item with its dates moved by the given change of n8n's clock, in ms. */
export function movedBy(item: Waiting, changeMs: number): Waiting {
	const { beganOn, dueOn } = item.wait;
	return { ...item, wait: { ...item.wait, beganOn: beganOn + changeMs, dueOn: dueOn + changeMs } };
}

/** When the time limit is reached, or the workflow's own timeout is near, in ms since the epoch. */
export function limitOf({ options, beganOn }: Wait, { latestEndOn }: Pass): number {
	return Math.min(beganOn + (options.timeoutMs || Infinity), latestEndOn);
}

/**
 * The shortest delay between polls of a wait, in ms. If it is stored from the start, that is the shortest
 * that n8n stores.
 */
export function leastDelayMs({ where }: Wait): number {
	return where === 'stored' ? SHORTEST_STORED_DELAY_MS : 0;
}

/** How long to wait before the next poll of an item's run, in ms. */
export function scheduledDelay({ run, wait }: Waiting, { time }: Pass): number {
	const delay = delayBeforeNextPoll({
		waitedMs: Math.max(time.date() - wait.beganOn, 0),
		pollIntervalMs: wait.options.pollIntervalMs,
		endsMs: durationsOf(run).endsMs,
	});
	return Math.max(delay, leastDelayMs(wait));
}
