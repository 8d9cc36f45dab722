import {
	NodeOperationError,
	type EngineResponse,
	type IExecuteFunctions,
	type INodeExecutionData,
	type NodeOutput,
} from 'n8n-workflow';

import { systemClock as clock } from '../clock';
import { isTool } from '../engine/host';
import { toErrorItem } from '../engine/errorItem';
import { cancelledError, toNodeError } from '../engine/nodeError';
import { idle } from './whenToPark';
import { mayHaveGoneOn } from '../engine/crash';
import { openParking, type Parking } from '../engine/parking';
import { removeTraces, requestRest, sourceOf } from '../engine/suspend';
import { asError, type Failure, type Result } from '../result';
import { fixedAt, type Concurrency } from './concurrency';
import { failed, type Ended, type ItemState, type Step } from '../itemState';
import { Loop, type LoopEnd } from './loop';
import type { ItemMemory } from '../itemMemory';
import { RunMemory } from './memory';
import { openService } from '../service/service';
import { nameRun } from '../wording';
import type { ItemWork, Operation } from './operation';
import { pollItem, resumeWait } from './itemWait';
import { refuse } from '../operations/run/startRun';
import { stopError } from './stopError';

/**
 * Works through the input items of a node and gives their outputs in the order of the input, each
 * paired with its item. An item that fails ends the node, or becomes an error item where the node is
 * set to continue. While nothing is to be done for long, the engine is asked for a rest in place of
 * outputs; n8n runs the node again, and it goes on from its memory.
 *
 * @param response what the host passed to `execute`
 * @throws NodeApiError or NodeOperationError, naming the runs that other items have started
 */
export async function processItems(
	context: IExecuteFunctions,
	response: EngineResponse | undefined,
	operation: Operation,
): Promise<NodeOutput> {
	const opened = RunMemory.open(context, clock.date());
	if (!opened.ok) return [await failAll(context, opened.failure)];
	const memory = opened.value;
	const source = memory.rested?.source ?? sourceOf(context);
	// Before any expression is evaluated, which may look back at where the input came from.
	if (memory.rested) removeTraces(context, source);
	if (operation.runs === 'starts' && (await mayHaveGoneOn(context, memory, clock.date()))) {
		memory.doubtOthers(context.getInputData().length);
	}
	const parking = await openParking(context, response, memory, clock);
	return await new NodeRun(context, operation, memory, source, parking).run();
}

/** Whether an item that fails is output: n8n would output the node's input in place of an error that is thrown. */
function continues(context: IExecuteFunctions): boolean {
	// A model gets no more than the message of an error that is thrown, and from some hosts nothing.
	return context.continueOnFail() || isTool(context);
}

/** @throws NodeOperationError unless the node continues */
async function failAll(
	context: IExecuteFunctions,
	failure: Failure,
): Promise<INodeExecutionData[]> {
	if (!continues(context)) throw toNodeError(context, failure);
	const items = context.getInputData();
	return await Promise.all(items.map((_, index) => toErrorItem(context, failure, index)));
}

/** Without it each item fails. */
function readConcurrency(context: IExecuteFunctions, operation: Operation): Result<Concurrency> {
	try {
		return operation.concurrency(context);
	} catch (thrown) {
		return { ok: false, failure: failureOfThrown(thrown) };
	}
}

/** What n8n says of an expression that it could not evaluate, or of a parameter that it could not read. */
function failureOfThrown(thrown: unknown): Failure {
	const cause = asError(thrown);
	const description =
		'description' in cause && typeof cause.description === 'string' ? cause.description : '';
	return { message: cause.message, description, details: {}, cause };
}

/** Whether the first output is that of an item that is done: the error in it is a run's, and no failed attempt. */
function isOutputAsDone(states: ItemState[]): boolean {
	const first = states.find((state) => state.is !== 'done' || state.outputs.length > 0);
	return first?.is === 'done';
}

/** One run of the node, from its beginning or the end of a rest until its end or the next rest. */
class NodeRun {
	constructor(
		private readonly context: IExecuteFunctions,
		private readonly operation: Operation,
		private readonly memory: RunMemory,
		private readonly source: unknown,
		private readonly parking: Parking,
	) {}

	async run(): Promise<NodeOutput> {
		const { context, operation, memory, parking } = this;
		const concurrency = readConcurrency(context, operation);
		const states = [...context.getInputData().keys()].map((index) => this.stateOf(index));
		if (!concurrency.ok) this.failOthers(states, concurrency);
		const loop = new Loop(
			{
				clock,
				concurrency: concurrency.ok ? concurrency.value : fixedAt(1),
				stopsAtFailure: !continues(context),
				checkpoints: operation.runs === 'starts' && parking.checkpoints,
				cancel: context.getExecutionCancelSignal?.(),
				begin: (index, signal) => this.step(index, { signal }, operation.begin),
				poll: (index, wait, signal) => {
					const known = memory.runOf(index)?.baseUrl;
					return this.step(index, { signal, known }, (work) => pollItem(wait, work, operation));
				},
				idle: (waits) => idle(parking, waits, clock.now()),
				ended: (index, step) => this.noteEnd(index, step),
			},
			states,
		);
		const end = await loop.run();
		if (end.is === 'parked' || end.is === 'checkpoint') return this.rest(end, states);
		if (end.is === 'failed') throw stopError(context, memory, states.length, end);
		if (end.is === 'cancelled') this.cancel(states);
		return [await this.outputs(states)];
	}

	/** @throws NodeOperationError unless the node continues */
	private cancel(states: ItemState[]): void {
		const { context, memory } = this;
		const failures = states.flatMap((state) => (state.is === 'failed' ? [state.failure] : []));
		const error = cancelledError(context, memory.runs(), failures);
		if (!continues(context)) throw error;
		const description = 'Runs that were started go on at the service.';
		const failure = { message: error.message, description, details: {} };
		this.failOthers(states, { failure });
	}

	/** Fails the items that have not ended. */
	private failOthers(states: ItemState[], why: { failure: Failure }): void {
		for (const [index, { is }] of states.entries()) {
			if (is !== 'done' && is !== 'failed') states[index] = this.named(index, failed(why));
		}
	}

	/** Where an item stands when the run begins. */
	private stateOf(index: number): ItemState {
		const { memory } = this;
		const item = memory.item(index);
		if (item?.is === 'inDoubt') return refuse(item);
		if (!item || !memory.goesOn) return { is: 'notBegun', isKnown: item !== undefined };
		if (item.is !== 'started') return item;
		const step = this.resume(index, item);
		if (step.is === 'failed') this.noteEnd(index, step);
		return step;
	}

	private resume(index: number, item: ItemMemory & { is: 'started' }) {
		const work = { context: this.context, itemIndex: index, parking: this.parking };
		try {
			return this.named(index, resumeWait(item, work, this.operation.runs === 'starts'));
		} catch (thrown) {
			return this.named(index, failed({ failure: failureOfThrown(thrown) }));
		}
	}

	/** What need not be remembered is not: n8n would store it. */
	private noteEnd(index: number, step: Ended): void {
		if (this.operation.runs) this.memory.noteEnd(index, step);
	}

	/** @param known the base URL at which the item's run is, if it is to be polled */
	private async step(
		index: number,
		{ signal, known }: { signal: AbortSignal; known?: string | undefined },
		act: (work: ItemWork) => Promise<Step>,
	): Promise<Step> {
		const { context, memory, parking } = this;
		try {
			const service = await openService(context, {
				owner: this,
				itemIndex: index,
				cancel: context.getExecutionCancelSignal?.(),
				known,
			});
			if (!service.ok) return this.named(index, failed(service));
			if (signal.aborted) return { is: 'stopped' };
			const work = { context, itemIndex: index, memory, parking, signal };
			return this.named(index, await act({ ...work, service: service.value }));
		} catch (thrown) {
			return this.named(index, failed({ failure: failureOfThrown(thrown) }));
		}
	}

	/** What fails while the item has a run names it, so that it is not lost. */
	private named<T extends Step>(index: number, step: T): T {
		const run = this.memory.runOf(index);
		if (!run || step.is !== 'failed' || step.failure.details.run_id !== undefined) return step;
		const { failure } = step;
		const details = { ...failure.details, agent_id: run.agentId, run_id: run.runId };
		const message = `${failure.message}${nameRun(run)}`;
		return { ...step, failure: { ...failure, message, details } };
	}

	/** Asks the engine for a rest, after which it runs the node again. */
	private rest(end: LoopEnd & { is: 'parked' | 'checkpoint' }, states: ItemState[]): NodeOutput {
		const { context, memory, source } = this;
		const epoch = clock.date() - clock.now();
		for (const [index, state] of states.entries()) {
			if (state.is !== 'waiting') continue;
			memory.noteWait(index, state.wait, state.wait.dueAt - clock.now(), clock.date());
		}
		const until = end.is === 'parked' ? Math.ceil(epoch + end.until) : undefined;
		memory.rest({ source, until });
		const runs = states.filter(({ is }) => is === 'waiting').length;
		return requestRest(context, { source, until, runs });
	}

	private async outputs(states: ItemState[]): Promise<INodeExecutionData[]> {
		const { context, memory, parking } = this;
		const outputs: INodeExecutionData[] = [];
		for (const [index, state] of states.entries()) {
			if (state.is === 'done') {
				outputs.push(...state.outputs.map((json) => ({ json, pairedItem: { item: index } })));
			} else if (state.is === 'failed') {
				outputs.push(await toErrorItem(context, state.failure, index));
			} else {
				throw new NodeOperationError(context.getNode(), `Item ${index} has no result`, {
					description: `This is a defect of the package: it is '${state.is}'.`,
				});
			}
		}
		for (const message of parking.hints) {
			context.addExecutionHints({ message, location: 'outputPane' });
		}
		// With Retry On Fail, n8n takes an output that begins with `error` for a failed attempt.
		const error = outputs[0]?.json.error ?? false;
		const mayBeRetried = context.getNode().retryOnFail && error !== false;
		if (!mayBeRetried) memory.clear();
		else if (isOutputAsDone(states)) memory.exhaust();
		return outputs;
	}
}
