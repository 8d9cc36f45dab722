import type { WorkflowFile } from '../hosts/n8n.cts';
import { memoryMb } from '../hosts/processes.cts';
import { KEY, TestHost } from '../test/support/host.cts';
import {
	agentNode,
	createForRow,
	manualWorkflow,
	n8nNode,
	type NodeFile,
} from '../test/support/workflows.cts';

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

/** What creating a run for each of many items costs in a real n8n, which is started again for each. */
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
				const execution = await host.n8n.endOf(await host.n8n.runManually(id, 'Start'));
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
