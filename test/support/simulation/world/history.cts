import type { IDataObject, INodeExecutionData } from 'n8n-workflow';

import type {
	EditSpec,
	ExecutionSpec,
	FaultKind,
	ItemSpec,
	RequestKind,
	RunSpec,
	World,
} from './world.cts';

/** A run that the service has started. */
export interface SeenRun {
	id: string;
	key: number;
	agentId: number;
	/** Of whom it is: the execution's number in the world, the turn and the item. */
	tag: string;
	createdAt: number;
	/** Infinity when it never ends. */
	endsAt: number;
	spec: RunSpec;
	/** The request that started it; absent for one that there was before. */
	request?: SeenRequest;
}

/** A request, and what became of it. */
export interface SeenRequest {
	number: number;
	kind: RequestKind;
	url: string;
	execution: Attempt;
	/** The item's, of a create or a dry run. */
	tag?: string;
	/** The run's, of a poll. */
	runId?: string;
	key: number;
	sentAt: number;
	timeoutMs: number;
	arrivedAt: number;
	/** When the answer, or what there was in its place, came; Infinity when n8n was gone by then. */
	answeredAt: number;
	fault?: FaultKind;
	status?: number;
	/** The error code of an answer without a status, or of the envelope. */
	code?: string;
	/** Whether the answer is the service's own. */
	isOwn: boolean;
	retryAfter?: string;
	started?: SeenRun;
	/** What a poll said of its run. */
	said?: 'finished' | 'unfinished';
	/** Whether the answer broke off since the execution was cancelled. */
	isCut?: boolean;
}

/** What came of a call of the node. */
export interface Ending {
	at: number;
	/** By output. */
	outputs?: INodeExecutionData[][];
	error?: { message: string; description?: string; context?: IDataObject; stack?: string };
}

/** What n8n has stored of an execution. */
export interface Save {
	at: number;
	why: 'begin' | 'progress' | 'park' | 'end';
	/** What the node keeps, as JSON. */
	memory: string;
}

/** An execution, or n8n's Retry of one. */
export interface Attempt {
	/** The number of its description in the world. */
	index: number;
	/** n8n's. */
	id: string;
	retryOf?: Attempt;
	/** By item: the same for a Retry that goes on with what n8n had stored of the item. */
	lineages: Map<string, object>;
	/** Whether the user has changed its node, though not what it gives. */
	isRewritten: boolean;
	/** What is otherwise in its node than in the world's description. */
	edit?: EditSpec;
	/** The ID of the attempt before which the workflow was saved last; empty when it never was. */
	saved: string;
	beganAt: number;
	status: 'running' | 'waiting' | 'success' | 'error' | 'canceled' | 'crashed';
	endedAt?: number;
	/** By turn, or by call of a tool: the latest of each. */
	endings: Map<number, Ending>;
	saves: Save[];
	parks: Array<{ at: number; until: number; resumedAt?: number }>;
	calls: Array<{ at: number; turn: number }>;
	cancelledAt?: number;
	/** When n8n ended it because of the workflow's own timeout. */
	timedOutAt?: number;
	hints: string[];
	/** What its run data show of the node at the end. */
	runData?: Array<{
		outputs?: INodeExecutionData[][];
		error?: string;
		source: unknown;
		keys: string[];
	}>;
	error?: Ending['error'];
}

/** All that has happened in a world. */
export interface History {
	world: World;
	/** Whether all has come to an end, or why not. */
	ended: 'ended' | 'stuck';
	endedAt: number;
	steps: number;
	requests: SeenRequest[];
	runs: SeenRun[];
	attempts: Attempt[];
	kills: Array<{ at: number; backAt: number }>;
	/** What no host would have let pass. */
	faults: string[];
	apiKeys: string[];
}

/** How many keys further the new key of an organization is. */
export const NEW_KEY = 6;

/** The organization of a key. */
export function organizationOf(key: number): number {
	return key % NEW_KEY;
}

/** Names an item of an execution. */
export function tagOf(execution: number, turn: number, item: number): string {
	return `e${execution}t${turn}i${item}`;
}

/** The number of the execution of a tag. */
export function executionOf(tag: string): number {
	return Number(tag.split(/\D/).find(Boolean));
}

/** The turn of a tag. */
export function turnOf(tag: string): number {
	return Number(tag.split(/\D/).filter(Boolean)[1]);
}

/** The number of a tag's item. */
export function itemNumberOf(tag: string): number {
	return Number(tag.split(/\D/).filter(Boolean)[2]);
}

/** The item of a tag. */
export function itemOf(world: World, tag: string): ItemSpec {
	const [execution = 0, , item = 0] = tag.split(/\D/).filter(Boolean).map(Number);
	return world.executions[execution]!.items[item]!;
}

/** The execution as it is described, with what the user has changed in the node. */
export function specOf(world: World, { index, edit }: Attempt): ExecutionSpec {
	const spec = world.executions[index]!;
	if (!edit) return spec;
	const { operation = spec.operation, waits = spec.waits, maxTries = spec.maxTries } = edit;
	return { ...spec, operation, waits, maxTries, options: { ...spec.options, ...edit.options } };
}

/** Wait for Completion, as it is given for an item. */
export function waitsOf({ waits, items }: ExecutionSpec, item: number): boolean | string {
	return waits === 'exceptLast' ? item < items.length - 1 : waits;
}

/** What the user's edit makes an attempt's items start, beside what the world's description says. */
export function wantedIn(attempt: Attempt | undefined): string {
	const { values, hasMoved } = attempt?.edit ?? {};
	return JSON.stringify([values, hasMoved]);
}

/** Whether the user has changed the node between two attempts so that it may start something else. */
export function isOtherNode(one: Attempt, other: Attempt): boolean {
	const enteredIn = (attempt: Attempt) =>
		JSON.stringify([attempt.isRewritten, attempt.edit?.operation, wantedIn(attempt)]);
	return enteredIn(one) !== enteredIn(other);
}

/** The latest attempt of each execution of the world. */
export function latestAttempts({ attempts }: History): Attempt[] {
	return [...new Map(attempts.map((attempt) => [attempt.index, attempt])).values()];
}
