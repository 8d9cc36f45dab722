import { whoWaits } from '../../nodes/AgentInvocation/engine/whoWaits.ts';
import { engineObstacle } from '../../nodes/AgentInvocation/engine/parkingObstacles.ts';
import { contextOf, type Told } from '../support/simulation/world/context.cts';

test('a host that can be asked for a pause has no obstacle', async () => {
	expect(await engineObstacle(contextOf({}), true)).toBeUndefined();
	expect(await whoWaits(contextOf({}))).toBeUndefined();
});

describe('the engine cannot be asked', () => {
	test.each<[string, Told, RegExp]>([
		['by a tool', { node: { type: 'agentInvocationTool' } }, /tool of an AI Agent/],
		[
			"in an agent's entry",
			{ entry: { node: { name: 'AI Agent' } as never } },
			/tool of an AI Agent/,
		],
		['in the old order', { settings: { executionOrder: 'v0' } }, /'Execution Logic' .* is not v1/],
		[
			'without an order',
			{ settings: { executionOrder: undefined as never } },
			/'Execution Logic' .* is not v1/,
		],
		['by a first node', { entry: { source: null } }, /no node comes before/],
		['by a node with no source', { entry: { source: { main: [null] } } }, /no node comes before/],
		['by one with another source', { entry: { source: { ai_tool: [] } } }, /no node comes before/],
		['of a workflow in the engine v2', { settings: { engineType: 'v2' } }, /engine v2/],
		['in what is not stored', { executionId: undefined }, /does not store/],
	])('%s', async (_, told, why) => {
		expect(await engineObstacle(contextOf(told), true)).toMatch(why);
	});

	test('where the host passes no responses', async () => {
		expect(await engineObstacle(contextOf({}), false)).toMatch(/too old/);
	});

	test('where the host tells no settings', async () => {
		const context = { ...contextOf({}), getWorkflowSettings: undefined };
		expect(await engineObstacle(context as never, true)).toMatch(/too old/);
	});

	// The engine v2 passes none either, but it is not old. It tells no settings; its executions have UUIDs.
	test.each<[string, Told]>([
		['by its settings', { settings: { engineType: 'v2' } }],
		["by its execution's ID", { executionId: '01936f2e-7c1a-7b3d-9a61-0123456789ab' }],
	])('in the engine v2, which is known %s', async (_, told) => {
		expect(await engineObstacle(contextOf(told), false)).toMatch(/engine v2/);
	});

	test.each(['1', '20241124', 'e1936f2e-7c1a-4b3d-9a61-0123456789ab'])(
		'but it can in an execution with the ID %s',
		async (executionId) => {
			expect(await engineObstacle(contextOf({ executionId }), true)).toBeUndefined();
		},
	);

	test('but it can in the engine v1', async () => {
		expect(
			await engineObstacle(contextOf({ settings: { engineType: 'v1' } }), true),
		).toBeUndefined();
	});

	test.each([
		['0.9.0', false],
		['1.120.0', true],
		['2.41.0', true],
		['3.0.0', false],
	])('of n8n %s: %s', async (version, isTried) => {
		jest.resetModules();
		jest.doMock('n8n-workflow/package.json', () => ({ version }));
		const again = await import('../../nodes/AgentInvocation/engine/parkingObstacles.ts');
		const obstacle = await again.engineObstacle(contextOf({}), true);
		jest.dontMock('n8n-workflow/package.json');
		expect(obstacle ?? 'none').toMatch(isTried ? /^none$/ : /not tested/);
	});
});

describe('somebody waits', () => {
	const trigger = (type: string, parameters?: Record<string, unknown>): Told => ({
		before: [
			{ type: 'set' },
			{ type: `n8n-nodes-base.${type}`, ...(parameters && { parameters: parameters as never }) },
		],
	});
	const queue = (type: string, parameters: object, typeVersion = 1): Told => ({
		before: [
			{ type: 'set' },
			{ type: `n8n-nodes-base.${type}`, typeVersion, parameters: parameters as never },
		],
	});
	/** The run data of nodes that n8n has executed in this order. */
	const ranInOrder = (names: string[]) =>
		Object.fromEntries(
			names.map((name) => [
				name,
				names.flatMap((one, startTime) => (one === name ? [{ startTime, executionIndex: 0 }] : [])),
			]),
		);
	const responder = { below: [{ type: 'set' }, { type: 'n8n-nodes-base.respondToWebhook' }] };
	const obstacle = async (told: Told) => await whoWaits(contextOf({ mode: 'webhook', ...told }));

	test.each<[string, Told]>([
		['a webhook answered by the last node', trigger('webhook', { responseMode: 'lastNode' })],
		['one that streams', trigger('webhook', { responseMode: 'streaming' })],
		['a chat', trigger('chatTrigger')],
		['a chat in its options', trigger('chatTrigger', { options: { responseMode: 'lastNode' } })],
		[
			'a webhook answered by a node below',
			{ ...trigger('webhook', { responseMode: 'responseNode' }), ...responder },
		],
		['one whose mode is an expression', trigger('webhook', { responseMode: "={{ 'lastNode' }}" })],
		[
			'a chat that nodes answer',
			trigger('chatTrigger', { options: { responseMode: 'responseNodes' } }),
		],
		['a form', trigger('formTrigger', { responseMode: 'lastNode' })],
		[
			'a Wait node of which an expression says what resumes it',
			trigger('wait', { resume: '={{ $json.resume }}', responseMode: 'lastNode' }),
		],
		[
			'a Wait node that a call resumes',
			trigger('wait', { resume: 'webhook', responseMode: 'lastNode' }),
		],
	])('behind %s', async (_, told) => {
		expect(await obstacle(told)).toMatch(/answered with its result/);
	});

	test.each<[string, Told]>([
		['a webhook that has been answered', trigger('webhook', { responseMode: 'onReceived' })],
		['a webhook without a mode', trigger('webhook', {})],
		[
			'a chat answered at once',
			trigger('chatTrigger', { options: { responseMode: 'onReceived' } }),
		],
		[
			'a node that was to answer, and is not below',
			{ ...trigger('webhook', { responseMode: 'responseNode' }), below: [{ type: 'set' }] },
		],
		['a node that has a mode like that', trigger('set', { responseMode: 'lastNode' })],
		['one that is named like a webhook', trigger('webhookInfo', { responseMode: 'lastNode' })],
		[
			'a Wait node that time resumes',
			trigger('wait', { resume: 'timeInterval', responseMode: 'lastNode' }),
		],
		[
			'a Wait node that a date resumes',
			trigger('wait', { resume: 'specificTime', responseMode: 'lastNode' }),
		],
		['a Wait node as it is by default', trigger('wait', { responseMode: 'lastNode' })],
		['an answering node below a schedule', { ...trigger('scheduleTrigger', {}), ...responder }],
	])('not behind %s', async (_, told) => {
		expect(await obstacle(told)).toBeUndefined();
	});

	test.each(['trigger', 'retry', 'error', 'integrated'] as const)(
		'of a call that has resumed a Wait node in the mode %s',
		async (mode) => {
			const told = trigger('wait', { resume: 'form', responseMode: 'lastNode' });
			expect(await obstacle({ ...told, mode })).toMatch(/answered with its result/);
		},
	);

	test.each([
		['has not answered yet, perhaps in another branch', ['Webhook'], /answered/],
		['has answered', ['Webhook', 'Respond'], /^nobody$/],
		['has answered, one of two', ['Webhook', 'Other'], /^nobody$/],
		['has answered an earlier call in a loop', ['Webhook', 'Respond', 'Webhook'], /answered/],
	])('where the node that is to answer %s', async (_, names, who) => {
		const told: Told = {
			before: [
				{
					name: 'Webhook',
					type: 'n8n-nodes-base.webhook',
					parameters: { responseMode: 'responseNode' },
				},
			],
			below: ['Respond', 'Other'].map((name) => ({
				name,
				type: 'n8n-nodes-base.respondToWebhook',
			})),
			held: { resultData: { runData: ranInOrder(names) } },
		};
		expect((await obstacle(told)) ?? 'nobody').toMatch(who);
	});

	const kafka = (typeVersion: number, parameters: object) =>
		queue('kafkaTrigger', parameters, typeVersion);
	const options = (given: object) => ({ options: given });

	test.each<[string, Told]>([
		['Kafka, which resolves the offset on success', kafka(1.3, { resolveOffset: 'onSuccess' })],
		['Kafka, of which an expression says when', kafka(2, { resolveOffset: '={{ $json.when }}' })],
		['Kafka 1.1 as it is by default', kafka(1.1, {})],
		[
			'RabbitMQ, which confirms at the end',
			queue('rabbitmqTrigger', options({ acknowledge: 'executionFinishes' })),
		],
		[
			'RabbitMQ with a number of parallel messages',
			queue('rabbitmqTrigger', options({ parallelMessages: 5 })),
		],
		[
			'AMQP, one message after the other',
			queue('amqpTrigger', options({ parallelProcessing: false })),
		],
	])('behind %s', async (_, told) => {
		expect(await obstacle({ ...told, mode: 'trigger' })).toMatch(/confirms the message/);
		expect(await obstacle({ ...told, mode: 'retry' })).toBeUndefined();
		expect(await obstacle({ ...told, mode: 'manual' })).toBeUndefined();
	});

	test.each<[string, Told]>([
		['Kafka, which resolves the offset at once', kafka(1.3, { resolveOffset: 'immediately' })],
		['Kafka 1.1 with parallel processing', kafka(1.1, options({ parallelProcessing: true }))],
		['Kafka 1', kafka(1, {})],
		['RabbitMQ as it is by default', queue('rabbitmqTrigger', {})],
		[
			'RabbitMQ, which confirms at once',
			queue('rabbitmqTrigger', options({ acknowledge: 'immediately', parallelMessages: -1 })),
		],
		['AMQP as it is by default', queue('amqpTrigger', options({}))],
		['AMQP with parallel processing', queue('amqpTrigger', options({ parallelProcessing: true }))],
		['a trigger of another name', queue('kafkaTriggerOfMine', { resolveOffset: 'onSuccess' })],
	])('not behind %s', async (_, told) => {
		expect(await obstacle({ ...told, mode: 'trigger' })).toBeUndefined();
	});

	test('perhaps, where the host cannot tell', async () => {
		expect(await obstacle({ hasGhost: true })).toMatch(/does not tell who waits/);
	});

	describe('where several triggers lead to the node', () => {
		const told: Told = {
			before: [
				{ name: 'Schedule', type: 'n8n-nodes-base.scheduleTrigger', parameters: {} },
				{
					name: 'Early',
					type: 'n8n-nodes-base.webhook',
					parameters: { responseMode: 'onReceived' },
				},
				{ name: 'Late', type: 'n8n-nodes-base.webhook', parameters: { responseMode: 'lastNode' } },
				{ name: 'Set', type: 'n8n-nodes-base.set' },
			],
		};
		const executed = (...names: string[]) => ({
			held: { resultData: { runData: ranInOrder(names) } },
		});

		test('the one that was executed decides', async () => {
			expect(await obstacle({ ...told, ...executed('Early', 'Set') })).toBeUndefined();
			expect(await obstacle({ ...told, ...executed('Late', 'Set') })).toMatch(/answered/);
			const byHand = { ...told, mode: 'manual' } as const;
			expect(await obstacle({ ...byHand, ...executed('Schedule', 'Set') })).toBeUndefined();
			expect(await obstacle({ ...byHand, ...executed('Late', 'Set') })).toMatch(/answered/);
		});

		test('all of them do where the host does not tell', async () => {
			expect(await obstacle(told)).toMatch(/answered/);
			expect(await obstacle({ ...told, ...executed() })).toMatch(/answered/);
		});

		test.each(['trigger', 'retry', 'error'] as const)(
			'none of them does in the mode %s, in which none is answered',
			async (mode) => {
				expect(await obstacle({ ...told, mode })).toBeUndefined();
			},
		);
	});

	test.each(['manual', 'trigger', 'webhook', 'retry', 'error'] as const)(
		'not in the mode %s',
		async (mode) => expect(await obstacle({ mode })).toBeUndefined(),
	);

	test.each(['internal', 'cli', 'evaluation', 'chat'] as const)('in the mode %s', async (mode) => {
		expect(await obstacle({ mode })).toMatch(/whoever started this workflow waits/);
	});
});

describe('a called workflow', () => {
	/** What is in the way, if n8n tells this of the execution. */
	const obstacle = async (mode: 'integrated' | 'retry', stored: object | Error) =>
		await whoWaits(contextOf({ mode, stored }));
	const calledBy = (shouldResume?: boolean) => ({
		parentExecution: { executionId: '2', workflowId: 'w', shouldResume },
	});

	test.each<['integrated' | 'retry', string, object | Error]>([
		['integrated', 'by one that waits', calledBy(true)],
		['integrated', 'by one of an older n8n', calledBy()],
		['integrated', 'by one that is not told', {}],
		['integrated', 'by nobody knows what', new Error('not found')],
		['retry', 'before by one that waited', calledBy(true)],
	])('in the mode %s: %s', async (mode, _, stored) => {
		expect(await obstacle(mode, stored)).toBe(
			'the workflow that has called this one waits for its result',
		);
	});

	test.each<['integrated' | 'retry', string, object | Error]>([
		['integrated', 'by one that does not wait', calledBy(false)],
		['retry', 'before by one that did not wait', calledBy(false)],
		['retry', 'by nobody', {}],
		['retry', 'by nobody knows what', new Error('not found')],
	])('may be stored in the mode %s: called %s', async (mode, _, stored) => {
		expect(await obstacle(mode, stored)).toBeUndefined();
	});

	test('is asked for only where there may be one', async () => {
		const told = { stored: new Error('asked'), mode: 'trigger' } as const;
		expect(await whoWaits(contextOf(told))).toBeUndefined();
	});
});
