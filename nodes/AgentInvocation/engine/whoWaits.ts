import type { IDataObject, IExecuteFunctions, IRunExecutionData } from 'n8n-workflow';

import { isJsonObject } from '../service/types';
import { executionInMemory, storedExecution } from './host';

/** The modes of executions whose result nobody waits for. */
const UNAWAITED_MODES = ['trigger', 'retry', 'error'];

/** The modes of executions that a webhook or a chat may have started and may wait for. */
const ANSWERED_MODES = ['webhook', 'manual'];

/** Who waits, as the end of a sentence. */
const WAITERS = {
	starter: 'whoever started this workflow waits for its result',
	webhook: 'the webhook, form or chat that started this workflow is answered with its result',
	forEach:
		'another workflow may have called this one once for each item, and n8n would lose items if it stored the wait',
	caller: 'somebody may wait for the result of the workflow that has called this one',
	unknown: 'n8n does not tell who waits for the result of this workflow',
};

/** What n8n tells a workflow about its caller. n8n 1 tells nothing. */
type ToldOfCaller = NonNullable<
	NonNullable<IRunExecutionData['parentExecution']>['executionContext']
>;

/**
 * Who waits for the execution's result, as the end of a sentence; undefined if nobody does. Never throws. n8n's own
 * functions do, for example if a connection of the workflow comes from a node that was deleted (2.41.1).
 */
export async function whoWaits(context: IExecuteFunctions): Promise<string | undefined> {
	return await whoIsKnownToWait(context).catch(() => WAITERS.unknown);
}

async function whoIsKnownToWait(context: IExecuteFunctions): Promise<string | undefined> {
	const mode = context.getMode();
	const mayBeWebhook = ANSWERED_MODES.includes(mode);
	if (isAnsweredLater(context, mayBeWebhook)) return WAITERS.webhook;
	if (mayBeWebhook || UNAWAITED_MODES.includes(mode)) return undefined;
	if (mode === 'integrated') return await whichCallerWaits(context, context.getExecutionId());
	return WAITERS.starter;
}

/**
 * Whether a call that has started the execution, or resumed it at a Wait node, is answered only after this node. n8n
 * would answer it as soon as the execution is stored, in queue mode even if a 'Respond to Webhook' node answers.
 *
 * @param mayBeWebhook whether a webhook or a chat may have started the execution
 */
function isAnsweredLater(context: IExecuteFunctions, mayBeWebhook: boolean): boolean {
	const { name } = context.getNode();
	const before = context.getParentNodes(name, { includeNodeParameters: true });
	// Only one of several triggers has started this execution: the one that has run data.
	const runData = executionInMemory(context)?.resultData.runData ?? {};
	const hasRun = (node: { name: string }) => runData[node.name] !== undefined;
	const executed = before.some(hasRun) ? before.filter(hasRun) : before;
	return executed
		.filter((node) => isWaitForCall(node) || mayBeWebhook)
		.some((node) => {
			const mode = responseModeOf(node);
			if (mode !== 'responseNode') return mayAnswerLater(mode);
			const responders = context
				.getChildNodes(node.name)
				.filter(({ type }) => type.endsWith('.respondToWebhook'));
			return responders.length > 0 && !responders.some(hasRun);
		});
}

/** What n8n tells of a node. */
interface ToldNode {
	type: string;
	parameters?: IDataObject;
}

/** Whether it is a Wait node that a call may resume, not only time. `resume` may also be an expression. */
function isWaitForCall({ type, parameters: { resume = 'timeInterval' } = {} }: ToldNode): boolean {
	return type.endsWith('.wait') && !['timeInterval', 'specificTime'].includes(resume as string);
}

/** How a node answers calls; undefined where that is not set. */
function responseModeOf(node: ToldNode): unknown {
	const { type, parameters = {} } = node;
	if (!isWaitForCall(node) && !/(webhook|trigger)$/i.test(type)) return undefined;
	const { options } = parameters;
	const chosen =
		parameters.responseMode ?? (isJsonObject(options) ? options.responseMode : undefined);
	return chosen ?? (/chatTrigger$/i.test(type) ? 'lastNode' : undefined);
}

/** Whether a response mode may be one that answers later. It may also be an expression. */
function mayAnswerLater(mode: unknown): boolean {
	return mode !== undefined && mode !== 'onReceived';
}

/**
 * Which caller waits for a result that parking would spoil: this execution's caller, that one's caller, and
 * so on. n8n tells only what it has stored of them; where that is not enough, the worst is assumed.
 *
 * @param id the ID of the execution whose caller is looked for
 * @param told what n8n has told about that execution to the one it called, if anything
 */
async function whichCallerWaits(
	context: IExecuteFunctions,
	id: string | undefined,
	told?: ToldOfCaller,
): Promise<string | undefined> {
	const stored = await storedExecution(context, id);
	// That execution has been parked, and so have all that wait for it.
	if (stored?.waitTill) return undefined;
	const caller = stored?.parentExecution;
	// A caller that goes on without a result does not wait.
	if (caller?.shouldResume === false) return undefined;
	if (!caller) {
		// The first caller has no caller. If this execution has none, n8n has not told who called it.
		const isFirst = id !== context.getExecutionId();
		return isFirst && !mayBeAnswered(told, stored) ? undefined : WAITERS.caller;
	}
	if (itemsGivenTo(stored) < 2) return WAITERS.forEach;
	return await whichCallerWaits(context, caller.executionId, caller.executionContext);
}

/**
 * How many items a workflow was called with: the output of the node that ran first, or the input of the next
 * one if none has.
 */
function itemsGivenTo({ resultData, executionData }: IRunExecutionData): number {
	const tasks = Object.values(resultData.runData).flat();
	const first = tasks.find(({ executionIndex }) => executionIndex === 0);
	const [next] = executionData?.nodeExecutionStack ?? [];
	return (first ?? next)?.data?.main?.[0]?.length ?? 0;
}

/**
 * Whether the first of all callers may be answered with its result.
 *
 * @param told what n8n has told the execution that it called
 */
function mayBeAnswered(
	told: ToldOfCaller | undefined,
	stored: IRunExecutionData | undefined,
): boolean {
	const [entry] = stored?.executionData?.nodeExecutionStack ?? [];
	// A call may have resumed it at a Wait node.
	if (entry && isWaitForCall(entry.node)) return mayAnswerLater(responseModeOf(entry.node));
	// n8n 1 does not tell how the caller was started. 'webhook' then lets the trigger's settings decide.
	const { source = 'webhook', triggerNode } = told ?? {};
	if (UNAWAITED_MODES.includes(source)) return false;
	if (!ANSWERED_MODES.includes(source)) return true;
	// n8n stores nothing of an execution started by hand before its end; it tells only the trigger.
	if (source === 'manual' && triggerNode?.type.endsWith('.manualTrigger')) return false;
	// The next entry is the trigger's own until n8n has stored any progress after it.
	if (!entry || entry.source) return true;
	return mayAnswerLater(responseModeOf(entry.node));
}
