import type { IExecuteFunctions } from 'n8n-workflow';

import type { Parking } from '../engine/parking';
import { FailureError } from '../failure';
import { failed, recordsOf, toBegin, type Item, type ItemThatIs } from '../item';
import { resultUnderOptions } from '../waiting/output';
import { onCurrentClock, withOptions } from '../waiting/wait';
import { heldBack } from './heldBack';
import type { Memory } from './memory';
import type { Operation } from './operation';
import { runOfDryRun, startedByDryRun } from './dryRuns';
import { readWaitPlan } from './waitPlan';

/** What a pass of the node begins with. */
interface PassParts {
	context: IExecuteFunctions;
	operation: Operation;
	memory: Memory;
	parking: Parking;
}

/**
 * Brings an item up to date for a pass of the node. An item in doubt that has nothing to go on from is held back if it
 * would start a run. A wait gets the clock of this pass. After a crash, waits and results get the current options, which
 * the user may have changed.
 */
export async function toThisPass(item: Item, index: number, pass: PassParts): Promise<Item> {
	const { memory, parking } = pass;
	const own =
		item.is === 'inDoubt' || item.is === 'notBegun' ? fromRecords(item, index, pass) : item;
	const current = own.is === 'waiting' ? { ...own, wait: onCurrentClock(own.wait, parking) } : own;
	const isRecovered = memory.opening.beginning === 'afterCrash';
	const hasOptions = current.is === 'waiting' || current.is === 'done';
	return isRecovered && hasOptions ? await withCurrentOptions(current, index, pass) : current;
}

function fromRecords(item: Item, index: number, { context, operation }: PassParts): Item {
	const records = recordsOf(item);
	const run = runOfDryRun(item);
	if (run) return { ...failed(item, startedByDryRun(run)), isHeldBack: true };
	const isOnlyDoubt = records.length > 0 && records.every(({ is }) => is === 'inDoubt');
	const startsRun = isOnlyDoubt && operation.startsRun?.(context, index);
	return startsRun ? heldBack(item) : toBegin(records);
}

async function withCurrentOptions(
	item: ItemThatIs<'waiting' | 'done'>,
	index: number,
	{ context, operation, parking }: PassParts,
): Promise<Item> {
	try {
		const work = { context, itemIndex: index, parking };
		const { waits, options, where } = await readWaitPlan(work, operation.runs === 'starts');
		if (item.is === 'done') {
			if (!waits) return item;
			return item.isNotWaitedFor ? toBegin(recordsOf(item)) : resultUnderOptions(item, options);
		}
		return waits ? withOptions(item, { options, where }, parking) : toBegin(recordsOf(item));
	} catch (thrown) {
		// Only a wrong value fails the wait. An expression that cannot be evaluated does not: n8n may have lost what it reads.
		const isWrong = thrown instanceof FailureError && thrown.cause === undefined;
		return isWrong && item.is === 'waiting' ? failed(item, thrown.failure) : item;
	}
}
