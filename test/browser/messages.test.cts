import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';

import type { Locator } from 'playwright-core';
import { generate } from 'selfsigned';

import type { WorkflowFile } from '../../hosts/n8n.cts';
import { startSandbox, type Sandbox } from '../../sandbox/server.cts';
import { TestHost } from '../support/host.cts';
import { agentNode, n8nNode, type NodeFile } from '../support/workflows.cts';
import { until } from '../support/until.cts';
import { Editor } from './editor.cts';
import {
	credentialsFor,
	errors,
	hints,
	KEYS,
	lists,
	notices,
	TWINS,
	type Addresses,
	type Situation,
} from './messages.cts';

// Every message of the table is read where a person reads it: in the node, open in the editor. All of them are
// brought about at the same time, since some take minutes.

const withIds = <Row extends unknown[]>(kind: string, rows: Row[]) =>
	rows.map((row, index) => ({ id: `${kind}${index}`, row }));
const table = {
	errors: withIds('error', errors),
	hints: withIds('hint', hints),
	lists: withIds('list', lists),
	notices: withIds('notice', notices),
};
/** Those that take longest come last: they begin first, and are read last. */
const executed = [...table.errors, ...table.hints];
const situations = Object.values(table)
	.flat()
	.map(({ id, row }) => ({ id, situation: row[1] }));

/** Those whose requests fail. Each has an API key of its own, its ID: others with the same one would be held up. */
const failing = situations.filter(
	({ situation: { fault, credential } }) => fault && credential === undefined,
);

const sandboxes: Sandbox[] = [];
let untrusted: Server;
let host: TestHost;
let editor: Editor;
/** The executions, by workflow. */
const executionIds = new Map<string, string>();
/** What the webhooks answer. */
const answers: Array<Promise<unknown>> = [];

beforeAll(async () => {
	const service = await startSandbox(0, {
		apiKeys: [...Object.values(KEYS), ...failing.map(({ id }) => id)],
		agentNames: Object.fromEntries(TWINS.map((id) => [id, 'Twin'])),
	});
	const empty = await startSandbox(0, { apiKeys: [KEYS.good], agentCount: 0 });
	sandboxes.push(service, empty);
	const { private: key, cert } = await generate([{ name: 'commonName', value: '127.0.0.1' }]);
	untrusted = createServer({ key, cert });
	await new Promise<void>((resolve) => untrusted.listen(0, '127.0.0.1', resolve));
	const { port } = untrusted.address() as AddressInfo;
	const addresses = {
		service: service.baseUrl,
		empty: empty.baseUrl,
		untrusted: `https://127.0.0.1:${port}/api/v1`,
	};
	for (const { situation } of situations) if (situation.fault) service.faults.add(situation.fault);
	host = await TestHost.start(
		'n8n-2',
		situations.map(({ id, situation }) => workflowOf(id, situation)),
		{ publishes: false, credentials: credentialFiles(addresses) },
	);
	editor = await Editor.open(host.n8n);
	for (const { id, row } of [...executed].reverse()) {
		executionIds.set(id, await execute(id, row[1]));
	}
});

afterAll(async () => {
	await editor?.close();
	await Promise.all(answers);
	await host?.stop();
	untrusted?.close();
	for (const sandbox of sandboxes) await sandbox.close();
});

const credentialFiles = (addresses: Addresses) => {
	const own = failing.map(({ id }) => [id, { baseUrl: addresses.service, apiKey: id }] as const);
	const all = [...Object.entries(credentialsFor(addresses)), ...own];
	return all.map(([id, data]) => ({ id, name: id, data }));
};

function workflowOf(
	id: string,
	{ parameters, fault, credential, rows, node, settings, isAnswered }: Situation,
): WorkflowFile {
	const webhook = { httpMethod: 'POST', path: id, responseMode: 'lastNode', options: {} };
	const name = credential ?? (fault ? id : 'good');
	const chain: NodeFile[] = [
		isAnswered
			? n8nNode('Start', 'webhook', 2, { webhookId: id, parameters: webhook })
			: n8nNode('Start', 'manualTrigger'),
		...(rows
			? [
					n8nNode('Rows', 'code', 2, {
						parameters: { jsCode: `return ${JSON.stringify(rows.map((json) => ({ json })))}` },
					}),
				]
			: []),
		agentNode(id, parameters, {
			credentials: { agentInvocationApi: { id: name, name } },
			...node,
		}),
	];
	const wires = chain
		.slice(1)
		.map(({ name }, index) => [
			chain[index]?.name,
			{ main: [[{ node: name, type: 'main', index: 0 }]] },
		]);
	return {
		id,
		name: id,
		nodes: chain.map((file, index) => ({ ...file, position: [index * 220, 0] })),
		connections: Object.fromEntries(wires) as Record<string, unknown>,
		settings: { executionOrder: 'v1', ...settings },
	};
}

async function execute(id: string, { isAnswered, changesTo }: Situation): Promise<string> {
	const { n8n } = host;
	if (!isAnswered) {
		const executionId = await n8n.runManually(id, 'Start');
		if (changesTo !== undefined) await changeCredential(changesTo);
		return executionId;
	}
	await n8n.activate(id);
	// It is answered once the execution has ended.
	answers.push(n8n.callWebhook(id));
	await until(async () => (await n8n.executions(id)).length > 0);
	return await n8n.newestExecutionId(id);
}

/** Once a run is waited for. */
async function changeCredential(baseUrl: string): Promise<void> {
	const [service] = sandboxes;
	await until(() => service!.runs.all.some(({ bindings }) => bindings.text === 'changing'));
	const data = { baseUrl, apiKey: KEYS.good };
	const file = { name: 'changing', type: 'agentInvocationApi', data };
	await host.n8n.rest('PATCH', '/credentials/changing', file);
}

/** Opens a row's node as it was executed. Gives its output panel. */
async function openOutput(id: string): Promise<Locator> {
	const executionId = executionIds.get(id) ?? '';
	await host.n8n.endOf(executionId);
	return await editor.openExecutedNode(id, executionId, id);
}

/** A text of the table as a pattern. */
const like = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('…', '.+');

describe('the node says what happened and what to do', () => {
	test.each(
		table.errors.map(({ id, row: [setting, , message, remedy] }) => [setting, message, remedy, id]),
	)('%s: %s', async (_setting, message, remedy, id) => {
		const output = await openOutput(id);
		const title = await output.getByTestId('node-error-message').innerText();
		// As it is read: a character that shows nothing breaks the tags of others.
		expect(title.replaceAll('\u2060', '')).toMatch(new RegExp(`^${like(message)}$`));
		const description = await output.getByTestId('node-error-description').innerText();
		expect(description).toMatch(new RegExp(like(remedy)));
	});
});

describe('the node says above its output what there is to know', () => {
	test.each(table.hints.map(({ id, row: [setting, , message] }) => [setting, message, id]))(
		'%s: %s',
		async (_setting, message, id) => {
			const output = await openOutput(id);
			await output.getByText(message).waitFor();
		},
	);
});

describe('the list of agents says what is wrong', () => {
	test.each(
		table.lists.map(({ id, row: [setting, , message, remedy] }) => [setting, message, remedy, id]),
	)('%s: %s', async (_setting, message, remedy, id) => {
		await editor.openNode(id, id);
		await editor.openAgents();
		const said = await editor.part('rlc-error-container').innerText();
		expect(said).toContain(message);
		expect(said).toContain(remedy);
	});
});

describe("the place of the agent's parameters says why they are not there", () => {
	test.each(table.notices.map(({ id, row: [setting, , message] }) => [setting, message, id]))(
		'%s: %s',
		async (_setting, message, id) => {
			await editor.openNode(id, id);
			await editor.page.getByText(message).first().waitFor();
		},
	);
});
