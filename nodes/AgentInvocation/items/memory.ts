import { createHash } from 'node:crypto';

import type { IDataObject, IExecuteFunctions, INode } from 'n8n-workflow';

import { keptBy, runsInAgent } from '../engine/host';
import type { Suspension } from '../engine/suspend';
import { earlierOf, NOT_BEGUN, runOf, type Item, type StartedRun } from '../item';
import { fail, sentences } from '../failure';
import { isJsonObject } from '../service/types';

const FORMAT = 1;

/** As many attempts as n8n makes at the most with Retry On Fail. */
const MOST_ATTEMPTS = 5;

/** What n8n stores of one run of the node. */
interface StoredMemory {
	/** The execution that the node has run in last. n8n's Retry makes another one. */
	executionId: string;
	/** A hash of what the user has entered in the node. */
	entered: string;
	/** When the node began, in ms since the epoch. */
	beganOn: number;
	/** How many attempts have begun in this execution. */
	attempts: number;
	/** Whether the host has passed a response to `execute`; with Retry On Fail, it does not always. */
	passesResponse?: boolean;
	/** By index; those that are not begun are absent. */
	items: Record<string, Item>;
	suspension?: Suspension;
}

/**
 * How a run of the node begins:
 *
 * | what is stored      | in this execution                  | in another one (n8n's Retry)                |
 * | ------------------- | ---------------------------------- | ------------------------------------------- |
 * | nothing             | `first`                            | `first`                                     |
 * | up to a suspension  | `resume`                           | `afterCrash`, or `retry` of a changed node  |
 * | up to a failure     | `retry`, or `exhausted` at the end | `retry`                                     |
 *
 * `exhausted`: Retry On Fail allows no further attempt. n8n counts attempts anew after each suspension.
 */
type Beginning = 'first' | 'resume' | 'afterCrash' | 'retry' | 'exhausted';

/** What follows for the items: they go on as they are, or are begun again from what is known of them. */
const KEEPS_ITEMS: Record<Beginning, boolean> = {
	first: true,
	resume: true,
	afterCrash: true,
	retry: false,
	exhausted: true,
};

/** What is so when a run of the node begins. */
interface Present {
	executionId: string;
	entered: string;
	/** In ms since the epoch. */
	date: number;
	/** How many attempts Retry On Fail allows. */
	mostAttempts: number;
}

interface Opened {
	beginning: Beginning;
	stored: StoredMemory;
	/** The execution that ended unforeseen after a suspension, if one has. */
	crashedIn?: string;
}

/** Decides how a run of the node begins, and with which memory. Changes nothing of what it is given. */
function openingOf(found: StoredMemory | undefined, present: Present): Opened {
	const { executionId, entered, date, mostAttempts } = present;
	const begun = { executionId, entered, beganOn: date };
	if (!found) return { beginning: 'first', stored: { ...begun, attempts: 1, items: {} } };
	const { suspension, ...kept } = found;
	const isRetried = found.executionId !== executionId;
	const isChanged = isRetried && found.entered !== entered;
	// n8n counts attempts, and the workflow's timeout, anew in its Retry.
	const attempts = isRetried ? 1 : found.attempts + (suspension ? 0 : 1);
	const afterSuspension = isRetried ? 'afterCrash' : 'resume';
	const afterFailure = attempts > mostAttempts ? 'exhausted' : 'retry';
	const beginning = suspension && !isChanged ? afterSuspension : afterFailure;
	const items = KEEPS_ITEMS[beginning] ? found.items : toBeginAgain(found.items, isChanged);
	return {
		beginning,
		stored: { ...kept, ...(isRetried && begun), attempts, items },
		crashedIn: suspension && isRetried ? found.executionId : undefined,
	};
}

/** The items of the next attempt, each with what it is to go on from. */
function toBeginAgain(items: Record<string, Item>, isChanged: boolean): Record<string, Item> {
	const again = Object.entries(items).map(([index, item]): [string, Item] => {
		const left = earlierOf(item);
		if (!left) return [index, NOT_BEGUN];
		const earlier = isChanged ? { ...left, isOld: true } : left;
		return [index, earlier.is === 'inDoubt' ? earlier : { is: 'notBegun', earlier }];
	});
	return Object.fromEntries(again);
}

/**
 * All that the node knows of its items, in the node's context. n8n hands that context on to Retry On Fail
 * and to its Retry, and stores it with the execution (docs/n8n.md, Memory). Each run index of the node,
 * such as a turn of a loop, has its own. It lasts for one call where n8n keeps no context, or one for several
 * calls, or where nothing is to be kept.
 */
export class Memory {
	private constructor(
		/** What n8n stores. */
		private readonly stored: StoredMemory,
		readonly beginning: Beginning,
		/** The suspension that has just ended, if one has. */
		readonly suspension: Suspension | undefined,
		/** The execution that ended unforeseen after it, if one has. */
		readonly crashedIn: string | undefined,
		/** Forgets all: the node has succeeded, and n8n retries it no more. */
		readonly clear: () => void,
	) {}

	/**
	 * Opens the memory of a run of the node.
	 *
	 * @param isKept whether what becomes of the items is to be remembered at all
	 * @throws FailureError when the memory is not of this package's making; it names the runs that it can find
	 */
	static open(context: IExecuteFunctions, isKept: boolean): Memory {
		// The calls of a tool in its agent's process share run index and context, so each has its own memory.
		const isShared = isKept && !runsInAgent(context);
		const kept = (isShared ? keptBy(context, 'node') : undefined) ?? {};
		const all = (kept.agentInvocation ??= { format: FORMAT, byRunIndex: {} });
		if (!isFormat(all)) return refuseUnknown(all);
		const { byRunIndex } = all;
		const runIndex = Number(context.getWorkflowDataProxy(0).$runIndex);
		const found = byRunIndex[runIndex];
		const { beginning, stored, crashedIn } = openingOf(found, {
			executionId: context.getExecutionId() ?? '',
			entered: enteredIn(context),
			date: Date.now(),
			mostAttempts: mostAttempts(context),
		});
		byRunIndex[runIndex] = stored;
		return new Memory(stored, beginning, found?.suspension, crashedIn, () => {
			delete byRunIndex[runIndex];
			if (Object.keys(byRunIndex).length === 0) delete kept.agentInvocation;
		});
	}

	/** Whether items that have begun go on as they are, and are not begun again. */
	get goesOn(): boolean {
		return this.beginning !== 'first' && KEEPS_ITEMS[this.beginning];
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

	/** An attempt that n8n makes all the same gives what this one gives. */
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

	/** Items that are not known to have begun may have: what n8n stored is older than their beginning. */
	doubtOthers(count: number): void {
		for (let index = 0; index < count; index++) this.stored.items[index] ??= { is: 'inDoubt' };
	}

	/** All runs that are known, in the order of their items. */
	runs(): StartedRun[] {
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
