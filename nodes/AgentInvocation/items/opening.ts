import type { Suspension } from '../engine/suspend';
import { isInDoubt, NOT_BEGUN, recordsOf, toBegin, type Item } from '../item';
import { hasSucceeded } from '../service/runStatus';
import { finishedRunOf } from '../waiting/output';

/** What n8n stores for one run index. */
export interface StoredMemory {
	/** The execution that the node has run in last. n8n's Retry makes another one. */
	executionId: string;
	/** A hash of what the user has entered in the node. */
	entered: string;
	/** When the node began in that execution, in ms since the epoch. */
	beganOn: number;
	/** How many attempts have begun in that execution. */
	attempts: number;
	/** Whether the host has passed a response to `execute`; with Retry On Fail, it does not always. */
	passesResponse?: boolean;
	/** By index; absent if nothing is known of it. */
	items: Record<string, Item>;
	/** The checks that items have passed, by their keys. */
	passed?: Record<string, true>;
	suspension?: Suspension;
}

/** How a pass of the node begins. */
export interface Opening {
	/**
	 * | what is stored      | in this execution                  | in another one (n8n's Retry)               |
	 * | ------------------- | ---------------------------------- | ------------------------------------------ |
	 * | nothing             | `first`                            | `first`                                    |
	 * | up to a suspension  | `resume`                           | `afterCrash`, or `retry` of a changed node |
	 * | up to a failure     | `retry`, or `exhausted` at the end | `retry`                                    |
	 *
	 * After `retry` the items begin again, from what is known of them; else they go on as they are. `exhausted`:
	 * Retry On Fail allows no further attempt. n8n counts attempts from one again after each suspension.
	 */
	beginning: 'first' | 'resume' | 'afterCrash' | 'retry' | 'exhausted';
	/** The suspension found in the memory, if any. */
	suspension?: Suspension;
}

/** The circumstances in which a pass of the node begins. */
interface Present {
	executionId: string;
	entered: string;
	/** In ms since the epoch. */
	date: number;
	/** How many attempts Retry On Fail allows. */
	mostAttempts: number;
	/** Whether items may have begun after n8n stored the memory. */
	mayHaveBegun: boolean;
}

/** Decides how a pass of the node begins, and with which memory. Changes nothing of what it is given. */
export function openingOf(
	found: StoredMemory | undefined,
	{ executionId, entered, date, mostAttempts, mayHaveBegun }: Present,
): [Opening, StoredMemory] {
	const begun = { executionId, entered, beganOn: date, attempts: 1 };
	if (!found) return [{ beginning: 'first' }, { ...begun, items: {} }];
	const { suspension, ...kept } = found;
	const isRetried = found.executionId !== executionId;
	const isChanged = isRetried && found.entered !== entered;
	// A suspension is no new attempt.
	const attempts = found.attempts + (suspension ? 0 : 1);
	const items = suspension && mayHaveBegun ? withDoubts(found.items, suspension) : found.items;
	const stored = { ...kept, ...(isRetried ? begun : { attempts }), items };
	if (suspension && !isChanged) {
		return [{ beginning: isRetried ? 'afterCrash' : 'resume', suspension }, stored];
	}
	if (stored.attempts > mostAttempts) return [{ beginning: 'exhausted' }, stored];
	return [
		{ beginning: 'retry', suspension },
		{ ...stored, items: toBeginAgain(items, found.entered, entered) },
	];
}

/**
 * Marks as in doubt what may have begun after n8n stored the memory: items that had not begun, and items that wait
 * for an earlier attempt's run, since they begin again if that run has failed. With Retry On Fail, also any other
 * item without a result, since it may have failed and begun again.
 */
function withDoubts(
	items: Record<string, Item>,
	{ count, retriesOnFail }: Suspension,
): Record<string, Item> {
	const doubted = { ...items };
	for (let index = 0; index < count; index++) {
		const item = items[index] ?? NOT_BEGUN;
		const { earlier = [] } = item;
		const isOfEarlier = item.is === 'waiting' && item.wait.mayBeginAgain;
		const mayBegin = item.is === 'notBegun' || isOfEarlier || (retriesOnFail && !hasResult(item));
		if (mayBegin && !isInDoubt(item)) {
			doubted[index] = { ...item, earlier: [{ is: 'inDoubt' }, ...earlier] };
		}
	}
	return doubted;
}

/** Whether no later attempt begins the item again. A run that was output before its end may fail. */
function hasResult(item: Item): boolean {
	if (item.is !== 'done') return false;
	const seen = finishedRunOf(item);
	return !item.run || (seen !== undefined && hasSucceeded(seen));
}

/**
 * The items of the next attempt, each with what it is to go on from.
 *
 * @param before what was entered in the node until now
 * @param entered what is entered in it now
 */
function toBeginAgain(
	items: Record<string, Item>,
	before: string,
	entered: string,
): Record<string, Item> {
	const again = Object.entries(items).map(([index, item]): [string, Item] => {
		const records = recordsOf(item).map((record) => ofNextAttempt(record, before, entered));
		// What has started nothing, such as a dry run, has no fingerprints. It counts once more if
		// the node was not changed.
		const left = records.filter(({ is, isOld, fingerprints }, place) => {
			return fingerprints !== undefined || is === 'inDoubt' || (place === 0 && !isOld);
		});
		return [index, toBegin(left)];
	});
	return Object.fromEntries(again);
}

function ofNextAttempt(record: Item, before: string, entered: string): Item {
	const { fingerprints = [] } = record;
	const all = record.isOld ? fingerprints : [...new Set([...fingerprints, before])];
	const isOld = !all.includes(entered);
	// The service still has the result, if it is ever needed.
	const kept = isOld && record.is === 'done' ? { ...record, outputs: [] } : record;
	return { ...kept, fingerprints: record.fingerprints && all, isOld, isGone: undefined };
}
