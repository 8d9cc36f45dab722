import type { INodeExecutionData } from 'n8n-workflow';

import { specOf, tagOf, type Attempt } from '../history.cts';
import { lastingOf } from '../agentList.cts';
import { outputOf } from '../service.cts';
import { pairOf, textOf, type Facts } from './facts.cts';

/** Every item is output exactly once, in its order, paired, with its own run's result. */
export function eachItemOnce(facts: Facts): string[] {
	return facts.history.attempts.flatMap((attempt) => {
		const spec = facts.spec(attempt);
		if (attempt.status !== 'success' || spec.operation === 'list') return [];
		const turns = new Map(
			attempt.runData?.map((task, turn) => [turn, task.outputs ?? []]) ??
				[...attempt.endings].map(([turn, ending]) => [turn, ending.outputs ?? []]),
		);
		return [...turns].flatMap(([turn, outputs]) => {
			const where = `execution ${attempt.id}, turn ${turn}`;
			const pairs = outputs.map((output) => (output ?? []).map(pairOf));
			const all = pairs.flat();
			const isOrdered = pairs.every((output) =>
				output.every((item, at) => at === 0 || Number(output[at - 1]) <= Number(item)),
			);
			const seen = new Set(all);
			if (all.length !== spec.items.length || seen.size !== all.length) {
				return [`${where}: ${spec.items.length} items, outputs paired with ${all.join(', ')}`];
			}
			if (!isOrdered) return [`${where}: not in order: ${all.join(', ')}`];
			return outputs
				.flatMap((output) => output ?? [])
				.flatMap((output) =>
					wrongOf(facts, attempt, turn, output).map((what) => `${where}: ${what}`),
				);
		});
	});
}

/** Agents that are published all the time are in the list once, however it changes while it is read. */
export function listsAreWhole({ history }: Facts): string[] {
	const { agents, others } = history.world.service;
	return history.attempts.flatMap((attempt) => {
		const { operation, items, key } = specOf(history.world, attempt);
		if (attempt.status !== 'success' || operation !== 'list') return [];
		return [...attempt.endings.values()].flatMap(({ outputs = [] }) =>
			items.flatMap(({ ownKey }, item) => {
				const own = outputs.flat().filter((output) => pairOf(output) === item);
				if (own.some(({ json }) => json.error !== undefined)) return [];
				const ids = own.map(({ json }) => json.id).filter((id) => typeof id === 'number');
				const lasting = [
					...agents.map((_, index) => 1 + index + 1_000 * (ownKey ? key + 1 : key)),
					...(others ? lastingOf(others) : []),
				];
				const missing = lasting.filter((id) => !ids.includes(id));
				const where = `execution ${attempt.id}, item ${item}`;
				return [
					...(missing.length > 0 ? [`${where}: agents ${missing.join(', ')} are missing`] : []),
					...(new Set(ids).size < ids.length ? [`${where}: an agent is there twice`] : []),
				];
			}),
		);
	});
}

/** What is wrong with the output of an item. */
function wrongOf(
	facts: Facts,
	latest: Attempt,
	turn: number,
	output: INodeExecutionData,
): string[] {
	// The turn of a loop may have ended in an execution of which this one is a Retry.
	const attempt =
		facts
			.chain(latest)
			.filter(({ endings }) => endings.has(turn))
			.at(-1) ?? latest;
	const spec = facts.spec(attempt);
	const item = pairOf(output) ?? 0;
	const tag = tagOf(attempt.index, turn, item);
	const isWaited = facts.isWaiting(spec, tag);
	const { run_id: id, status, output: said, agent_id: agentId, error } = output.json;
	if (spec.operation === 'dryRun') {
		const isOwn = [undefined, `of ${tag}`].includes(output.json.prompt as string | undefined);
		return isOwn ? [] : [`item ${item} has another one's prompt: ${JSON.stringify(output.json)}`];
	}
	if (typeof id !== 'string')
		return error === undefined ? [`item ${item} has neither run nor error`] : [];
	const run = facts.runById.get(id);
	if (run?.tag !== tag) return [`item ${item} has run ${id}, which is ${run?.tag ?? "nobody's"}`];
	const { request } = run;
	const isStarted = spec.operation === 'create';
	// At another address, results of before a crash stay as they are.
	const isOther = isStarted && request?.execution.edit?.values !== attempt.edit?.values;
	if ((request !== undefined) !== isStarted || isOther) {
		return [`item ${item} has run ${id}, which is of another node`];
	}
	if (agentId !== run.agentId) return [`item ${item} names agent ${textOf(agentId)}`];
	if (status === 'succeeded') {
		const expected = outputOf(run);
		const isJson = typeof said !== 'string';
		// Without waiting, the node has no such option, and a result of before stays as it is.
		const isOfNow = isJson === (spec.options.outputFormat === 'json');
		if (isWaited && !isOfNow) return [`item ${item} has another format`];
		const got = isJson ? JSON.stringify(said) : said;
		if (got !== expected) return [`item ${item} says ${JSON.stringify(said)}`];
		// n8n would take it for a failed attempt.
		if (error !== undefined) return [`item ${item} has an error, and its run has succeeded`];
	}
	const isOver = ['succeeded', 'failed', 'cancelled', 'archived'].includes(textOf(status));
	if (isOver && run.endsAt > latest.endedAt!) return [`item ${item} has ended before its run`];
	const mayBeUnfinished = !isWaited || spec.options.onTimeout === 'output';
	return isOver || mayBeUnfinished ? [] : [`item ${item} is output as '${textOf(status)}'`];
}

/** One entry of run data for each turn, with all of its items and where they came from. */
export function runDataIsWhole(facts: Facts): string[] {
	return facts.history.attempts.flatMap((attempt) => {
		const spec = facts.spec(attempt);
		const { runData } = attempt;
		if (!runData || (attempt.status !== 'success' && attempt.status !== 'error')) return [];
		const where = `execution ${attempt.id}`;
		const wrong: string[] = [];
		if (attempt.status === 'success' && runData.length !== spec.turns) {
			wrong.push(`${where}: ${runData.length} entries of ${spec.turns} turns`);
		}
		for (const [turn, task] of runData.entries()) {
			const [source] = task.source as Array<{ previousNode?: string; previousNodeRun?: number }>;
			const name = `${where}, entry ${turn}`;
			if (task.keys.includes('inputOverride')) wrong.push(`${name} has the input of an action`);
			if (!task.outputs && task.error === undefined) wrong.push(`${name} is empty`);
			if (source?.previousNode !== 'Loop' || (source.previousNodeRun ?? 0) !== turn) {
				wrong.push(`${name} comes from ${JSON.stringify(task.source)}`);
			}
		}
		return wrong;
	});
}
