import { table } from '../hosts/report.cts';
import { costOfWaiting, sizeWhileWaiting } from './costOfWaiting.cts';
import { costPerItem } from './costPerItem.cts';
import { inEngine, loads } from './inEngine.cts';
import { startUp } from './startUp.cts';

// The sections of the results that take real time, as Markdown.

/** The node in n8n's engine. */
export async function engine(): Promise<string> {
	const rows: Array<Array<string | number>> = [];
	for (const load of loads) {
		const first = await inEngine(load);
		const second = await inEngine(load);
		const requests = Math.max(first.requests, second.requests);
		const refused = Math.max(first.refused, second.refused);
		rows.push([load.what, first.seconds.toFixed(1), second.seconds.toFixed(1), requests, refused]);
	}
	return `Not simulated: the node in n8n-core's engine, over HTTP, against the sandbox in the same process. Each load is executed twice; the second time, the agent's runs are known.

${table(['Load', 'First (s)', 'Second (s)', 'Requests', 'Refused'], rows)}`;
}

/** What creating a run costs n8n. */
export async function perItem(quick: boolean): Promise<string> {
	const costs = await costPerItem(quick ? [100] : [100, 1_000, 10_000]);
	const rows = costs.map(({ node, items, seconds, peakMb }) => [
		node,
		items,
		seconds.toFixed(1),
		Math.round(items / seconds),
		Math.round(peakMb),
	]);
	return `Creates in a real n8n 2, started again for each, against the sandbox on the same machine. This node has Max Concurrency 50. n8n's HTTP Request has a batch size of 50, and sends on without waiting for answers.

${table(['Node', 'Items', 'Time (s)', 'Items a second', 'Peak memory of n8n (MB)'], rows)}`;
}

/** What waiting costs n8n. */
export async function waiting(quick: boolean): Promise<string> {
	const costs = quick ? await costOfWaiting([20], 3, 3) : await costOfWaiting([200, 500], 30, 60);
	const sizes = await sizeWhileWaiting(1_000);
	const memory = costs.map(({ waiting: where, executions, beforeMb, memoryMb, cpuS }) => [
		where,
		executions,
		Math.round(beforeMb),
		Math.round(memoryMb),
		((memoryMb - beforeMb) / executions).toFixed(2),
		cpuS.toFixed(1),
	]);
	const stored = sizes.map(({ waiting: where, items, dataBytes, memoryBytes }) => [
		where,
		items,
		Math.round(dataBytes / 1_000),
		Math.round(memoryBytes / 1_000),
	]);
	const heads = ['Waiting', 'Executions', 'Before (MB)', 'Memory (MB)', 'Each (MB)'];
	return `A real n8n 2 for each row, with executions of one waiting run each, none of which is polled while it is parked. Memory is VmRSS, before the first of them and while all wait; 'each' is what one of them adds. The CPU time is that of a minute in which all wait.

${table([...heads, 'CPU in a minute (s)'], memory)}

What n8n's database holds of one execution in which all items wait: the whole execution, with the webhook's rows and the items made of them, and in it what the node remembers, as JSON.

${table(['Waiting', 'Items', 'Execution (kB)', "Of it the node's memory (kB)"], stored)}`;
}

/** How long the package takes to load. */
export function loading(): string {
	const rows = startUp().map(({ name, packedKb, loadMs }) => {
		const sorted = [...loadMs].sort((a, b) => a - b);
		const at = (index: number) => sorted.at(index)!.toFixed(1);
		return [name, packedKb.toFixed(1), at(sorted.length >> 1), at(0), at(-1)];
	});
	return `Loading all nodes and credentials of a package into a fresh Node.js, after n8n-workflow: the median of 11 times, with the least and the most.

${table(['Package', 'Packed (kB)', 'Load (ms)', 'Least', 'Most'], rows)}`;
}
