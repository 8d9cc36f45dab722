import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { memoryMb } from '../hosts/processes.cts';
import { TestHost } from '../test/support/host.cts';
import {
	agentNode,
	createForRow,
	n8nNode,
	rowsWorkflow,
	type NodeFile,
} from '../test/support/workflows.cts';

/** When what is parked resumes, in s: after every measurement. */
const RESUMES_AFTER_S = 3_600;

const inMemory = agentNode('Run', { ...createForRow, options: { whereToWait: 'memory' } });

const parked = agentNode('Run', {
	...createForRow,
	options: { maxConcurrency: 1_000, pollInterval: RESUMES_AFTER_S, timeout: 0 },
});

const waitNode = n8nNode('Run', 'wait', 1.1, {
	parameters: { resume: 'timeInterval', amount: RESUMES_AFTER_S, unit: 'seconds' },
});

/** A row whose run outlasts every measurement. */
const longRow = { agent: 3, values: { seconds: 86_400 } };

/** How executions wait, the node that they wait in, and how many at most. */
const waitingNodes: Array<{ waiting: string; node: NodeFile; status: string; most?: number }> = [
	// More of them would take many gigabytes.
	{ waiting: 'This node, in memory', node: inMemory, status: 'running', most: 200 },
	{ waiting: 'This node, parked', node: parked, status: 'waiting' },
	{ waiting: "n8n's Wait node", node: waitNode, status: 'waiting' },
];

export interface WaitingCost {
	waiting: string;
	executions: number;
	/** Resident memory before the first execution, and while all wait. */
	beforeMb: number;
	memoryMb: number;
	/** CPU time in a minute in which all wait, in s. */
	cpuS: number;
}

/**
 * What executions with one waiting run each cost a real n8n; each measurement has one of its own.
 *
 * @param settleS how long n8n is left alone before it is measured, in s
 * @param windowS over how long the CPU is measured, in s
 */
export async function costOfWaiting(
	counts: number[],
	settleS: number,
	windowS: number,
): Promise<WaitingCost[]> {
	const costs: WaitingCost[] = [];
	for (const executions of counts) {
		for (const { waiting, node, status, most = Infinity } of waitingNodes) {
			if (executions > most) continue;
			const host = await TestHost.start('n8n-2', [rowsWorkflow('wait', node)]);
			try {
				await sleep(settleS * 1_000);
				const beforeMb = memoryMb(host.n8n.pid, 'VmRSS');
				for (let index = 0; index < executions; index++) {
					await host.n8n.callWebhook('wait', { rows: [longRow] });
				}
				await sleep(settleS * 1_000);
				const there = await countExecutions(host, status);
				if (there !== executions) throw new Error(`${there} of ${executions} are ${status}`);
				const cpuBefore = cpuSeconds(host);
				await sleep(windowS * 1_000);
				const cpuS = ((cpuSeconds(host) - cpuBefore) / windowS) * 60;
				costs.push({
					waiting,
					executions,
					beforeMb,
					memoryMb: memoryMb(host.n8n.pid, 'VmRSS'),
					cpuS,
				});
			} finally {
				await host.n8n.kill('SIGKILL');
				await host.stop();
			}
		}
	}
	return costs;
}

async function countExecutions({ n8n }: TestHost, status: string): Promise<number> {
	const filter = encodeURIComponent(JSON.stringify({ status: [status] }));
	const { data } = await n8n.rest<{ data: { count: number } }>(
		'GET',
		`/executions?filter=${filter}&limit=1`,
	);
	return data.count;
}

function cpuSeconds({ n8n }: TestHost): number {
	const fields = readFileSync(`/proc/${n8n.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
	// utime and stime, in ticks of 10 ms.
	return (Number(fields[11]) + Number(fields[12])) / 100;
}

export interface StoredSize {
	waiting: string;
	items: number;
	/** The JSON of what the node remembers. */
	memoryBytes: number;
	/** All that n8n stores of the execution, in its database's column `data`. */
	dataBytes: number;
}

/** How large an execution is in n8n's database while many items wait in it. */
export async function sizeWhileWaiting(items: number): Promise<StoredSize[]> {
	const nodes = waitingNodes.filter(({ status }) => status === 'waiting');
	const workflows = nodes.map(({ node }, index) => rowsWorkflow(`wait${index}`, node));
	const host = await TestHost.start('n8n-2', workflows);
	try {
		const sizes: StoredSize[] = [];
		for (const [index, { waiting }] of nodes.entries()) {
			const id = await host.begin(`wait${index}`, new Array<object>(items).fill(longRow));
			await host.untilParked(id);
			const { executionData } = (await host.n8n.execution(id)).data;
			const remembered = executionData?.contextData['node:Run'];
			// n8n gives the column as it is.
			const path = `/executions/${id}`;
			const { data } = await host.n8n.rest<{ data: { data: string } }>('GET', path);
			sizes.push({
				waiting,
				items,
				memoryBytes: remembered ? Buffer.byteLength(JSON.stringify(remembered)) : 0,
				dataBytes: Buffer.byteLength(data.data),
			});
		}
		return sizes;
	} finally {
		await host.stop();
	}
}
