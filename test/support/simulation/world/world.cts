// A world: a service, an n8n and some executions, described in plain JSON. All times are in ms of the virtual
// clock, from the world's beginning, unless the name says s.

/** What a run does at the service. */
export interface RunSpec {
	/** null: it never ends. */
	durationMs: number | null;
	/** 'odd' is a status that the interface does not know. */
	end: 'succeeded' | 'failed' | 'cancelled' | 'odd';
	/** Whether the agent answers in JSON. */
	isJson: boolean;
	/** Whether the service writes empty texts and dates where it has none. */
	hasBlanks: boolean;
	/** What is shown of it once it is over, in place of the service's own words. */
	shown?: Record<string, unknown>;
}

/** What comes in place of an answer of the service. */
export type FaultKind =
	| 'reset'
	| 'timeout'
	| 'serverError'
	| 'badGateway'
	| 'refused'
	| 'dns'
	| 'certificate'
	/** The two sides agree on no secure connection, as where the address is one of plain http. */
	| 'handshake'
	| 'html200'
	| 'html404'
	| 'html502'
	| 'empty4xx'
	| 'foreign4xx'
	| 'redirect'
	| 'otherRun'
	| 'otherShape'
	| 'stray429'
	/** It never ends, and something comes each moment, so that n8n's own time-out does not end it either. */
	| 'drips'
	/** n8n itself refuses to send it, as its protection against requests to internal addresses does. */
	| 'blocked'
	/** The service's own no, for example since the agent has been changed. */
	| 'rejected'
	/** The service does not know the run, as where the key is another organization's. */
	| 'unknownRun';

export type RequestKind = 'create' | 'poll' | 'list' | 'dryRun';

export interface FaultSpec {
	kind: FaultKind;
	/** Which requests meet it. */
	on: RequestKind | 'any';
	/** Of them, the share that does, from 0 to 1. */
	share: number;
	/** In place of the share: one, two or three requests in a row meet it in each such time, in ms. */
	everyMs?: number;
	/** Only those about so many runs, the first ones that were started. */
	ofFirst?: number;
	/** Only in this time; always when absent. */
	fromMs?: number;
	untilMs?: number;
	/** Whether the service has done the work all the same. */
	isDone: boolean;
	/** The status of those that may have several. */
	status: number;
	retryAfter?: string;
}

export interface LimiterSpec {
	/** 'ban': where more come than it carries, it refuses all until nothing has come for as long as its window. */
	kind: 'fixed' | 'sliding' | 'bucket' | 'ban';
	/** Requests in each window. */
	limit: number;
	windowMs: number;
	/** How a refusal says when to come back. 'short': after a second, whatever the limit. */
	retryAfter: 'none' | 'seconds' | 'date' | 'short';
	/** In this time, others use up all of each window but so many requests, if its windows are fixed. */
	usedByOthers?: { fromMs: number; untilMs: number; left: number };
	/** From when on another limit holds. */
	changesAtMs?: number;
	limitAfter?: number;
}

export interface QuotaSpec {
	/** So many may be unfinished. */
	runs: number;
	/** Whether they count for ever, as where a day has its budget. */
	isBudget?: boolean;
	/** Whether dry runs are refused with the creates. */
	refusesDryRuns?: boolean;
	/** How many seconds the 429 asks for; nothing when absent. */
	retryAfter?: string;
}

export interface ServiceSpec {
	/** The names of the agents of each organization. */
	agents: string[];
	/** The most agents that a page has, whatever is asked for. */
	pageSize: number;
	/** Round trips, from and to. */
	tripMs: [number, number];
	/** How long each request takes the service, which works on one after the other and refuses none. */
	workMs?: number;
	limiter?: LimiterSpec;
	/** The most runs of a key, and what happens to a create beyond. */
	quota?: QuotaSpec;
	faults: FaultSpec[];
	/** For how long a new run is not found. */
	unknownForMs: number;
	/** Whether it writes very long texts. */
	isWordy?: boolean;
	/** Whether its runs have numbers for IDs, with more digits than JavaScript keeps. */
	hasNumericIds?: boolean;
	/** Whether it shows the IDs of its runs in another form than it gives them. */
	hasPlainIds?: boolean;
	/** Whether something on the way takes the mark of a dry run away, so that it starts a run. */
	dropsDryRuns?: boolean;
	/** Agents that nobody runs, in front of the others in the list. */
	others?: {
		count: number;
		/** Whether some entries lack what others have. */
		areOdd: boolean;
		/** After which requests of the list, counted from 1, one of them is gone or a new one is there. */
		changesAfter: number[];
		change: 'gone' | 'new' | 'order';
	};
	/** What `Retry-After` says on a share of all answers that are not refusals. */
	odd?: { share: number; retryAfter: string };
}

export interface ItemSpec {
	run: RunSpec;
	/** Whether another value is given each time that n8n evaluates the item's expressions. */
	isVolatile: boolean;
	/** Which of the service's agents, from 0. */
	agent: number;
	/** Whether the service takes its values for wrong. */
	isWrong?: boolean;
	/** Whether the item's credential has another key than the execution: the next one. */
	ownKey: boolean;
}

export interface OptionsSpec {
	timeout?: number | string;
	pollInterval?: number | string;
	whereToWait?: 'auto' | 'stored' | 'memory';
	onUnsuccessfulRun?: 'error' | 'output';
	onTimeout?: 'error' | 'output';
	outputFormat?: 'text' | 'json';
	maxConcurrency?: number | string;
	retryCreateOnServerError?: boolean | string;
	checkFirst?: boolean | string;
}

/** What has started an execution, or the first of those that have called one another up to it. */
export type Starter =
	| 'schedule'
	| 'manual'
	| 'webhook'
	| 'answeringWebhook'
	/** A webhook whose way of answering is an expression. */
	| 'perhapsAnsweringWebhook'
	/** A schedule, and a Wait node that an answered call has resumed. */
	| 'resumedByCall'
	/** A chat that nodes answer. */
	| 'chatOfNodes'
	| 'chat'
	| 'evaluation'
	/** A schedule, in a workflow with an answering webhook beside it. */
	| 'scheduleBesideWebhook'
	/** The trigger of a message queue, which confirms its message at once. */
	| 'queue'
	/** One that confirms it once the execution has ended. */
	| 'queueThatWaits'
	/** A schedule, in a workflow with such a trigger beside it. */
	| 'scheduleBesideQueue'
	| 'errorWorkflow';

/** How a workflow calls another one: with all items, once for each item, or without waiting for it. */
export type CallSpec = 'all' | 'each' | 'leave';

export interface RetrySpec {
	/** After the execution has ended or n8n runs again. */
	afterMs: number;
	workflow: 'original' | 'saved';
	/** Whether the user has changed the node's parameters before, or put them back, though not what they give. */
	changesNode?: boolean;
	/** When n8n is killed, so long after the Retry has begun; it is back a second later. */
	killedAfterMs?: number;
	/** What else is otherwise in the saved workflow, for this Retry. */
	edit?: EditSpec;
}

/** What a user changes in the node before a Retry, and changes back before the next. */
export interface EditSpec {
	operation?: 'create' | 'get' | 'dryRun';
	/** The items have other values; those with the same number have the same ones. */
	values?: number;
	waits?: boolean;
	options?: OptionsSpec;
	/** 0: Retry On Fail is off now. */
	maxTries?: number;
	/** Whether the credential has a key that the service does not know. */
	hasWrongKey?: boolean;
	/** Whether it has another address, where the node cannot know the service to be the same. */
	hasMoved?: boolean;
}

export interface ExecutionSpec {
	/** Infinity: when a test says so. */
	startsAtMs: number;
	/** Which API key. */
	key: number;
	operation: 'create' | 'get' | 'list' | 'dryRun';
	items: ItemSpec[];
	/** How often the node runs, with these items each time. */
	turns: number;
	/** Wait for Completion, as it is given; 'exceptLast': an expression turns it off for the last item. */
	waits: boolean | string;
	agentMode: 'id' | 'list' | 'name' | 'nameOfLast';
	/** 'mapped': fields that are mapped automatically. */
	parametersMode: 'json' | 'keypair' | 'fields' | 'mapped';
	options: OptionsSpec;
	onError: 'stopWorkflow' | 'continueRegularOutput' | 'continueErrorOutput';
	/** 0 for no Retry On Fail. */
	maxTries: number;
	waitBetweenMs: number;
	starter: Starter;
	/** Whether a connection comes from a node that was deleted; n8n's functions about nodes before ours then throw. */
	hasGhost?: boolean;
	/** The workflows that have called one another up to this one, the nearest first. */
	callers: CallSpec[];
	/** What the host is: n8n; one that passes no response; an agent that runs the node as its tool; one without data. */
	host: 'n8n' | 'oldHost' | 'tool' | 'bare';
	savesProgress: boolean;
	/** Whether n8n keeps no failed executions. Then its recovery deletes what was resumed as it started. */
	forgetsFailed?: boolean;
	/** The workflow's own, in s; 0 for none. */
	workflowTimeoutS: number;
	/** Whether that is n8n's own (`EXECUTIONS_TIMEOUT`), and not in the workflow's settings. */
	isTimeoutOfN8n?: boolean;
	/** How late n8n resumes it. */
	resumesLateMs: number;
	cancelAtMs?: number;
	/** From when on its credential cannot be read, and for how long; `hangs`: n8n does not even say so. */
	credentialAway?: { fromMs: number; forMs: number; hangs?: boolean };
	/** From when on an option of the whole node has no value that can be used. */
	wrongOptionAtMs?: number;
	/** When the user enters another key of the same organization; the old one is served as well. */
	newKeyAtMs?: number;
	retries: RetrySpec[];
}

export interface World {
	seed: number;
	service: ServiceSpec;
	executions: ExecutionSpec[];
	/** When n8n is killed (so long after so many requests were sent, if that is given), and for how long it is away. */
	kills: Array<{ atMs: number; afterRequest?: number; awayMs: number }>;
	/** When somebody sets n8n's clock, and by how much. */
	clockChanges?: Array<{ atMs: number; byMs: number }>;
	/** Of n8n-workflow. */
	version: string;
}
