import { parse, stringify } from 'flatted';
import type { IRunExecutionData } from 'n8n-workflow';

import { NODE, workflowOf } from './engine.cts';
import { itemNumberOf, tagOf, turnOf, type Attempt, type Save } from './history.cts';
import type { Surroundings } from './process.cts';
import type { RetrySpec, World } from './world.cts';

/** What n8n's database has of an execution. */
export interface Row {
	attempt: Attempt;
	/** As n8n stores it. */
	data: string;
	waitTill?: number;
	/** Whether n8n has deleted it, though the execution may go on in memory. */
	isGone?: boolean;
	retriesLeft: RetrySpec[];
	cancel?: () => void;
}

/** What the node keeps of an item, as far as it tells whether the item has begun. */
interface KeptItem {
	is: string;
	run?: object;
	earlier?: object;
}

/** The database of a world's n8n, which outlives its processes. */
export class Database {
	readonly rows: Row[] = [];

	constructor(
		private readonly world: World,
		private readonly host: Surroundings,
	) {}

	/** Notes an execution that is to begin. */
	newAttempt(index: number, retryOf?: Attempt): Attempt {
		const { history, clock } = this.host;
		const attempt: Attempt = {
			index,
			id: String(history.attempts.length + 1),
			...(retryOf && { retryOf }),
			lineages: new Map(this.tagsOf(index).map((tag) => [tag, {}])),
			isRewritten: retryOf?.isRewritten ?? false,
			...(retryOf?.edit && { edit: retryOf.edit }),
			saved: retryOf?.saved ?? '',
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

	add(attempt: Attempt, data: IRunExecutionData, retriesLeft: RetrySpec[]): Row {
		const row: Row = { attempt, data: '', retriesLeft };
		this.rows.push(row);
		this.store(row, 'begin', data);
		return row;
	}

	store(row: Row, why: Save['why'], data: IRunExecutionData): void {
		row.data = stringify(data);
		row.attempt.saves.push({ at: this.host.clock.now, why, memory: memoryOf(data) });
	}

	read({ data }: Row): IRunExecutionData {
		return parse(data) as IRunExecutionData;
	}

	/** Of an execution that is stopped, n8n keeps what it had stored, and notes when that was. */
	storeStopped(row: Row): void {
		const data = this.read(row);
		const message = 'The execution was cancelled manually';
		data.resultData.error = { message, stack: '', timestamp: this.host.clock.date } as never;
		row.data = stringify(data);
	}

	/** What is stored of an execution. */
	storedOf(id: string): IRunExecutionData | undefined {
		const row = this.rows.find(({ attempt }) => attempt.id === id);
		return row && !row.isGone ? this.read(row) : undefined;
	}

	/**
	 * Adds n8n's Retry of an execution, as its executions service makes it.
	 *
	 * @returns undefined where n8n refuses
	 */
	addRetry(
		row: Row,
		{ workflow, changesNode, edit }: RetrySpec,
		retriesLeft: RetrySpec[],
	): Row | undefined {
		const { attempt: before } = row;
		const data = this.read(row);
		const { lastNodeExecuted, runData } = data.resultData;
		if (lastNodeExecuted) {
			delete data.resultData.error;
			const tasks = runData[lastNodeExecuted] ?? [];
			if (tasks.at(-1)?.error !== undefined) tasks.pop();
		}
		const stack = data.executionData!.nodeExecutionStack;
		if (stack.length === 0) return undefined;
		if (workflow === 'saved') {
			const { maxTries } = edit ?? {};
			const spec = this.world.executions[before.index]!;
			const saved = workflowOf(maxTries === undefined ? spec : { ...spec, maxTries });
			// n8n refuses an execution with a node that the saved workflow does not have.
			if (stack.some(({ node }) => !saved.getNode(node.name))) return undefined;
			for (const entry of stack) entry.node = saved.getNode(entry.node.name)!;
		}
		const attempt = this.newAttempt(before.index, before);
		if (workflow === 'saved') {
			if (changesNode) attempt.isRewritten = !attempt.isRewritten;
			if (edit) attempt.edit = edit;
			else delete attempt.edit;
			attempt.saved = attempt.id;
		}
		for (const [tag, lineage] of before.lineages) {
			if (isKept(data, before, tag)) attempt.lineages.set(tag, lineage);
		}
		return this.add(attempt, data, retriesLeft);
	}

	private tagsOf(index: number): string[] {
		const { turns, items } = this.world.executions[index]!;
		return Array.from({ length: turns }, (_, turn) =>
			items.map((_item, at) => tagOf(index, turn, at)),
		).flat();
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
	const isBare = item && ['failed', 'notBegun'].includes(item.is) && !item.run && !item.earlier;
	const hasBegun = item && !isBare;
	const isAnew = before.saves.at(-1)?.why === 'begin';
	if (known && (hasBegun || !isAnew)) return true;
	return resultData.runData[NODE]?.[turn]?.data !== undefined;
}

function memoryOf({ executionData }: IRunExecutionData): string {
	const contexts = executionData?.contextData;
	return JSON.stringify(contexts?.[`node:${NODE}`] ?? {});
}
