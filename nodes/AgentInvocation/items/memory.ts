import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';

import { clock } from '../clock';
import { mayHaveBegun } from '../engine/crash';
import {
	enteredIn,
	executionEndsOn,
	keptBy,
	MOST_ATTEMPTS,
	mostAttempts,
	runsInAgent,
} from '../engine/host';
import type { ExecutionTimes } from '../engine/parking';
import type { Suspension } from '../engine/suspend';
import { fail, sentences } from '../failure';
import { NOT_BEGUN, runOf, type Item, type RunOfItem } from '../item';
import { isJsonObject } from '../service/types';
import { openingOf, type Opening, type StoredMemory } from './opening';

const FORMAT = 1;

/** What n8n keeps of the node over its runs in an execution. */
interface Kept {
	format: typeof FORMAT;
	/** The execution, as the node's first pass in it found it. */
	execution?: { id: string } & ExecutionTimes;
	byRunIndex: Record<string, StoredMemory>;
}

/**
 * All that the node knows of its items, kept in the node's context. n8n hands that context on to Retry On
 * Fail and to its Retry, and stores it with the execution (docs/n8n.md, Memory). Each run index of the node,
 * such as an iteration of a loop, has a memory of its own.
 *
 * The memory lasts for only one call of `execute` if n8n keeps no context, if several calls have the same
 * one, or if nothing is to be kept.
 */
export class Memory {
	private constructor(
		readonly opening: Opening,
		/** What n8n stores. */
		private readonly stored: StoredMemory,
		readonly execution: ExecutionTimes,
		/** Forgets all items: the node has succeeded, and n8n does not retry it any more. */
		readonly clear: () => void,
	) {}

	/**
	 * Opens the memory for a pass of the node.
	 *
	 * @param isKept whether the items are to be remembered at all
	 * @throws FailureError if another version of this package wrote the memory; names the runs found there
	 */
	static async open(context: IExecuteFunctions, isKept: boolean): Promise<Memory> {
		// The calls of a tool in its agent's process share run index and context, so none may use them.
		const isStored = isKept && !runsInAgent(context);
		const nodeContext = (isStored ? keptBy(context, 'node') : undefined) ?? {};
		const kept = (nodeContext.agentInvocation ??= { format: FORMAT, byRunIndex: {} });
		if (!isKeptMemory(kept)) return refuseUnknown(kept);
		const { byRunIndex } = kept;
		const runIndex = Number(context.getWorkflowDataProxy(0).$runIndex);
		const executionId = context.getExecutionId() ?? '';
		const found = byRunIndex[runIndex];
		const [opening, stored] = openingOf(found, {
			executionId,
			entered: enteredIn(context),
			date: clock.date(),
			mostAttempts: mostAttempts(context),
			mayHaveBegun: found !== undefined && (await mayHaveBegun(context, found)),
		});
		byRunIndex[runIndex] = stored;
		// n8n does not go back to an earlier iteration of a loop.
		for (const other of Object.keys(byRunIndex)) {
			if (Number(other) < runIndex) delete byRunIndex[other];
		}
		if (kept.execution?.id !== executionId) {
			const endsOn = executionEndsOn(context);
			kept.execution = { id: executionId, firstBeganOn: clock.date(), endsOn };
		}
		return new Memory(opening, stored, kept.execution, () => {
			delete byRunIndex[runIndex];
			// `endsOn` is kept: n8n does not tell later passes of the node when it ends a resumed execution.
			const isTimed = kept.execution?.endsOn !== undefined;
			const isNeeded = Object.keys(byRunIndex).length > 0 || isTimed;
			if (!isNeeded) delete nodeContext.agentInvocation;
		});
	}

	/** When the node began in this execution at this run index, in ms since the epoch. */
	get beganOn(): number {
		return this.stored.beganOn;
	}

	/**
	 * Whether the host has ever passed a response to `execute`. Remembers it.
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

	/** Each item's newest known run, in the items' order. */
	runs(): RunOfItem[] {
		return Object.entries(this.stored.items).flatMap(([index, item]) => {
			const run = runOf(item);
			return run ? [{ ...run, itemIndex: Number(index) }] : [];
		});
	}

	/** Stores the suspension that begins now. */
	set suspension(suspension: Suspension) {
		this.stored.suspension = suspension;
	}
}

function isKeptMemory(found: unknown): found is IDataObject & Kept {
	return isJsonObject(found) && found.format === FORMAT && isJsonObject(found.byRunIndex);
}

function refuseUnknown(found: unknown): never {
	const runIds = [...JSON.stringify(found).matchAll(/"run_?id":"([^"]+)"/gi)].map(([, id]) => id);
	fail({
		message: 'Another version of this package has begun this execution, so this one starts nothing',
		description: sentences(
			'Its notes about the runs that it has started cannot be read. Execute the workflow again to start runs.',
			runIds.length > 0 &&
				`These were started: ${runIds.join(', ')}. Use 'Get a run' to get their results.`,
		),
	});
}
