import type { IDataObject, IExecuteFunctions, IRunExecutionData } from 'n8n-workflow';

import { isJsonObject } from '../service/types';
import { heldBy, storedExecution } from './host';

/** The modes of executions for whose result nobody waits. */
const UNAWAITED_MODES = ['trigger', 'retry', 'error'];

/** Those of executions that a webhook or a chat may have started, which may be answered with the result. */
const ANSWERED_MODES = ['webhook', 'manual'];

/** Who waits, as the end of a sentence. */
const waiting = {
	starter: 'whoever started this workflow waits for its result',
	webhook: 'the webhook or chat that started this workflow is answered with its result',
	forEach: 'another workflow may have called this one once for each item, and n8n then loses items',
	caller: 'somebody may wait for the result of the workflow that has called this one',
};

/** What n8n tells a workflow of the one that has called it; n8n 1 tells nothing. */
type ToldOfCaller = NonNullable<
	NonNullable<IRunExecutionData['parentExecution']>['executionContext']
>;

/** Who waits for what the execution gives, as the end of a sentence; undefined when nobody does. */
export async function whoWaits(context: IExecuteFunctions): Promise<string | undefined> {
	const mode = context.getMode();
	if (UNAWAITED_MODES.includes(mode)) return undefined;
	if (mode === 'integrated') return await whichCallerWaits(context, context.getExecutionId());
	if (!ANSWERED_MODES.includes(mode)) return waiting.starter;
	return isAnsweredWithOutput(context) ? waiting.webhook : undefined;
}

/**
 * n8n answers a webhook or a chat as soon as the execution waits; in queue mode, one that a node below
 * is to answer as well.
 */
function isAnsweredWithOutput(context: IExecuteFunctions): boolean {
	const { name } = context.getNode();
	const before = context.getParentNodes(name, { includeNodeParameters: true });
	// Of several triggers one has started this execution.
	const runData = heldBy(context)?.resultData.runData ?? {};
	const executed = before.filter((node) => runData[node.name] !== undefined);
	const modes = (executed.length > 0 ? executed : before).map(responseModeOf);
	if (modes.includes('lastNode') || modes.includes('streaming')) return true;
	const below = context.getChildNodes(name);
	return (
		modes.includes('responseNode') && below.some(({ type }) => type.endsWith('.respondToWebhook'))
	);
}

/** How a trigger is answered; undefined where that is not set. */
function responseModeOf(node: { type: string; parameters?: IDataObject }): unknown {
	const { type, parameters = {} } = node;
	const { options } = parameters;
	const chosen =
		parameters.responseMode ?? (isJsonObject(options) ? options.responseMode : undefined);
	return chosen ?? (type.endsWith('.chatTrigger') ? 'lastNode' : undefined);
}

/**
 * Which of the workflows that have called one another, up to this one, waits for a result that parking would
 * spoil. All that n8n tells of them is what it has stored; what that does not tell is taken for the worst.
 *
 * @param id of the execution that may have been called
 * @param told of it to the one that it has called, if n8n tells that
 */
async function whichCallerWaits(
	context: IExecuteFunctions,
	id: string | undefined,
	told?: ToldOfCaller,
): Promise<string | undefined> {
	const stored = await storedExecution(context, id);
	// It has waited before, and so have all that wait for it.
	if (stored?.waitTill) return undefined;
	const caller = stored?.parentExecution;
	// Nobody waits for what is called and left.
	if (caller?.shouldResume === false) return undefined;
	if (!caller) {
		const isFirst = id !== context.getExecutionId();
		return isFirst && !mayBeAnswered(told, stored) ? undefined : waiting.caller;
	}
	if (itemsGivenTo(stored) < 2) return waiting.forEach;
	return await whichCallerWaits(context, caller.executionId, caller.executionContext);
}

/** How many items a workflow was called with: what its first node gave, or is to be given where it has not run. */
function itemsGivenTo({ resultData, executionData }: IRunExecutionData): number {
	const tasks = Object.values(resultData.runData).flat();
	const first = tasks.find(({ executionIndex }) => executionIndex === 0);
	const [next] = executionData?.nodeExecutionStack ?? [];
	return (first ?? next)?.data?.main?.[0]?.length ?? 0;
}

/**
 * Whether the first of all callers may be answered with its result.
 *
 * @param told of it to the one that it has called
 */
function mayBeAnswered(
	told: ToldOfCaller | undefined,
	stored: IRunExecutionData | undefined,
): boolean {
	// n8n 1 does not tell how it was started: then its trigger decides.
	const { source = 'webhook', triggerNode } = told ?? {};
	if (UNAWAITED_MODES.includes(source)) return false;
	if (!ANSWERED_MODES.includes(source)) return true;
	// Started by hand, nothing is stored of it before its end.
	if (source === 'manual' && triggerNode?.type.endsWith('.manualTrigger')) return false;
	// It is the trigger's, until n8n has stored what came after it.
	const [entry] = stored?.executionData?.nodeExecutionStack ?? [];
	if (!entry || entry.source) return true;
	const mode = responseModeOf(entry.node);
	return mode !== undefined && mode !== 'onReceived';
}
