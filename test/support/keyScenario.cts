import { startChatModel, type ChatModel } from '../e2e/chatModel.cts';
import type { WorkflowFile } from '../../hosts/n8n.cts';
import type { Fault } from '../../sandbox/faults.cts';
import { TestHost, type HostOptions } from './host.cts';
import { DECOY, SECRET } from './keySearch.cts';
import {
	agentNode,
	createForRow,
	n8nNode,
	rowsWorkflow,
	savingProgress,
	toolWorkflow,
} from './workflows.cts';
import { until } from './until.cts';

const MODEL = 'chatModel0000001';
const ERROR_WORKFLOW = 'onError';

const failing = rowsWorkflow('failing', agentNode('Run', createForRow));
const tool = agentNode('Run an agent', {
	...createForRow,
	agentId: { __rl: true, mode: 'id', value: '3' },
	parametersJson: "={{ JSON.stringify($fromAI('parameters', 'Names and values', 'json')) }}",
});
const errorWorkflow: WorkflowFile = {
	id: ERROR_WORKFLOW,
	name: ERROR_WORKFLOW,
	nodes: [n8nNode('Error', 'errorTrigger'), n8nNode('Seen', 'noOp')],
	connections: { Error: { main: [[{ node: 'Seen', type: 'main', index: 0 }]] } },
	settings: { executionOrder: 'v1' },
};

/** Executions of many kinds, which know the key and fail in many ways. Their names hold {@link DECOY}. */
const workflows: WorkflowFile[] = [
	rowsWorkflow('finished', agentNode('Run', createForRow)),
	rowsWorkflow('parked', agentNode('Run', { ...createForRow, options: { pollInterval: 65 } })),
	{ ...failing, settings: { ...failing.settings, errorWorkflow: ERROR_WORKFLOW } },
	rowsWorkflow('continued', agentNode('Run', createForRow, { onError: 'continueErrorOutput' })),
	rowsWorkflow('listed', agentNode('Run', { resource: 'agent', operation: 'list', limit: 3 })),
	toolWorkflow('tool', MODEL, tool),
	errorWorkflow,
].map((workflow) => savingProgress({ ...workflow, name: `${workflow.name} ${DECOY}` }));

/** What n8n writes most with. */
const environment = {
	N8N_LOG_LEVEL: 'debug',
	N8N_LOG_OUTPUT: 'console,file',
	N8N_METRICS: 'true',
	N8N_METRICS_INCLUDE_WORKFLOW_ID_LABEL: 'true',
	N8N_METRICS_INCLUDE_WORKFLOW_NAME_LABEL: 'true',
	N8N_METRICS_INCLUDE_WORKFLOW_INFO: 'true',
	N8N_METRICS_INCLUDE_NODE_TYPE_LABEL: 'true',
	N8N_METRICS_INCLUDE_CREDENTIAL_TYPE_LABEL: 'true',
	N8N_METRICS_INCLUDE_API_ENDPOINTS: 'true',
	N8N_METRICS_INCLUDE_API_PATH_LABEL: 'true',
	N8N_METRICS_INCLUDE_CACHE_METRICS: 'true',
	N8N_METRICS_INCLUDE_MESSAGE_EVENT_BUS_METRICS: 'true',
};

const QUOTED = `You sent x-api-key: ${SECRET}, which is odd.`;
/** Answers a poll with such a run. */
const run = (more: object) => (path: string) => ({
	run_id: path.split('/').at(-1),
	created_at: '2026-01-01T09:00:00Z',
	completed_at: '2026-01-01T09:00:42Z',
	...more,
});

/** Answers in which a service, or a proxy before it, quotes the key. */
const quotes: Record<string, Partial<Fault>> = {
	'in its message': {
		method: 'POST',
		status: 400,
		body: { error: { code: 'odd', message: QUOTED } },
	},
	'as its code': {
		method: 'POST',
		status: 400,
		body: { error: { code: SECRET, message: 'Odd.' } },
	},
	'in a header': { method: 'POST', status: 500, headers: { 'X-Request-Id': SECRET }, body: {} },
	'in a page': { method: 'POST', status: 502, body: `<html><body>${QUOTED}</body></html>` },
};

/** Results in which it does. */
const quotingResults: Record<string, Partial<Fault>> = {
	"in a run's error": {
		method: 'GET',
		path: '/runs/',
		body: run({ status: 'failed', error: QUOTED }),
	},
	"in a run's output": {
		method: 'GET',
		path: '/runs/',
		body: run({ status: 'succeeded', output: QUOTED }),
	},
};
const quotedInList: Partial<Fault> = {
	method: 'GET',
	path: '/agents$',
	body: {
		agents: [{ id: 1, name: QUOTED, description: QUOTED, parameters: [] }],
		pagination: { total: 1, limit: 3, offset: 0 },
	},
};

/** An n8n whose key has been used, and quoted, in all these ways. */
export interface UsedKey {
	host: TestHost;
	chatModel: ChatModel;
	/** What can be read of it while it runs, by its place. */
	places: Record<string, string>;
}

/**
 * Starts an n8n that writes as much as it can, and executes all that fails with the key at hand.
 *
 * @param begun is called once n8n runs, before anything is executed
 */
export async function useKey(
	options: HostOptions = {},
	begun: (host: TestHost) => Promise<void> = async () => {},
): Promise<UsedKey> {
	const values = { seconds: 0, text: DECOY };
	const chatModel = await startChatModel([
		{ arguments: { parameters: values } },
		{ arguments: { parameters: values } },
	]);
	const host = await TestHost.start('n8n-2', workflows, {
		...options,
		apiKey: SECRET,
		credentials: [
			{
				id: MODEL,
				name: MODEL,
				type: 'openAiApi',
				data: { apiKey: 'none', url: chatModel.baseUrl },
			},
		],
		environment: { ...environment, ...options.environment },
	});
	try {
		await begun(host);
		const { n8n, sandbox } = host;
		const execute = async (workflow: string, fault?: Partial<Fault>) => {
			if (fault) sandbox.faults.add({ kind: 'answer', ...fault });
			return await host.execute(workflow, [{ agent: 3, values }]);
		};
		const places: Record<string, string> = {};
		await execute('finished');
		for (const [how, quote] of Object.entries({ ...quotes, ...quotingResults })) {
			for (const workflow of ['failing', 'continued']) {
				const { data } = await execute(workflow, quote);
				places[`${workflow}, quoted ${how}`] = JSON.stringify(data.resultData);
			}
		}
		// Its polls would meet the results above.
		const parked = await host.begin('parked', [{ agent: 3, values: { ...values, seconds: 600 } }]);
		await host.untilParked(parked);
		places['the parked execution'] = JSON.stringify(await n8n.execution(parked));
		places['listed agents'] = JSON.stringify((await execute('listed', quotedInList)).data);
		await execute('tool', quotes['in its message']);
		places['what the tools told the model'] = JSON.stringify(chatModel.results);

		const failed = Object.keys(quotes).length + 1;
		await until(async () => (await n8n.executions(ERROR_WORKFLOW)).length >= failed);
		for (const { id } of await n8n.executions(ERROR_WORKFLOW)) {
			places[`error workflow ${id}`] = JSON.stringify((await n8n.endOf(id)).data);
		}
		places.metrics = await (await fetch(`${n8n.url}/metrics`)).text();
		places.credentials = JSON.stringify(
			await n8n.rest('GET', '/credentials?includeData=true&includeScopes=true'),
		);
		places['requests but for their key'] = JSON.stringify(
			sandbox.requests.map(({ url, body }) => [url, body]),
		);
		return { host, chatModel, places };
	} catch (thrown) {
		await chatModel.close();
		await host.stop();
		throw thrown;
	}
}
