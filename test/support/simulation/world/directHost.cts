import type { IExecuteData } from 'n8n-workflow';

import { atFirst, nodeOf, workflowOf, endOf } from './engine.cts';
import { tagOf, type Attempt } from './history.cts';
import { contextFor } from './nodeContext.cts';
import type { Process } from './process.cts';
import { modeOf } from './starters.cts';
import type { ExecutionSpec } from './world.cts';

/** How long after one another the calls of a batch begin. */
const CALLS_APART_MS = 100;

/**
 * A host that calls the node by itself: no engine takes its requests. An agent calls its tool once for each of
 * the model's wishes, nearly at the same time.
 */
export async function callDirectly(
	process: Process,
	attempt: Attempt,
	spec: ExecutionSpec,
	runIds: (turn: number) => string[],
): Promise<void> {
	const { clock, history } = process.host;
	clock.owner = process;
	const isTool = spec.host === 'tool';
	const node = { ...nodeOf(spec), ...(isTool && { type: 'agentInvocationTool' }) };
	const endsOn = endOf(spec, process);
	const data = isTool ? atFirst(workflowOf(spec), clock.date) : undefined;
	const call = async (turn: number) => {
		await new Promise<void>((resolve) => clock.after(turn * CALLS_APART_MS, resolve, process));
		attempt.calls.push({ at: clock.now, turn });
		const items = spec.items.map((_, item) => ({
			json: { tag: tagOf(attempt.index, turn, item) },
		}));
		const entry = {
			node: isTool ? { ...node, name: 'Agent' } : node,
			data: { main: [items] },
			source: { main: [{ previousNode: 'Trigger' }] },
		} as IExecuteData;
		const given = { process, attempt, spec, turn, mode: modeOf(spec), node, entry, items, data };
		const none = { runIndex: 0, cancel: undefined };
		const context = contextFor({ ...given, ...none, endsOn, runIds: runIds(turn) });
		try {
			const output = await process.code.execute.call(context);
			if ('actions' in output) history.faults.push('an engine was asked that is not there');
			else attempt.endings.set(turn, { at: clock.now, outputs: output });
		} catch (thrown) {
			attempt.endings.set(turn, { at: clock.now, error: thrown as Error });
		}
	};
	await Promise.all(
		Array.from({ length: isTool ? spec.turns : 1 }, async (_, turn) => await call(turn)),
	);
	if (!process.isAlive()) return await new Promise<never>(() => {});
	const hasFailed = [...attempt.endings.values()].some(({ error }) => error);
	attempt.endedAt = clock.now;
	attempt.status = hasFailed ? 'error' : 'success';
}
