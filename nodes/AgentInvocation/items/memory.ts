import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';

import { enteredIn, keptBy, MOST_ATTEMPTS, mostAttempts, runsInAgent } from '../engine/host';
import type { Suspension } from '../engine/suspend';
import { fail, sentences } from '../failure';
import { earlierOf, NOT_BEGUN, runOf, type Item, type RunOfItem } from '../item';
import { isJsonObject } from '../service/types';

const FORMAT = 1;

/** What n8n stores of one run of the node. */
interface StoredMemory {
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
	/** By index. Items that have not begun are absent. */
	items: Record<string, Item>;
	/** The checks that items have passed, by their keys. */
	passed?: Record<string, true>;
	suspension?: Suspension;
}

/** How a pass of the node begins. */
interface Opening {
	/**
	 * | what is stored      | in this execution                  | in another one (n8n's Retry)               |
	 * | ------------------- | ---------------------------------- | ------------------------------------------ |
	 * | nothing             | `first`                            | `first`                                    |
	 * | up to a suspension  | `resume`                           | `afterCrash`, or `retry` of a changed node |
	 * | up to a failure     | `retry`, or `exhausted` at the end | `retry`                                    |
	 *
	 * After `retry` the items begin again, from what is known of them; else they go on as they are. `exhausted`:
	 * Retry On Fail allows no further attempt. n8n counts attempts anew after each suspension.
	 */
	beginning: 'first' | 'resume' | 'afterCrash' | 'retry' | 'exhausted';
	/** The suspension that has just ended, if one has. */
	suspension?: Suspension;
	/** The execution that crashed or was stopped after it, if one did. */
	crashedIn?: string;
}

/** The circumstances in which a pass of the node begins. */
interface Present {
	executionId: string;
	entered: string;
	/** In ms since the epoch. */
	date: number;
	/** How many attempts Retry On Fail allows. */
	mostAttempts: number;
}

/** Decides how a run of the node begins, and with which memory. Changes nothing of what it is given. */
function openingOf(
	found: StoredMemory | undefined,
	{ executionId, entered, date, mostAttempts }: Present,
): [Opening, StoredMemory] {
	const begun = { executionId, entered, beganOn: date, attempts: 1 };
	if (!found) return [{ beginning: 'first' }, { ...begun, items: {} }];
	const { suspension, ...kept } = found;
	const isRetried = found.executionId !== executionId;
	const isChanged = isRetried && found.entered !== entered;
	// A suspension is no new attempt.
	const attempts = found.attempts + (suspension ? 0 : 1);
	const stored = isRetried ? { ...kept, ...begun } : { ...kept, attempts };
	const crashedIn = suspension && isRetried ? found.executionId : undefined;
	const opening = { suspension, crashedIn };
	if (suspension && !isChanged) {
		return [{ beginning: isRetried ? 'afterCrash' : 'resume', ...opening }, stored];
	}
	if (stored.attempts > mostAttempts) return [{ beginning: 'exhausted' }, stored];
	const items = toBeginAgain(found.items, isChanged);
	return [
		{ beginning: 'retry', ...opening },
		{ ...stored, items },
	];
}

/** The items of the next attempt, each with what it is to go on from. */
function toBeginAgain(items: Record<string, Item>, isChanged: boolean): Record<string, Item> {
	const again = Object.entries(items).map(([index, item]): [string, Item] => {
		const left = earlierOf(item);
		if (!left) return [index, NOT_BEGUN];
		const earlier = isChanged ? { ...left, isOld: true } : left;
		// An item in doubt stays in doubt, and is refused.
		return [index, earlier.is === 'inDoubt' ? earlier : { is: 'notBegun', earlier }];
	});
	return Object.fromEntries(again);
}

/**
 * All that the node knows of its items, kept in the node's context. n8n hands that context on to Retry On
 * Fail and to its Retry, and stores it with the execution (docs/n8n.md, Memory). Each run index of the node,
 * such as a turn of a loop, has a memory of its own.
 *
 * The memory lasts for only one call of `execute` if n8n keeps no context, if several calls have the same
 * one, or if nothing is to be kept.
 */
export class Memory {
	private constructor(
		readonly opening: Opening,
		/** What n8n stores. */
		private readonly stored: StoredMemory,
		/** Forgets everything: the node has succeeded, and n8n does not retry it any more. */
		readonly clear: () => void,
	) {}

	/**
	 * Opens the memory for a pass of the node.
	 *
	 * @param isKept whether the items are to be remembered at all
	 * @throws FailureError if another version of this package wrote the memory; names the runs that it finds in
	 *   it
	 */
	static open(context: IExecuteFunctions, isKept: boolean): Memory {
		// The calls of a tool in its agent's process share run index and context, so none may use them.
		const isStored = isKept && !runsInAgent(context);
		const kept = (isStored ? keptBy(context, 'node') : undefined) ?? {};
		const all = (kept.agentInvocation ??= { format: FORMAT, byRunIndex: {} });
		if (!isFormat(all)) return refuseUnknown(all);
		const { byRunIndex } = all;
		const runIndex = Number(context.getWorkflowDataProxy(0).$runIndex);
		const [opening, stored] = openingOf(byRunIndex[runIndex], {
			executionId: context.getExecutionId() ?? '',
			entered: enteredIn(context),
			date: Date.now(),
			mostAttempts: mostAttempts(context),
		});
		byRunIndex[runIndex] = stored;
		return new Memory(opening, stored, () => {
			delete byRunIndex[runIndex];
			if (Object.keys(byRunIndex).length === 0) delete kept.agentInvocation;
		});
	}

	/** When the node began in this execution, in ms since the epoch. */
	get beganOn(): number {
		return this.stored.beganOn;
	}

	/**
	 * Whether the host passes a response to `execute`.
	 *
	 * @param response what it has passed this time
	 */
	passesResponse(response: unknown): boolean {
		if (response !== undefined) this.stored.passesResponse = true;
		return this.stored.passesResponse === true;
	}

	/** Uses up all attempts: if n8n makes another one, it outputs the same as this one. */
	exhaust(): void {
		this.stored.attempts = MOST_ATTEMPTS;
	}

	item(index: number): Item {
		return this.stored.items[index] ?? NOT_BEGUN;
	}

	note(index: number, item: Item): void {
		if (item.is === 'notBegun' && !item.earlier) delete this.stored.items[index];
		else this.stored.items[index] = item;
	}

	/** The checks that items have passed, by their keys (items/checks.ts). */
	get passed(): Record<string, true> {
		return (this.stored.passed ??= {});
	}

	/** Marks all items that are not known to have begun as in doubt: they may have, after n8n stored this memory. */
	doubtOthers(count: number): void {
		for (let index = 0; index < count; index++) this.stored.items[index] ??= { is: 'inDoubt' };
	}

	/** All runs that are known, in the order of their items. */
	runs(): RunOfItem[] {
		return Object.entries(this.stored.items).flatMap(([index, item]) => {
			const run = runOf(item);
			return run ? [{ ...run, itemIndex: Number(index) }] : [];
		});
	}

	/** Notes a suspension, which is to begin now. */
	suspend(suspension: Suspension): void {
		this.stored.suspension = suspension;
	}
}

function isFormat(
	found: unknown,
): found is IDataObject & { byRunIndex: Record<string, StoredMemory> } {
	return isJsonObject(found) && found.format === FORMAT && isJsonObject(found.byRunIndex);
}

function refuseUnknown(found: unknown): never {
	const runIds = [...JSON.stringify(found).matchAll(/"run_?id":"([^"]+)"/gi)].map(([, id]) => id);
	fail({
		message: 'Another version of this package has begun this execution, so this one starts nothing',
		description: sentences(
			'Its notes about the runs that it has started cannot be read. Execute the workflow anew to start runs.',
			runIds.length > 0 &&
				`These were started: ${runIds.join(', ')}. Use 'Get a run' to get their results.`,
		),
	});
}
