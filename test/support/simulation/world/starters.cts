import type { INode, IRunExecutionData, WorkflowExecuteMode } from 'n8n-workflow';

import type { Starter } from './world.cts';

/** What n8n tells of who has started an execution. */
interface Told {
	mode: WorkflowExecuteMode;
	/** Whether n8n may store the execution although somebody may wait for it. */
	mayPark: boolean;
	/** The trigger in the workflow, and one beside it that has not run. */
	trigger?: Trigger;
	other?: Trigger;
	/** The workflows that have called this one, the nearest first, and how many items each call had. */
	callers?: Array<{ items: 'all' | 'one'; isLeft?: boolean; trigger: Trigger }>;
}

interface Trigger {
	type: string;
	parameters: { responseMode?: string };
}

const SCHEDULE: Trigger = { type: 'n8n-nodes-base.scheduleTrigger', parameters: {} };
const WEBHOOK: Trigger = {
	type: 'n8n-nodes-base.webhook',
	parameters: { responseMode: 'onReceived' },
};
const ANSWERING: Trigger = {
	type: 'n8n-nodes-base.webhook',
	parameters: { responseMode: 'lastNode' },
};
const CHAT: Trigger = { type: '@n8n/n8n-nodes-langchain.chatTrigger', parameters: {} };

export const starters: Record<Starter, Told> = {
	schedule: { mode: 'trigger', mayPark: true, trigger: SCHEDULE },
	manual: { mode: 'manual', mayPark: true },
	webhook: { mode: 'webhook', mayPark: true, trigger: WEBHOOK },
	answeringWebhook: { mode: 'webhook', mayPark: false, trigger: ANSWERING },
	chat: { mode: 'webhook', mayPark: false, trigger: CHAT },
	evaluation: { mode: 'evaluation', mayPark: false },
	call: {
		mode: 'integrated',
		mayPark: true,
		callers: [{ items: 'all', trigger: SCHEDULE }],
	},
	callForEach: {
		mode: 'integrated',
		mayPark: false,
		callers: [{ items: 'one', trigger: SCHEDULE }],
	},
	callAndLeave: {
		mode: 'integrated',
		mayPark: true,
		callers: [{ items: 'all', isLeft: true, trigger: SCHEDULE }],
	},
	callOfWebhook: {
		mode: 'integrated',
		mayPark: false,
		callers: [{ items: 'all', trigger: ANSWERING }],
	},
	callInTwoLevels: {
		mode: 'integrated',
		mayPark: false,
		callers: [
			{ items: 'all', trigger: SCHEDULE },
			{ items: 'one', trigger: SCHEDULE },
		],
	},
	scheduleBesideWebhook: { mode: 'manual', mayPark: true, trigger: SCHEDULE, other: ANSWERING },
};

/** The nodes before ours that have started the workflow, or could have. */
export function triggersOf(starter: Starter, ran: string): INode[] {
	const { trigger, other } = starters[starter];
	const named = (one: Trigger | undefined, name: string) => (one ? [{ ...one, name }] : []);
	return [...named(trigger, ran), ...named(other, `${ran} 2`)] as unknown as INode[];
}

/**
 * What n8n has stored of an execution, by its ID, when nothing but its beginning is stored: the callers'
 * IDs are the own one with so many dots.
 */
export function storedOf(
	starter: Starter,
	ownId: string,
	asked: string,
): IRunExecutionData | undefined {
	const { callers = [] } = starters[starter];
	const level = asked.length - ownId.length;
	const caller = callers[level];
	const called = callers[level - 1];
	// Where another workflow calls this one, its first node is the one that is called.
	const trigger = level === 0 || caller ? { type: 'called', parameters: {} } : called?.trigger;
	if (!trigger) return undefined;
	const items = Array.from({ length: caller?.items === 'all' ? 2 : 1 }, () => ({ json: {} }));
	const first = callers.at(-1)?.trigger;
	return {
		resultData: { runData: {} },
		executionData: {
			nodeExecutionStack: [{ node: trigger, data: { main: [items] }, source: null }],
		},
		...(caller && {
			parentExecution: {
				executionId: `${asked}.`,
				workflowId: 'caller',
				shouldResume: !caller.isLeft,
				executionContext: {
					source: callers[level + 1] ? 'integrated' : modeOf(first),
					triggerNode: { name: 'First', type: first?.type ?? '' },
				},
			},
		}),
	} as unknown as IRunExecutionData;
}

function modeOf(trigger: Trigger | undefined): WorkflowExecuteMode {
	return trigger === SCHEDULE ? 'trigger' : 'webhook';
}
