import {
	NodeOperationError,
	type EngineResponse,
	type IExecuteFunctions,
	type INodeExecutionData,
	type NodeOutput,
} from 'n8n-workflow';

import { systemClock as clock } from '../clock';
import { isTool } from '../host';
import { cancelledError, toErrorItem, toItem } from '../output/items';
import { toNodeError } from '../output/nodeError';
import { Parking } from '../parking/parking';
import { removeTraces, requestRest, sourceOf } from '../parking/pause';
import { asError, sentences, type Failure, type Result } from '../result';
import { Loop, type Ended, type ItemState, type LoopEnd, type Step } from '../runs/loop';
import { RunMemory } from '../runs/runMemory';
import { openService, type Service } from '../service/service';
import type { ItemWork, Operation, Waits } from './operation';

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
	const memory = openMemory(context, operation);
	if (!memory.ok) throw toNodeError(context, memory.failure);
	const node = await NodeRun.open(context, response, operation, memory.value);
	return await node.run();
}

function openMemory(context: IExecuteFunctions, { startsRuns }: Operation): Result<RunMemory> {
	return RunMemory.open(context.getContext('node'), {
		runIndex: Number(context.getWorkflowDataProxy(0).$runIndex),
		executionId: context.getExecutionId(),
		date: clock.date(),
		count: context.getInputData().length,
		startsRuns,
		mostAttempts: mostAttempts(context),
	});
}

/** How many attempts n8n allows (docs/n8n.md, Memory). */
function mostAttempts(context: IExecuteFunctions): number {
	const { retryOnFail, maxTries } = context.getNode();
	return retryOnFail ? Math.min(5, Math.max(2, maxTries || 3)) : 1;
}

function read<T>(result: () => Result<T>): Result<T> {
	try {
		return result();
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

/** One run of the node, from its beginning or the end of a rest until its end or the next rest. */
class NodeRun {
	private readonly cancel: AbortSignal | undefined;

	private readonly source: unknown;

	private readonly concurrency: Result<number>;

	private constructor(
		private readonly context: IExecuteFunctions,
		private readonly operation: Operation,
		private readonly memory: RunMemory,
		private readonly parking: Parking,
		private readonly service: Result<Service>,
	) {
		this.cancel = context.getExecutionCancelSignal?.();
		this.source = memory.rested?.source ?? sourceOf(context);
		// Before any expression is evaluated, which may look back at where the input came from.
		if (memory.rested) removeTraces(context, this.source);
		this.concurrency = read(() => operation.concurrency());
	}

	static async open(
		context: IExecuteFunctions,
		response: EngineResponse | undefined,
		operation: Operation,
		memory: RunMemory,
	): Promise<NodeRun> {
		const parking = await Parking.open(context, response, memory, clock);
		const service = await openService(context, {
			cancel: context.getExecutionCancelSignal?.(),
			known: memory.goesOn && memory.baseUrl !== '' ? memory.baseUrl : undefined,
		});
		return new NodeRun(context, operation, memory, parking, service);
	}

	async run(): Promise<NodeOutput> {
		// A model gets no more than the message of an error that is thrown, and from some hosts nothing.
		const continues = this.context.continueOnFail() || isTool(this.context);
		const count = this.context.getInputData().length;
		const states = await Promise.all(
			Array.from({ length: count }, async (_, index) => await this.stateOf(index)),
		);
		const loop = new Loop(
			{
				clock,
				concurrency: this.concurrency.ok ? this.concurrency.value : 1,
				stopsAtFailure: !continues,
				checkpoints: this.operation.startsRuns && this.parking.checkpoints,
				cancel: this.cancel,
				begin: (index, signal) =>
					this.step(index, signal, (work) => this.operation.begin(index, work)),
				poll: (index, wait, signal) =>
					this.step(index, signal, (work) => this.waits().poll(index, wait, work)),
				idle: (waits) => this.parking.idle(waits),
				ended: (index, step) => this.noteEnd(index, step),
			},
			states,
		);
		const end = await loop.run();
		if (end.is === 'parked' || end.is === 'checkpoint') return this.rest(end, states);
		if (end.is === 'cancelled') throw this.cancelledError(states);
		if (end.is === 'failed') throw this.errorOf(end, states);
		return [await this.outputs(states)];
	}

	/** Where an item stands when the run begins. */
	private async stateOf(index: number): Promise<ItemState> {
		const item = this.memory.goesOn ? this.memory.item(index) : undefined;
		if (!item || item.is === 'inDoubt') return { is: 'notBegun' };
		if (item.is !== 'started') return item;
		const { signal } = new AbortController();
		const step = await this.step(index, signal, (work) => this.waits().resume(index, item, work));
		if (step.is === 'failed') this.noteEnd(index, step);
		return step.is === 'stopped' ? { is: 'notBegun' } : step;
	}

	/** What need not be remembered is not: n8n would store it. */
	private noteEnd(index: number, step: Ended): void {
		if (this.operation.startsRuns || this.operation.waits) this.memory.noteEnd(index, step);
	}

	private waits(): Waits {
		const { waits } = this.operation;
		if (waits) return waits;
		throw new NodeOperationError(this.context.getNode(), 'This operation does not wait for runs');
	}

	private async step(
		index: number,
		signal: AbortSignal,
		act: (work: ItemWork) => Step | Promise<Step>,
	): Promise<Step> {
		const { service, memory, parking, concurrency } = this;
		if (!service.ok) return this.failed(service.failure, index);
		if (!concurrency.ok) return this.failed(concurrency.failure, index);
		try {
			return await act({ service: service.value, memory, parking, signal });
		} catch (thrown) {
			return this.failed(failureOfThrown(thrown), index);
		}
	}

	/** A failure that is not the run's own names it, so that it is not lost. */
	private failed(failure: Failure, index: number): Step {
		const run = this.memory.runOf(index);
		if (!run) return { is: 'failed', failure };
		const details = { ...failure.details, agent_id: run.agentId, run_id: run.runId };
		return {
			is: 'failed',
			failure: { ...failure, message: `${failure.message} (run ${run.runId})`, details },
		};
	}

	/** Asks the engine for a rest, after which it runs the node again. */
	private rest(end: LoopEnd & { is: 'parked' | 'checkpoint' }, states: ItemState[]): NodeOutput {
		const now = clock.now();
		const date = clock.date();
		for (const [index, state] of states.entries()) {
			if (state.is === 'waiting') this.memory.noteWait(index, state.wait, date - now);
		}
		const until = end.is === 'parked' ? date + Math.ceil(end.until - now) : undefined;
		this.memory.rest({
			source: this.source,
			...(until !== undefined && { until }),
		});
		const runs = states.filter(({ is }) => is === 'waiting').length;
		return requestRest(this.context, { until: until ?? null, runs, source: this.source });
	}

	private async outputs(states: ItemState[]): Promise<INodeExecutionData[]> {
		const { context, memory } = this;
		const outputs: INodeExecutionData[] = [];
		for (const [index, state] of states.entries()) {
			if (state.is === 'done') {
				outputs.push(...state.outputs.map((json) => toItem(json, index)));
			} else if (state.is === 'failed') {
				outputs.push(await toErrorItem(context, state.failure, index));
			} else {
				throw new NodeOperationError(context.getNode(), `Item ${index} has no result`, {
					description: `This is a defect of the package: it is '${state.is}'.`,
				});
			}
		}
		this.parking.giveHints(context);
		// With Retry On Fail, n8n takes an output that begins with `error` for a failed attempt.
		const mayBeRetried =
			context.getNode().retryOnFail === true && 'error' in (outputs[0]?.json ?? {});
		if (!mayBeRetried) memory.clear();
		return outputs;
	}

	private errorOf({ index, failure }: LoopEnd & { is: 'failed' }, states: ItemState[]): Error {
		const others = this.memory.runs().filter(({ itemIndex }) => itemIndex !== index);
		// A run that may exist is not among the runs that are known.
		const inDoubt = states.flatMap((state, other) =>
			state.is === 'failed' && other !== index && this.memory.isInDoubt(other)
				? [`Item ${other}: ${state.failure.message}.`]
				: [],
		);
		const description = sentences(failure.description, ...inDoubt);
		return toNodeError(this.context, { ...failure, description }, index, others);
	}

	private cancelledError(states: ItemState[]): Error {
		const failures = states.flatMap((state) => (state.is === 'failed' ? [state.failure] : []));
		return cancelledError(this.context, this.memory.runs(), failures);
	}
}
