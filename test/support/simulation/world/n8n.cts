import type { INodeExecutionData, IRun } from 'n8n-workflow';

import { Database, type Row } from './database.cts';
import { callDirectly } from './directHost.cts';
import { atFirst, NODE, runEngine, workflowOf } from './engine.cts';
import { specOf, type Attempt } from './history.cts';
import type { LoadedPackage } from './nodeCode.cts';
import { Process, type Surroundings } from './process.cts';
import { modeOf } from './starters.cts';
import type { RetrySpec, World } from './world.cts';

/** How long after its start n8n's recovery has seen what is running, in ms. */
const RECOVERS_AFTER_MS = 5_000;

/** The n8n of a world: its processes, one after the other, and its database. */
export class N8n {
	/** The present one, from {@link start} on. */
	private process!: Process;

	readonly database: Database;

	private pending = 0;

	private isAway = false;

	constructor(
		private readonly world: World,
		private readonly host: Surroundings,
		private readonly load: () => LoadedPackage,
	) {
		this.database = new Database(world, host);
	}

	/** Whether nothing is to happen any more. */
	get isIdle(): boolean {
		return this.pending === 0;
	}

	/** Begins with a process. It loads the node, which reads the clock, so it belongs under the clock's rule. */
	start(): void {
		this.process = new Process(this.host, this.load());
		for (const [index, spec] of this.world.executions.entries()) {
			if (spec.startsAtMs < Infinity) this.later(spec.startsAtMs, () => this.begin(index));
			if (spec.cancelAtMs !== undefined) {
				this.later(spec.cancelAtMs, () => this.stop(index));
			}
		}
		for (const { atMs, awayMs, afterRequest } of this.world.kills) {
			const kill = () => this.killLater(atMs, awayMs);
			if (afterRequest === undefined) kill();
			else this.host.network.onRequest(afterRequest, kill);
		}
	}

	/** Kills the process after so long. */
	killLater(ms: number, awayMs: number): void {
		this.later(ms, () => this.kill(awayMs));
	}

	/** Does something later, whatever becomes of the process. */
	private later(ms: number, run: () => void): void {
		this.pending++;
		this.host.clock.after(ms, () => {
			this.pending--;
			run();
		});
	}

	/** Makes n8n's Retry of the latest attempt of an execution that has ended. */
	retry(index: number, retry: RetrySpec): void {
		const row = this.latestOf(index);
		if (!row) throw new Error(`Execution ${index} has not begun`);
		row.retriesLeft = [retry];
		this.retryLater(row);
	}

	/** The latest attempt of an execution, as it is stored. */
	private latestOf(index: number) {
		return this.database.rows.filter(({ attempt }) => attempt.index === index).at(-1);
	}

	/** Begins an execution, or does so as soon as n8n is there. */
	begin(index: number): void {
		if (this.isAway) return this.later(1_000, () => this.begin(index));
		const spec = this.world.executions[index]!;
		const attempt = this.database.newAttempt(index);
		if (spec.host === 'tool' || spec.host === 'bare') {
			this.pending++;
			const runIds = (turn: number) => this.host.service.runIdsOf(attempt, turn);
			void callDirectly(this.process, attempt, spec, runIds).then(() => this.pending--);
			return;
		}
		const data = atFirst(workflowOf(spec), this.host.clock.date);
		this.run(this.database.add(attempt, data, [...spec.retries]));
	}

	/** Runs an execution from what is stored of it. */
	private run(row: Row): void {
		const { attempt } = row;
		const { process } = this;
		const { clock } = this.host;
		const spec = specOf(this.world, attempt);
		const workflow = workflowOf(spec);
		const data = this.database.read(row);
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
				runIds: (turn) => this.host.service.runIdsOf(attempt, turn),
				onProgress: (current) => {
					if (process.isAlive() && attempt.status === 'running')
						this.database.store(row, 'progress', current);
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
						attempt.timedOutAt ??= clock.now;
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
			if (row.isGone)
				this.host.history.faults.push(`Execution ${attempt.id} was parked, but is not stored`);
			attempt.status = 'waiting';
			row.waitTill = waitTill.getTime() - (clock.date - clock.now);
			attempt.parks.push({ at: clock.now, until: row.waitTill });
			this.database.store(row, 'park', data);
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
			if (!isCancelled) this.database.store(row, 'end', data);
			else this.database.storeStopped(row);
		}
		if (attempt.status !== 'success' && !row.isGone) this.retryLater(row);
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
			const next = this.database.addRetry(row, retry, left);
			if (!next) return;
			const { killedAfterMs } = retry;
			if (killedAfterMs !== undefined) this.killLater(killedAfterMs, 1_000);
			this.run(next);
		});
	}

	/** Stops an execution as a user does. */
	stop(index: number): void {
		const row = this.latestOf(index);
		if (!row) return;
		const { attempt } = row;
		if (attempt.status === 'running' && row.cancel) {
			attempt.cancelledAt ??= this.host.clock.now;
			row.cancel();
		} else if (attempt.status === 'waiting') {
			attempt.status = 'canceled';
			attempt.endedAt = this.host.clock.now;
			this.database.storeStopped(row);
			this.retryLater(row);
		}
	}

	private kill(awayMs: number): void {
		if (this.isAway) return;
		const { clock, history } = this.host;
		this.process.kill();
		this.isAway = true;
		history.kills.push({ at: clock.now, backAt: clock.now + awayMs });
		const lost = this.database.rows.filter(({ attempt }) => attempt.status === 'running');
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
			for (const row of this.database.rows) {
				const { waitTill, attempt } = row;
				if (attempt.status === 'waiting' && waitTill !== undefined && waitTill <= clock.now) {
					this.resume(row, waitTill);
				}
			}
			for (const row of lost) this.retryLater(row);
			this.later(RECOVERS_AFTER_MS, () => this.recover());
		});
	}

	/** n8n's recovery takes for crashed what was resumed as n8n started. */
	private recover(): void {
		const { backAt = Infinity } = this.host.history.kills.at(-1) ?? {};
		for (const row of this.database.rows) {
			const { attempt } = row;
			const { resumedAt = -Infinity } = attempt.parks.at(-1) ?? {};
			const isMet = attempt.status === 'running' && resumedAt >= backAt;
			if (isMet && specOf(this.world, attempt).forgetsFailed) row.isGone = true;
		}
	}
}
