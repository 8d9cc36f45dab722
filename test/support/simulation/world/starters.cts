import type { INode, IRunExecutionData, WorkflowExecuteMode } from 'n8n-workflow';

import type { ExecutionSpec, Starter } from './world.cts';

/** What has started an execution, or the first of those that have called one another up to it. */
interface Told {
	mode: WorkflowExecuteMode;
	/** Whether nobody waits for its result, so that n8n may store it. */
	isFree: boolean;
	trigger: Trigger;
	/** Another trigger in the same workflow, which has not run. */
	other?: Trigger;
}

interface Trigger {
	type: string;
	typeVersion?: number;
	parameters: Record<string, unknown>;
}

const SCHEDULE: Trigger = { type: 'n8n-nodes-base.scheduleTrigger', parameters: {} };
const MANUAL: Trigger = { type: 'n8n-nodes-base.manualTrigger', parameters: {} };
const EVALUATION: Trigger = { type: 'n8n-nodes-base.evaluationTrigger', parameters: {} };
const CHAT: Trigger = { type: '@n8n/n8n-nodes-langchain.chatTrigger', parameters: {} };
const WEBHOOK: Trigger = {
	type: 'n8n-nodes-base.webhook',
	parameters: { responseMode: 'onReceived' },
};
const ANSWERING: Trigger = {
	type: 'n8n-nodes-base.webhook',
	parameters: { responseMode: 'lastNode' },
};

const PERHAPS_ANSWERING: Trigger = {
	type: 'n8n-nodes-base.webhook',
	parameters: { responseMode: "={{ $json.query.wait ? 'lastNode' : 'onReceived' }}" },
};
const CHAT_OF_NODES: Trigger = {
	type: '@n8n/n8n-nodes-langchain.chatTrigger',
	parameters: { options: { responseMode: 'responseNodes' } },
};
const QUEUE: Trigger = {
	type: 'n8n-nodes-base.kafkaTrigger',
	typeVersion: 2,
	parameters: { resolveOffset: 'immediately' },
};
const QUEUE_THAT_WAITS: Trigger = {
	type: 'n8n-nodes-base.kafkaTrigger',
	typeVersion: 2,
	parameters: { resolveOffset: 'onSuccess' },
};
const WAIT_FOR_CALL: Trigger = {
	type: 'n8n-nodes-base.wait',
	parameters: { resume: 'webhook', responseMode: 'lastNode' },
};

const starters: Record<Starter, Told> = {
	schedule: { mode: 'trigger', isFree: true, trigger: SCHEDULE },
	manual: { mode: 'manual', isFree: true, trigger: MANUAL },
	webhook: { mode: 'webhook', isFree: true, trigger: WEBHOOK },
	answeringWebhook: { mode: 'webhook', isFree: false, trigger: ANSWERING },
	perhapsAnsweringWebhook: { mode: 'webhook', isFree: false, trigger: PERHAPS_ANSWERING },
	resumedByCall: { mode: 'trigger', isFree: false, trigger: WAIT_FOR_CALL },
	chatOfNodes: { mode: 'webhook', isFree: false, trigger: CHAT_OF_NODES },
	chat: { mode: 'webhook', isFree: false, trigger: CHAT },
	evaluation: { mode: 'evaluation', isFree: false, trigger: EVALUATION },
	// n8n runs a schedule by hand, too: then its mode does not tell that nobody waits.
	scheduleBesideWebhook: { mode: 'manual', isFree: true, trigger: SCHEDULE, other: ANSWERING },
	queue: { mode: 'trigger', isFree: true, trigger: QUEUE },
	queueThatWaits: { mode: 'trigger', isFree: false, trigger: QUEUE_THAT_WAITS },
	scheduleBesideQueue: {
		mode: 'trigger',
		isFree: true,
		trigger: SCHEDULE,
		other: QUEUE_THAT_WAITS,
	},
	errorWorkflow: { mode: 'error', isFree: true, trigger: SCHEDULE },
};

type Started = Pick<ExecutionSpec, 'starter' | 'callers'>;

/** How n8n says that an execution was started. */
export function modeOf({ starter, callers }: Started): WorkflowExecuteMode {
	return callers.length > 0 ? 'integrated' : starters[starter].mode;
}

/** Whether n8n may store an execution: nobody waits for what it gives. */
export function mayPark({ starter, callers: [call] }: Started): boolean {
	return call ? call === 'leave' : starters[starter].isFree;
}

/** The nodes before ours that have started the workflow, or could have. */
export function triggersOf({ starter, callers }: Started, ran: string): INode[] {
	if (callers.length > 0) return [];
	const { trigger, other } = starters[starter];
	const named = (one: Trigger | undefined, name: string) => (one ? [{ ...one, name }] : []);
	return [...named(trigger, ran), ...named(other, `${ran} 2`)] as unknown as INode[];
}

/** What n8n tells an execution of its caller. */
export function toldOfCaller({ callers: [call] }: Started): Partial<IRunExecutionData> {
	if (!call) return {};
	const shouldResume = call !== 'leave';
	return { parentExecution: { executionId: '0', workflowId: 'caller', shouldResume } };
}
