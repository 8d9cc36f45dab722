import { parse, stringify } from 'flatted';
import type { INodeExecutionData, IRun, IRunExecutionData } from 'n8n-workflow';

import { callDirectly } from './directHost.cts';
import { atFirst, NODE, runEngine, workflowOf } from './engine.cts';
import type { Attempt, Save } from './history.cts';
import { itemNumberOf, tagOf, turnOf } from './history.cts';
import type { LoadedPackage } from './nodeCode.cts';
import { Process, type Surroundings } from './process.cts';
import { modeOf } from './starters.cts';
import type { ExecutionSpec, RetrySpec, World } from './world.cts';

/** What n8n's database has of an execution. */
interface Row {
	attempt: Attempt;
	/** As n8n stores it. */
	data: string;
	waitTill?: number;
	retriesLeft: RetrySpec[];
	cancel?: () => void;
}

/** What the node keeps of an item, as far as it tells whether the item has begun. */
interface KeptItem {
	is: string;
	run?: object;
	retriesFrom?: object;
}

/** The n8n of a world: its processes, one after the other, and its database. */
export class N8n {
	private process: Process;

	private readonly rows: Row[] = [];

	private pending = 0;

	private isAway = false;

	constructor(
		private readonly world: World,
		private readonly host: Surroundings,
		private readonly load: () => LoadedPackage,
	) {
		this.process = new Process(host, load());
	}

	/** Whether nothing is to happen any more. */
	get isIdle(): boolean {
		return this.pending === 0;
	}

	start(): void {
		for (const [index, spec] of this.world.executions.entries()) {
			this.later(spec.startsAtMs, () => this.begin(index, spec));
			if (spec.cancelAtMs !== undefined) {
				this.later(spec.cancelAtMs, () => this.stop(index));
			}
		}
		for (const { atMs, awayMs, afterRequest } of this.world.kills) {
			const kill = () => this.later(atMs, () => this.kill(awayMs));
			if (afterRequest === undefined) kill();
			else this.host.service.onRequest(afterRequest, kill);
		}
	}

	/** Does something later, whatever becomes of the process. */
	private later(ms: number, run: () => void): void {
		this.pending++;
		this.host.clock.after(ms, () => {
			this.pending--;
			run();
		});
	}

	private begin(index: number, spec: ExecutionSpec): void {
		if (this.isAway) return this.later(1_000, () => this.begin(index, spec));
		const attempt = this.newAttempt(index);
		if (spec.host === 'tool' || spec.host === 'bare') {
			this.pending++;
			const runIds = (turn: number) => this.runIdsOf(index, spec, turn);
			void callDirectly(this.process, attempt, spec, runIds).then(() => this.pending--);
			return;
		}
		const data = atFirst(workflowOf(spec));
		const row: Row = { attempt, data: stringify(data), retriesLeft: [...spec.retries] };
		this.rows.push(row);
		this.note(row, 'begin', data);
		this.run(row);
	}

	private newAttempt(index: number, retryOf?: Attempt): Attempt {
		const { history, clock } = this.host;
		const attempt: Attempt = {
			index,
			id: String(history.attempts.length + 1),
			...(retryOf && { retryOf }),
			lineages: new Map(this.tagsOf(index).map((tag) => [tag, {}])),
			beganAt: clock.now,
			status: 'running',
			endings: new Map(),
			saves: [],
			parks: [],
			calls: [],
			hints: [],
		};
		history.attempts.push(attempt);
		return attempt;
	}

	private tagsOf(index: number): string[] {
		const { turns, items } = this.world.executions[index]!;
		return Array.from({ length: turns }, (_, turn) =>
			items.map((_item, at) => tagOf(index, turn, at)),
		).flat();
	}

	/** Runs an execution from what is stored of it. */
	private run(row: Row): void {
		const { attempt } = row;
		const { process } = this;
		const { clock } = this.host;
		const spec = this.world.executions[attempt.index]!;
		const workflow = workflowOf(spec);
		const data = parse(row.data) as IRunExecutionData;
		if (typeof data.waitTill === 'string') data.waitTill = new Date(data.waitTill);
		attempt.status = 'running';
		delete row.waitTill;
		this.pending++;
		const { result, cancel } = runEngine(
			{
				process,
				attempt,
				spec,
				mode: attempt.retryOf ? 'retry' : modeOf(spec),
				runIds: (turn) => this.runIdsOf(attempt.index, spec, turn),
				onProgress: (current) => {
					if (process.isAlive() && attempt.status === 'running')
						this.store(row, 'progress', current);
				},
			},
			workflow,
			data,
		);
		row.cancel = cancel;
		const timeoutMs = spec.workflowTimeoutS * 1_000;
		if (timeoutMs > 0) {
			const leftMs = Math.max(attempt.beganAt + timeoutMs - clock.now, 1);
			clock.after(
				leftMs,
				() => {
					if (row.cancel === cancel) {
						attempt.cancelledAt ??= clock.now;
						cancel();
					}
				},
				process,
			);
		}
		void result.then(
			(run) => this.ended(row, process, run),
			(thrown: unknown) => {
				this.host.history.faults.push(`The engine threw: ${String(thrown)}`);
				this.ended(row, process, undefined);
			},
		);
	}

	private ended(row: Row, process: Process, run: IRun | undefined): void {
		if (!process.isAlive()) return;
		this.pending--;
		delete row.cancel;
		const { attempt } = row;
		const { clock } = this.host;
		const data = run?.data;
		const waitTill = data?.waitTill;
		if (run && data && waitTill && attempt.cancelledAt === undefined) {
			attempt.status = 'waiting';
			row.waitTill = waitTill.getTime() - (clock.date - clock.now);
			attempt.parks.push({ at: clock.now, until: row.waitTill });
			this.store(row, 'park', data);
			const spec = this.world.executions[attempt.index]!;
			const ms = Math.max(row.waitTill - clock.now, 0) + spec.resumesLateMs;
			const { waitTill: until } = row;
			this.later(ms, () => this.resume(row, until));
			return;
		}
		const isCancelled = attempt.cancelledAt !== undefined;
		attempt.status = isCancelled ? 'canceled' : data?.resultData.error ? 'error' : 'success';
		attempt.endedAt = clock.now;
		if (data) {
			attempt.runData = (data.resultData.runData[NODE] ?? []).map((task) => ({
				...(task.data?.main && { outputs: task.data.main as INodeExecutionData[][] }),
				...(task.error && { error: task.error.message }),
				source: structuredClone(task.source),
				keys: Object.keys(task).sort(),
			}));
			if (data.resultData.error) attempt.error = data.resultData.error as Attempt['error'];
			// Of an execution that was stopped, n8n keeps what it had stored before.
			if (!isCancelled) this.store(row, 'end', data);
			else this.storeStopped(row);
		}
		if (attempt.status !== 'success') this.retryLater(row);
	}

	private storeStopped(row: Row): void {
		const data = parse(row.data) as IRunExecutionData;
		const message = 'The execution was cancelled manually';
		data.resultData.error = { message, stack: '', timestamp: this.host.clock.date } as never;
		row.data = stringify(data);
	}

	private resume(row: Row, until: number): void {
		const { attempt } = row;
		if (attempt.status !== 'waiting' || row.waitTill !== until) return;
		// n8n resumes what is overdue when it starts again.
		if (this.isAway) return;
		const park = attempt.parks.at(-1);
		if (park) park.resumedAt = this.host.clock.now;
		this.run(row);
	}

	private retryLater(row: Row): void {
		const [retry, ...left] = row.retriesLeft;
		if (!retry) return;
		this.later(retry.afterMs, () => {
			if (this.isAway) return this.retryLater(row);
			this.retry(row, retry, left);
		});
	}

	/** n8n's Retry, as its executions service does it. */
	private retry(row: Row, { workflow }: RetrySpec, retriesLeft: RetrySpec[]): void {
		const { attempt: before } = row;
		const spec = this.world.executions[before.index]!;
		const data = parse(row.data) as IRunExecutionData;
		const { lastNodeExecuted, runData } = data.resultData;
		if (lastNodeExecuted) {
			delete data.resultData.error;
			const tasks = runData[lastNodeExecuted] ?? [];
			if (tasks.at(-1)?.error !== undefined) tasks.pop();
		}
		const stack = data.executionData!.nodeExecutionStack;
		if (stack.length === 0) return;
		if (workflow === 'saved') {
			const saved = workflowOf(spec);
			// n8n refuses an execution with a node that the saved workflow does not have.
			if (stack.some(({ node }) => !saved.getNode(node.name))) return;
			for (const entry of stack) entry.node = saved.getNode(entry.node.name)!;
		}
		const attempt = this.newAttempt(before.index, before);
		for (const [tag, lineage] of before.lineages) {
			if (isKept(data, before, tag)) attempt.lineages.set(tag, lineage);
		}
		const next: Row = { attempt, data: stringify(data), retriesLeft };
		this.rows.push(next);
		this.note(next, 'begin', data);
		this.run(next);
	}

	/** What is stored of an execution. */
	storedOf(id: string): IRunExecutionData | undefined {
		const row = this.rows.find(({ attempt }) => attempt.id === id);
		return row && (parse(row.data) as IRunExecutionData);
	}

	private stop(index: number): void {
		const row = this.rows.filter(({ attempt }) => attempt.index === index).at(-1);
		if (!row) return;
		const { attempt } = row;
		if (attempt.status === 'running' && row.cancel) {
			attempt.cancelledAt ??= this.host.clock.now;
			row.cancel();
		} else if (attempt.status === 'waiting') {
			attempt.status = 'canceled';
			attempt.endedAt = this.host.clock.now;
			this.storeStopped(row);
			this.retryLater(row);
		}
	}

	private kill(awayMs: number): void {
		if (this.isAway) return;
		const { clock, history } = this.host;
		this.process.kill();
		this.isAway = true;
		history.kills.push({ at: clock.now, backAt: clock.now + awayMs });
		const lost = this.rows.filter(({ attempt }) => attempt.status === 'running');
		for (const row of lost) {
			this.pending--;
			delete row.cancel;
			row.attempt.status = 'crashed';
			row.attempt.endedAt = clock.now;
		}
		for (const attempt of history.attempts) {
			if (attempt.status === 'running') {
				this.pending--;
				attempt.status = 'crashed';
				attempt.endedAt = clock.now;
			}
		}
		this.later(awayMs, () => {
			this.isAway = false;
			this.process = new Process(this.host, this.load());
			for (const row of this.rows) {
				const { waitTill, attempt } = row;
				if (attempt.status === 'waiting' && waitTill !== undefined && waitTill <= clock.now) {
					this.resume(row, waitTill);
				}
			}
			for (const row of lost) this.retryLater(row);
		});
	}

	private readonly gettable = new Map<string, string[]>();

	/** Runs that there were before, for 'Get a run'. */
	private runIdsOf(index: number, spec: ExecutionSpec, turn: number): string[] {
		if (spec.operation !== 'get') return [];
		const key = `${index} ${turn}`;
		const known = this.gettable.get(key);
		if (known) return known;
		const made = spec.items.map((item, at) => {
			const ofKey = item.ownKey ? spec.key + 1 : spec.key;
			const agentId = 1 + item.agent + 1_000 * ofKey;
			return this.host.service.startRun(ofKey, agentId, tagOf(index, turn, at)).id;
		});
		this.gettable.set(key, made);
		return made;
	}

	private store(row: Row, why: Save['why'], data: IRunExecutionData): void {
		row.data = stringify(data);
		this.note(row, why, data);
	}

	private note({ attempt }: Row, why: Save['why'], data: IRunExecutionData): void {
		attempt.saves.push({ at: this.host.clock.now, why, memory: memoryOf(data) });
	}
}

/**
 * Whether n8n has stored something of what the node knows of an item, or its output. Of an execution of which
 * it has stored the beginning alone, that is what an earlier one has left.
 */
function isKept({ resultData, ...data }: IRunExecutionData, before: Attempt, tag: string): boolean {
	const memory = JSON.parse(memoryOf({ resultData, ...data })) as {
		agentInvocation?: { byRunIndex: Record<string, { items: Record<string, KeptItem> }> };
	};
	const turn = turnOf(tag);
	const known = memory.agentInvocation?.byRunIndex[turn];
	const item = known?.items[itemNumberOf(tag)];
	// Of one that has failed before it began, the next attempt knows nothing.
	const hasBegun = item && (item.is !== 'failed' || item.run || item.retriesFrom);
	const isAnew = before.saves.at(-1)?.why === 'begin';
	if (known && (hasBegun || !isAnew)) return true;
	return resultData.runData[NODE]?.[turn]?.data !== undefined;
}

function memoryOf({ executionData }: IRunExecutionData): string {
	const contexts = executionData?.contextData;
	return JSON.stringify(contexts?.[`node:${NODE}`] ?? {});
}
