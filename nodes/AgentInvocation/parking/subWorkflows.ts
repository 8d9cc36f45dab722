import {
	NodeConnectionTypes,
	type IConnection,
	type IConnections,
	type INode,
	type INodeParameters,
	type IWorkflowBase,
} from 'n8n-workflow';

import type { ParkedBatch } from './parkedBatch';

/** The operations of our node inside the sub-workflows. They are in no list: nobody chooses them. */
export type ParkedOperation = 'watchParked' | 'lookAtParked' | 'settleParked';

const START = 'Start';
const WATCH = 'Wait for the watcher';
const SETTLED = 'Is everything settled?';
const WAIT = 'Wait';
const LOOK = 'Look at the runs';
const DONE = 'Nothing left to wait for?';

/**
 * The sub-workflow that the node's execution waits for: it starts the watcher, sleeps until the watcher
 * brings the results, and starts another one when the watcher died. It sends nothing itself and has no
 * credential, so that it is hardly ever awake and little can befall it.
 */
export function keeperWorkflow({ node }: ParkedBatch): IWorkflowBase {
	// Errors name the node that they are thrown in, so the last one is named as the user's is.
	const settle = [START, WATCH, SETTLED].includes(node.name) ? `${node.name} (end)` : node.name;
	return workflow(
		`Waiting for runs of '${node.name}'`,
		[
			start,
			// When the watcher fails, what it said goes on as an item.
			{ ...ours(node, WATCH, 'watchParked'), onError: 'continueRegularOutput' },
			ifTrue(SETTLED, '$json.isSettled'),
			{ ...ours(node, settle, 'settleParked'), id: node.id },
		],
		{
			[START]: { main: [to(WATCH)] },
			[WATCH]: { main: [to(SETTLED)] },
			[SETTLED]: { main: [to(settle), to(WATCH)] },
		},
	);
}

/** The sub-workflow that looks at the runs: it waits, looks, and waits again until none is left. */
export function watcherWorkflow({ node }: ParkedBatch): IWorkflowBase {
	return workflow(
		`Looking at runs of '${node.name}'`,
		[
			start,
			builtIn('wait', 1.1, WAIT, {
				resume: 'timeInterval',
				amount: '={{ $json.waitSeconds }}',
				unit: 'seconds',
			}),
			{
				...ours(node, LOOK, 'lookAtParked'),
				...(node.credentials && { credentials: node.credentials }),
			},
			ifTrue(DONE, '$json.batch'),
		],
		{
			[START]: { main: [to(WAIT)] },
			[WAIT]: { main: [to(LOOK)] },
			[LOOK]: { main: [to(DONE)] },
			[DONE]: { main: [[], to(WAIT)] },
		},
	);
}

const start = builtIn('executeWorkflowTrigger', 1.1, START, { inputSource: 'passthrough' });

function ifTrue(name: string, expression: string): INode {
	const condition = { value1: `={{ Boolean(${expression}) }}`, value2: true };
	return builtIn('if', 1, name, { conditions: { boolean: [condition] } });
}

function builtIn(
	type: string,
	typeVersion: number,
	name: string,
	parameters: INodeParameters,
): INode {
	return {
		id: name,
		name,
		type: `n8n-nodes-base.${type}`,
		typeVersion,
		position: [0, 0],
		parameters,
	};
}

function ours(
	{ type, typeVersion }: ParkedBatch['node'],
	name: string,
	operation: ParkedOperation,
): INode {
	const parameters = { resource: 'run', operation };
	return { id: name, name, type, typeVersion, position: [0, 0], parameters };
}

function to(node: string): IConnection[] {
	return [{ node, type: NodeConnectionTypes.Main, index: 0 }];
}

function workflow(name: string, nodes: INode[], connections: IConnections): IWorkflowBase {
	const now = new Date();
	return {
		// n8n puts in the ID of the workflow that calls this one.
		id: '',
		name,
		active: false,
		activeVersionId: null,
		isArchived: false,
		createdAt: now,
		updatedAt: now,
		nodes: nodes.map((node, index) => ({ ...node, position: [index * 200, 0] })),
		connections,
		settings: {
			executionOrder: 'v1',
			// The wait has its own limit, and what called it is its caller.
			executionTimeout: -1,
			callerPolicy: 'any',
			// The node's own execution tells how the wait ended; these would only fill the list.
			saveDataSuccessExecution: 'none',
			saveDataErrorExecution: 'none',
		},
	};
}
