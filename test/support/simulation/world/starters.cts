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
	parameters: { resume?: string; responseMode?: string; options?: { responseMode: string } };
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
	errorWorkflow: { mode: 'error', isFree: true, trigger: SCHEDULE },
};

type Started = Pick<ExecutionSpec, 'starter' | 'callers'>;

/** How n8n says that an execution was started. */
export function modeOf({ starter, callers }: Started): WorkflowExecuteMode {
	return callers.length > 0 ? 'integrated' : starters[starter].mode;
}

/** Whether n8n may store an execution: nobody waits for what it gives, and n8n loses nothing of it. */
export function mayPark({ starter, callers }: Started): boolean {
	for (const call of callers) {
		if (call === 'leave') return true;
		if (call === 'each') return false;
	}
	return starters[starter].isFree;
}

/** Whether what n8n tells of an execution is enough to know that it may be stored. */
export function isKnownToBeFree({ starter, callers }: Started): boolean {
	const isStored = starters[starter].mode !== 'manual' || starter === 'manual';
	return mayPark({ starter, callers }) && (callers.length === 0 || isStored);
}

/** The nodes before ours that have started the workflow, or could have. */
export function triggersOf({ starter, callers }: Started, ran: string): INode[] {
	if (callers.length > 0) return [];
	const { trigger, other } = starters[starter];
	const named = (one: Trigger | undefined, name: string) => (one ? [{ ...one, name }] : []);
	return [...named(trigger, ran), ...named(other, `${ran} 2`)] as unknown as INode[];
}

/**
 * What n8n has stored of an execution, by its ID, when nothing but its beginning is stored: the callers'
 * IDs are the own one with so many dots. Of one that was started by hand nothing is.
 */
export function storedOf(
	{ starter, callers }: Started,
	ownId: string,
	asked: string,
): IRunExecutionData | undefined {
	const level = asked.length - ownId.length;
	const call = callers[level];
	const { trigger, mode } = starters[starter];
	if (callers.length === 0 || level > callers.length) return undefined;
	if (!call && mode === 'manual') return undefined;
	const isCalledByFirst = level === callers.length - 1;
	const items = Array.from({ length: call === undefined || call === 'each' ? 1 : 2 }, () => ({
		json: {},
	}));
	return {
		resultData: { runData: {} },
		executionData: {
			nodeExecutionStack: [
				{
					// Where another workflow calls this one, its first node is the one that is called.
					node: call ? { type: 'called', parameters: {} } : trigger,
					data: { main: [items] },
					source: null,
				},
			],
		},
		...(call && {
			parentExecution: {
				executionId: `${asked}.`,
				workflowId: 'caller',
				shouldResume: call !== 'leave',
				executionContext: {
					source: isCalledByFirst ? mode : 'integrated',
					triggerNode: isCalledByFirst
						? { name: 'First', type: trigger.type }
						: { name: 'Called', type: 'n8n-nodes-base.executeWorkflowTrigger' },
				},
			},
		}),
	} as unknown as IRunExecutionData;
}
