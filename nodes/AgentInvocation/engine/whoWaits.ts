import type { IExecuteFunctions, IRunData, NodeTypeAndVersion } from 'n8n-workflow';

import { isJsonObject } from '../service/types';
import { executionInMemory, storedExecution } from './host';
import { waitsForTheEnd, type ToldNode } from './queueTriggers';

/** The modes of executions whose result nobody waits for. */
const UNAWAITED_MODES = ['trigger', 'error'];

/** The modes of executions that a webhook or a chat may have started and may wait for. */
const ANSWERED_MODES = ['webhook', 'manual'];

/** Who waits, as the end of a sentence. */
const WAITERS = {
	starter: 'whoever started this workflow waits for its result',
	webhook: 'the webhook, form or chat that started this workflow is answered with its result',
	queue:
		'the trigger that started this workflow waits for its end before it confirms the message or takes the next one',
	caller: 'the workflow that has called this one waits for its result',
	unknown: 'n8n does not tell who waits for the result of this workflow',
};

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
	const runData = executionInMemory(context)?.resultData.runData ?? {};
	const { name } = context.getNode();
	const before = context.getParentNodes(name, { includeNodeParameters: true });
	// Only one of several triggers has started this execution: the one that has run data.
	const hasRun = (node: { name: string }) => runData[node.name] !== undefined;
	const executed = before.some(hasRun) ? before.filter(hasRun) : before;
	const calls = executed.filter((node) => mayBeWebhook || isWaitForCall(node));
	if (calls.some((node) => isAnsweredLater(context, node, runData))) return WAITERS.webhook;
	if (mode === 'trigger' && executed.some(waitsForTheEnd)) return WAITERS.queue;
	if (mode === 'integrated' || mode === 'retry') {
		return (await mayCallerWait(context)) ? WAITERS.caller : undefined;
	}
	return mayBeWebhook || UNAWAITED_MODES.includes(mode) ? undefined : WAITERS.starter;
}

/**
 * Whether a call that has started the execution at this node, or resumed it there, is answered only after our node. n8n
 * would answer it as soon as the execution is stored, in queue mode even if a 'Respond to Webhook' node answers. In a
 * loop, such a node may have answered an earlier call.
 */
function isAnsweredLater(
	context: IExecuteFunctions,
	node: NodeTypeAndVersion,
	runData: IRunData,
): boolean {
	const mode = responseModeOf(node);
	// A mode may also be an expression.
	if (mode !== 'responseNode') return mode !== undefined && mode !== 'onReceived';
	const responders = context
		.getChildNodes(node.name)
		.filter(({ type }) => type.endsWith('.respondToWebhook'));
	// Not by `executionIndex`, which n8n counts from 0 again after each resume (n8n-core 2.41.1).
	const latestRunOf = ({ name }: { name: string }) => runData[name]?.at(-1)?.startTime ?? -Infinity;
	const hasAnswered = (one: { name: string }) =>
		runData[one.name] !== undefined && latestRunOf(one) >= latestRunOf(node);
	return responders.length > 0 && !responders.some(hasAnswered);
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

/**
 * Whether another workflow has called this one and waits for its result, or has called the execution that is retried.
 * While that waits, n8n may take what this node shows for the result: if it was called once for each item, if n8n was
 * restarted when a poll was due (2.41.1), or at the first poll (n8n 1). (docs/n8n.md, Obstacles)
 */
async function mayCallerWait(context: IExecuteFunctions): Promise<boolean> {
	const stored = await storedExecution(context, context.getExecutionId());
	const caller = stored?.parentExecution;
	// A call has a caller, even if n8n does not tell it.
	return caller ? caller.shouldResume !== false : context.getMode() === 'integrated';
}
