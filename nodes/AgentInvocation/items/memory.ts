import { createHash } from 'node:crypto';

import type { IDataObject, IExecuteFunctions, INode } from 'n8n-workflow';

import { keptBy, runsInAgent } from '../engine/host';
import { fail, sentences, succeed, type Result } from '../result';
import { isFinished } from '../service/runStatus';
import { isJsonObject, isRun } from '../service/types';
import { bound } from '../wording';
import type { ItemMemory, KnownRun, Rest, StartedRun, StoredMemory } from '../itemMemory';
import type { Ended, Wait } from '../itemState';

const FORMAT = 1;

/** As many attempts as n8n makes at the most with Retry On Fail. */
const MOST_ATTEMPTS = 5;

/**
 * How the node begins with its memory.
 *
 * - `first`: there was none.
 * - `goingOn`: after a rest.
 * - `afterCrash`: n8n's Retry of an execution that ended unforeseen after a rest.
 * - `retry`: of a node that has failed, or that the user has changed since its rest.
 * - `exhausted`: the same, but Retry On Fail allows no further attempt. n8n counts them anew after each rest.
 */
export type Beginning = 'first' | 'goingOn' | 'afterCrash' | 'retry' | 'exhausted';

/**
 * All that the node knows of its items, in the node's context. n8n hands that context on to Retry On Fail
 * and to its Retry, and stores it with the execution (docs/n8n.md, Memory). Each run index of the node,
 * such as a turn of a loop, has its own. Where n8n keeps no context, or one for several calls, it lasts for
 * one call.
 */
export class RunMemory {
	private constructor(
		/** What n8n stores. */
		readonly stored: StoredMemory,
		readonly beginning: Beginning,
		/** The execution that ended unforeseen after the rest, if one has. */
		readonly crashedIn: string | undefined,
		/** The rest that has just ended, if one has. */
		readonly rested: Rest | undefined,
		/** Forgets all: the node has succeeded, and n8n retries it no more. */
		readonly clear: () => void,
	) {}

	/**
	 * Opens the memory of a run of the node.
	 *
	 * @param date the present one, in ms since the epoch
	 * @returns a failure that names the runs it can find when the memory is not of this package's making
	 */
	static open(context: IExecuteFunctions, date: number): Result<RunMemory> {
		const runIndex = Number(context.getWorkflowDataProxy(0).$runIndex);
		const executionId = context.getExecutionId() ?? '';
		// The calls of a tool in its agent's process share run index and context, so each has its own memory.
		const kept = (runsInAgent(context) ? undefined : keptBy(context, 'node')) ?? {};
		const found = kept.agentInvocation;
		if (found !== undefined && !isFormat(found)) return refuseUnknown(found);
		const all = (found ?? { format: FORMAT, byRunIndex: {} }) as IDataObject;
		const byRunIndex = all.byRunIndex as Record<string, StoredMemory>;
		kept.agentInvocation = all;
		const isFirst = byRunIndex[runIndex] === undefined;
		const entered = enteredIn(context);
		const begun = { executionId, entered, attempts: 0, beganOn: date, items: {} };
		const stored = (byRunIndex[runIndex] ??= begun);
		const { rest } = stored;
		delete stored.rest;
		const isNewExecution = stored.executionId !== executionId;
		const isChanged = isNewExecution && stored.entered !== entered;
		const crashedIn = isNewExecution && rest ? stored.executionId : undefined;
		// n8n counts attempts, and the workflow's timeout, anew in its Retry.
		if (isNewExecution) Object.assign(stored, { executionId, entered, attempts: 0, beganOn: date });
		if (isNewExecution || !rest) stored.attempts++;
		const afterRest = isChanged ? 'retry' : isNewExecution ? 'afterCrash' : 'goingOn';
		const afterFailure = stored.attempts > mostAttempts(context) ? 'exhausted' : 'retry';
		const beginning = isFirst ? 'first' : rest ? afterRest : afterFailure;
		if (beginning === 'retry') prepareRetry(stored.items, date);
		if (isChanged) for (const item of Object.values(stored.items)) item.isOld = true;
		const memory = new RunMemory(stored, beginning, crashedIn, rest, () => {
			delete byRunIndex[runIndex];
			if (Object.keys(byRunIndex).length === 0) delete kept.agentInvocation;
		});
		return succeed(memory);
	}

	/** Whether items that have begun go on as they are, and are not begun anew. */
	get goesOn(): boolean {
		return ['goingOn', 'afterCrash', 'exhausted'].includes(this.beginning);
	}

	/** An attempt that n8n makes all the same gives what this one gives. */
	exhaust(): void {
		this.stored.attempts = MOST_ATTEMPTS;
	}

	/** What is known of an item; undefined when it has not begun. */
	item(index: number): ItemMemory | undefined {
		return this.stored.items[index];
	}

	/**
	 * What is known of an item, for going on from it; undefined when that is nothing. As long as the user has not
	 * changed the node, an item starts the same, whatever its expressions give this time; and what is in doubt
	 * stays so.
	 *
	 * @param baseUrl of the item's service: a run at another one cannot be asked for
	 * @param fingerprint one of those that it may be noted under; absent where it is not known yet
	 */
	recall(index: number, baseUrl: string, fingerprint?: string): ItemMemory | undefined {
		const item = this.item(index);
		const isElsewhere = (this.runOf(index)?.baseUrl ?? baseUrl) !== baseUrl;
		const isSame = fingerprint !== undefined && item?.fingerprint.split(' ').includes(fingerprint);
		const isOther = isElsewhere || (item?.isOld && !isSame);
		return isOther && item?.is !== 'inDoubt' ? undefined : item;
	}

	/** Items that are not known to have begun may have: what n8n stored is older than their beginning. */
	doubtOthers(count: number): void {
		for (let index = 0; index < count; index++) {
			this.stored.items[index] ??= { is: 'inDoubt', fingerprint: '' };
		}
	}

	/** Whether an item may have started a run that is not known. */
	isInDoubt(index: number): boolean {
		const item = this.item(index);
		return (item?.is === 'failed' ? item.retriesFrom : item)?.is === 'inDoubt';
	}

	note(index: number, item: ItemMemory): void {
		this.stored.items[index] = item;
	}

	/** Lets the next attempt begin the item anew. */
	forget(index: number): void {
		delete this.stored.items[index];
	}

	/** The run of an item, if one is known. */
	runOf(index: number): KnownRun | undefined {
		const item = this.item(index);
		return item && 'run' in item ? item.run : undefined;
	}

	/** All runs that are known, in the order of their items. */
	runs(): StartedRun[] {
		return Object.keys(this.stored.items).flatMap((key) => {
			const run = this.runOf(Number(key));
			return run ? [{ ...run, itemIndex: Number(key) }] : [];
		});
	}

	/** Notes what became of an item. */
	noteEnd(index: number, step: Ended): void {
		const before = this.item(index);
		const fingerprint = before?.fingerprint ?? '';
		const known = { fingerprint, run: this.runOf(index) };
		if (step.is === 'done') {
			this.note(index, { is: 'done', ...known, outputs: step.outputs });
			return;
		}
		const { message, description, details } = step.failure;
		const failure = { message: bound(message), description: bound(description), details };
		const from = before?.is === 'failed' ? before.retriesFrom : before;
		const retriesFrom = step.runEnded ? undefined : from;
		this.note(index, { is: 'failed', ...known, failure, retriesFrom });
	}

	/**
	 * Notes where an item's wait stands, before a rest.
	 *
	 * @param leftMs until its next poll
	 * @param date the present one, in ms since the epoch
	 */
	noteWait(index: number, wait: Wait, leftMs: number, date: number): void {
		const item = this.item(index);
		if (item?.is !== 'started') return;
		const { troubles, doubts, isEarlier, isLong, lastSeen } = wait;
		const times = { dueOn: Math.round(date + leftMs), leftMs: Math.round(leftMs) };
		item.wait = { ...times, status: lastSeen?.status, troubles, doubts, isEarlier, isLong };
	}

	/** Notes a rest, which is to begin now. */
	rest(rest: Rest): void {
		this.stored.rest = rest;
	}
}

/**
 * A hash of what the user has entered in the node, expressions as they are written. How runs are waited for
 * does not matter: a wait with a longer time limit goes on with the same runs.
 */
function enteredIn(context: IExecuteFunctions): string {
	const { parameters = {} } = context.getNode() as Partial<INode>;
	const fields = Object.entries(parameters).filter(
		([name]) => name !== 'options' && name !== 'waitForCompletion',
	);
	return createHash('sha256').update(JSON.stringify(fields)).digest('base64').slice(0, 16);
}

/** How many attempts Retry On Fail allows, the first included: as many as n8n does (docs/n8n.md, Memory). */
function mostAttempts(context: IExecuteFunctions): number {
	const { retryOnFail, maxTries } = context.getNode();
	return retryOnFail ? Math.min(MOST_ATTEMPTS, Math.max(2, maxTries || 3)) : 1;
}

/**
 * A run that was waited for, or output before it had finished, is waited for (again); what failed is begun
 * again where nothing is known of it.
 */
function prepareRetry(items: Record<string, ItemMemory>, date: number): void {
	for (const [key, item] of Object.entries(items)) {
		const from = item.is === 'failed' ? item.retriesFrom : asWait(item);
		if (!from) delete items[key];
		else items[key] = from;
		// Its time limit counts anew.
		if (from?.is === 'started') {
			const again = { ...from, run: { ...from.run, startedOn: date } };
			delete again.wait;
			items[key] = again;
		}
	}
}

/** What an earlier attempt did not wait for, or gave as it was at its time limit, as a wait. */
function asWait(item: ItemMemory): ItemMemory {
	if (item.is !== 'done' || !item.run) return item;
	const { fingerprint, run, outputs } = item;
	const [output] = outputs;
	return isRun(output) && !isFinished(output) ? { is: 'started', fingerprint, run } : item;
}

function isFormat(found: unknown): boolean {
	return isJsonObject(found) && found.format === FORMAT && isJsonObject(found.byRunIndex);
}

function refuseUnknown(found: unknown): Result<never> {
	const runIds = [...JSON.stringify(found).matchAll(/"run_?id":"([^"]+)"/gi)].map(([, id]) => id);
	return fail({
		message: 'Another version of this package has begun this execution, so this one starts nothing',
		description: sentences(
			'Its notes about the runs that it has started cannot be read. Execute the workflow anew to start runs.',
			runIds.length > 0 &&
				`These were started: ${runIds.join(', ')}. Use 'Get a run' to get their results.`,
		),
	});
}
