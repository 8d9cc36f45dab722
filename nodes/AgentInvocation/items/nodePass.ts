import type { IExecuteFunctions, INodeExecutionData, NodeOutput } from 'n8n-workflow';

import { clock, orAborted } from '../clock';
import { continues, showHints } from '../engine/host';
import { cancelledError } from '../engine/nodeError';
import type { Parking } from '../engine/parking';
import { requestSuspension } from '../engine/suspend';
import { failed, isInDoubt, type Item } from '../item';
import { failureOf } from '../failure';
import { openService } from '../service/service';
import { pollRun } from '../waiting/poll';
import { movedBy } from '../waiting/wait';
import { nameRun } from '../wording';
import { checkItems } from './checks';
import { fixedAt } from './concurrency';
import { Loop } from './loop';
import type { Memory } from './memory';
import type { CheckItem, ItemWork, Operation } from './operation';
import { isFirstOutputOfDoneItem, outputItemsOf } from './outputItems';
import { heldBack } from './heldBack';
import { DryRuns, runOfDryRun } from './dryRuns';
import { stopError } from './stopError';
import { toThisPass } from './toThisPass';
import { whenToPark } from './whenToPark';
import { hintAtInterval, hintAtSlowBegin } from './whereToWait';
import type { LoopEnd, Work } from './work';

/**
 * How long after a run was started a checkpoint is made, in ms, even if some of the first items have not
 * begun. The time doubles with each such checkpoint.
 */
const CHECKPOINT_AFTER_MS = 5_000;
const MOST_CHECKPOINT_DOUBLINGS = 4;

/** One pass of the node, up to its end or the next suspension. */
export class NodePass {
	private readonly count: number;

	private readonly dryRuns = new DryRuns();

	constructor(
		private readonly context: IExecuteFunctions,
		private readonly operation: Operation,
		private readonly memory: Memory,
		private readonly source: unknown,
		private readonly parking: Parking,
	) {
		this.count = context.getInputData().length;
	}

	async run(): Promise<NodeOutput> {
		const { context, operation, memory, parking, count } = this;
		for (const [index, item] of this.items.entries()) {
			memory.note(index, await toThisPass(item, index, { context, operation, memory, parking }));
			const run = runOfDryRun(item);
			if (run) this.dryRuns.noteRun(run);
		}
		let concurrency = fixedAt(1);
		let check: CheckItem | undefined;
		try {
			concurrency = operation.concurrency(context);
			check = operation.checks?.(context);
		} catch (thrown) {
			// An option of the whole node is wrong, so no item can begin.
			const failure = failureOf(thrown);
			this.noteAll((item, index) => {
				if (item.is !== 'notBegun') return item;
				const startsRun = isInDoubt(item) && operation.startsRun?.(context, index);
				return startsRun ? heldBack(item) : failed(item, failure);
			});
		}
		const work: Work = {
			concurrency,
			stopsAtFailure: !continues(context),
			checkpointAfterMs: this.checkpointAfterMs,
			mayRecall: (index) => this.mayRecall(index),
			time: parking.time,
			pollsFrom: parking.pollsFrom,
			cancel: context.getExecutionCancelSignal?.(),
			begin: (item, index, signal, isOnTrial) =>
				this.withService(index, item, signal, async (opened) => {
					const since = clock.now();
					const begun = await operation.begin(item, { ...opened, isOnTrial });
					await hintAtSlowBegin(clock.now() - since, parking);
					return begun;
				}),
			poll: (item, index, signal) =>
				this.withService(index, item, signal, async ({ service }) => {
					const polled = await pollRun(item, { ...parking, service, signal });
					await hintAtInterval(item.wait, parking);
					return polled;
				}),
			idle: (waits) => whenToPark(parking, waits, clock.now()),
		};
		if (check) {
			await checkItems(work, memory, count, async (item, index, signal) => {
				const opened = await orAborted(this.open(index, item, signal), signal);
				return opened && (await check(item, opened));
			});
		}
		const end = await new Loop(work, memory, count).run();
		if (end.is === 'parked' || end.is === 'checkpoint') return this.suspend(end);
		if (end.is === 'failed') throw stopError(context, memory, count, end.index, end.failure);
		if (end.is === 'cancelled') this.cancel();
		return [await this.outputs()];
	}

	private get mayStartRuns(): boolean {
		return this.operation.mayStartRuns?.(this.context) ?? false;
	}

	/** See `Work`. After a resume, what the node goes on with is stored already, unless the checkpoint was early. */
	private get checkpointAfterMs(): number {
		const { beginning, suspension } = this.memory.opening;
		const early = suspension?.earlyCheckpoints ?? 0;
		const mayCheckpoint = this.mayStartRuns && this.parking.checkpoints;
		if (!mayCheckpoint || (beginning === 'resume' && early === 0)) return Infinity;
		return CHECKPOINT_AFTER_MS * 2 ** Math.min(early, MOST_CHECKPOINT_DOUBLINGS);
	}

	private mayRecall(index: number): boolean {
		try {
			return !this.operation.sendsAgain?.(this.context, index);
		} catch {
			// The option has a wrong value: the item fails when it begins.
			return true;
		}
	}

	private get items(): Item[] {
		return Array.from({ length: this.count }, (_, index) => this.memory.item(index));
	}

	/** @throws NodeOperationError unless the node continues */
	private cancel(): void {
		const { context, memory } = this;
		const failures = this.items.flatMap((item) => (item.is === 'failed' ? [item.failure] : []));
		const runs = memory.runs();
		const error = cancelledError(context, runs, failures);
		// n8n 2 stores neither the error nor the items (docs/n8n.md, Errors).
		if (runs.length > 0)
			context.logger.warn(`${error.message}. Its runs continue:${runs.map(nameRun).join('')}`);
		if (!continues(context)) throw error;
		const description = 'Runs that were started continue at the service.';
		const failure = { message: error.message, description, details: {} };
		this.noteAll((item) =>
			item.is === 'done' || item.is === 'failed' ? item : failed(item, failure),
		);
	}

	/** Replaces each item's record with what `make` gives for it. */
	private noteAll(make: (item: Item, index: number) => Item): void {
		for (const [index, item] of this.items.entries()) this.memory.note(index, make(item, index));
	}

	/** Gives what `act` makes of the item, or the item as failed with what was thrown. */
	private async withService(
		index: number,
		item: Item,
		signal: AbortSignal,
		act: (work: ItemWork) => Promise<Item>,
	): Promise<Item> {
		const { memory } = this;
		try {
			const work = await orAborted(this.open(index, item, signal), signal);
			return !work || signal.aborted ? item : await act(work);
		} catch (thrown) {
			// The item as it was noted last: a run may have been started before this was thrown.
			const reached = memory.item(index);
			const isRecalled = signal.aborted && reached.is !== 'inDoubt';
			return isRecalled ? reached : failed(reached, failureOf(thrown));
		}
	}

	private async open(index: number, item: Item, signal: AbortSignal): Promise<ItemWork> {
		const { context, memory, parking, dryRuns } = this;
		const service = await openService(context, {
			owner: this,
			itemIndex: index,
			cancel: context.getExecutionCancelSignal?.(),
			runBaseUrl: item.is === 'waiting' ? item.run.baseUrl : undefined,
		});
		const note = (next: Item) => memory.note(index, next);
		return { context, itemIndex: index, service, parking, dryRuns, signal, note };
	}

	/** Asks the engine for a suspension, after which it runs the node again. */
	private suspend(end: LoopEnd & { is: 'parked' | 'checkpoint' }): NodeOutput {
		const { context, memory, source, parking, count } = this;
		// Stored dates are those of the machine's clock, which may have been changed meanwhile.
		const { changedBy } = parking.time;
		this.noteAll((item) => (item.is === 'waiting' ? movedBy(item, changedBy) : item));
		const resumesOn = end.is === 'parked' ? Math.ceil(clock.dateOf(end.resumesAt)) : undefined;
		const isEarly = end.is === 'checkpoint' && end.isEarly;
		const earlyBefore = memory.opening.suspension?.earlyCheckpoints ?? 0;
		memory.suspension = {
			source,
			resumesOn,
			beganOn: clock.date(),
			startsRuns: this.mayStartRuns,
			retriesOnFail: Boolean(context.getNode().retryOnFail),
			count,
			earlyCheckpoints: isEarly ? earlyBefore + 1 : undefined,
			hints: [...parking.hints],
		};
		const runs = this.items.filter(({ is }) => is === 'waiting').length;
		return requestSuspension(context, { source, resumesOn, runs });
	}

	private async outputs(): Promise<INodeExecutionData[]> {
		const { context, memory, parking, items } = this;
		const outputs = await outputItemsOf(context, items);
		showHints(context, parking.hints);
		// With Retry On Fail, n8n counts an output as a failed attempt if its first item has an `error`.
		const mayBeRetried = context.getNode().retryOnFail && outputs[0]?.json.error !== undefined;
		if (!mayBeRetried) memory.clear();
		else if (isFirstOutputOfDoneItem(items)) memory.exhaust();
		return outputs;
	}
}
