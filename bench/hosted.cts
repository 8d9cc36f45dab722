import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import type { WorkflowFile } from '../hosts/n8n.cts';
import { memoryMb } from '../hosts/processes.cts';
import { KEY, TestHost } from '../test/e2e/host.cts';
import {
	agentNode,
	createForRow,
	manualWorkflow,
	n8nNode,
	rowsWorkflow,
	type NodeFile,
} from '../test/e2e/workflows.cts';

const HEADER_CREDENTIAL = 'headerAuth000001';

/** n8n's own way to create a run for each item. */
function httpRequest(baseUrl: string): NodeFile {
	return n8nNode('Run', 'httpRequest', 4.2, {
		credentials: { httpHeaderAuth: { id: HEADER_CREDENTIAL, name: HEADER_CREDENTIAL } },
		parameters: {
			method: 'POST',
			url: `${baseUrl}/agents/3/runs`,
			authentication: 'genericCredentialType',
			genericAuthType: 'httpHeaderAuth',
			sendBody: true,
			specifyBody: 'json',
			jsonBody: '{ "parameter_bindings": [] }',
			options: { batching: { batch: { batchSize: 50, batchInterval: 0 } } },
		},
	});
}

/** A workflow that makes items and gives them to a node called 'Run'. */
function manyItems(id: string, count: number, node: NodeFile): WorkflowFile {
	const jsCode = `return Array.from({ length: ${count} }, (_, n) => ({ json: { n } }))`;
	return manualWorkflow(id, jsCode, [node]);
}

export interface ItemCost {
	node: string;
	items: number;
	seconds: number;
	peakMb: number;
}

/** What creating a run for each of many items costs in a real n8n, which is started anew for each. */
export async function costPerItem(counts: number[]): Promise<ItemCost[]> {
	const costs: ItemCost[] = [];
	const ours = agentNode('Run', {
		...createForRow,
		agentId: { __rl: true, mode: 'id', value: '3' },
		parametersJson: '{}',
		waitForCompletion: false,
		options: { maxConcurrency: 50 },
	});
	const workflows = counts.map((count) => manyItems(`ours${count}`, count, ours));
	const host = await TestHost.start('n8n-2', workflows, {
		publishes: false,
		credentials: [
			{
				id: HEADER_CREDENTIAL,
				name: HEADER_CREDENTIAL,
				type: 'httpHeaderAuth',
				data: { name: 'x-api-key', value: KEY },
			},
		],
	});
	try {
		await host.n8n.kill('SIGTERM');
		const theirs = counts.map((count) =>
			manyItems(`theirs${count}`, count, httpRequest(host.sandbox.baseUrl)),
		);
		await host.n8n.importWorkflows(theirs);
		for (const items of counts) {
			for (const [node, id] of [
				['This node', `ours${items}`],
				['HTTP Request', `theirs${items}`],
			] as const) {
				await host.n8n.start();
				const runs = host.sandbox.runs.all.length;
				const execution = await host.n8n.endOf(await host.n8n.runManually(id, 'Start'), 600_000);
				const [task] = execution.data.resultData.runData.Run ?? [];
				if (execution.status !== 'success' || !task) {
					throw new Error(`${id}: ${execution.data.resultData.error?.message}`);
				}
				const started = host.sandbox.runs.all.length - runs;
				if (started !== items) throw new Error(`${id} started ${started} runs`);
				const peakMb = memoryMb(host.n8n.pid, 'VmHWM');
				costs.push({ node, items, seconds: task.executionTime / 1_000, peakMb });
				await host.n8n.kill('SIGTERM');
				host.sandbox.requests.length = 0;
			}
		}
	} finally {
		await host.stop();
	}
	return costs;
}

/** Where executions wait, the node that they wait in, and how many at most. */
const waitingNodes: Array<{ waiting: string; node: NodeFile; most?: number }> = [
	{
		waiting: 'in the node',
		node: agentNode('Run', { ...createForRow, options: { parkLongWaits: false } }),
	},
	{
		waiting: 'parked',
		node: agentNode('Run', { ...createForRow, options: { pollInterval: 600 } }),
	},
	{
		// n8n stores longer waits; more executions do not all begin before the first one's is over.
		waiting: "in n8n's Wait node",
		node: n8nNode('Run', 'wait', 1.1, {
			parameters: { resume: 'timeInterval', amount: 64, unit: 'seconds' },
		}),
		most: 200,
	},
];

export interface WaitingCost {
	waiting: string;
	executions: number;
	/** Resident memory while all wait; absent when n8n has ended. */
	memoryMb?: number;
	/** Share of one core while all wait. */
	cpu?: number;
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
		for (const { waiting, node, most = Infinity } of waitingNodes) {
			if (executions > most) continue;
			const host = await TestHost.start('n8n-2', [rowsWorkflow('wait', node)]);
			try {
				for (let index = 0; index < executions; index++) {
					const rows = [{ agent: 3, values: { seconds: 86_400 } }];
					await host.n8n.callWebhook('wait', { rows });
				}
				await sleep(settleS * 1_000);
				const cpuBefore = cpuSeconds(host);
				await sleep(windowS * 1_000);
				const cpu = (cpuSeconds(host) - cpuBefore) / windowS;
				costs.push({ waiting, executions, memoryMb: memoryMb(host.n8n.pid, 'VmRSS'), cpu });
			} catch (thrown) {
				// So many may be more than n8n can bear; that is a result too.
				if (host.n8n.pid !== undefined) throw thrown;
				costs.push({ waiting, executions });
			} finally {
				await host.n8n.kill('SIGKILL');
				await host.stop();
			}
		}
	}
	return costs;
}

function cpuSeconds({ n8n }: TestHost): number {
	const fields = readFileSync(`/proc/${n8n.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
	// utime and stime, in ticks of 10 ms.
	return (Number(fields[11]) + Number(fields[12])) / 100;
}
