import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';

import { asError, succeed, type Result } from '../api/failure';
import { isJsonObject, type Run } from '../api/types';
import { hostVersion, isTool } from '../host';
import type { StartedRun } from '../output/nodeError';
import type { WaitOptions } from '../resources/run/waitOptions';
import { systemClock as clock } from '../waiting/clock';
import type { Offer } from '../waiting/parkingLot';
import { SHORTEST_PARKED_DELAY_MS } from '../waiting/schedule';
import type { Wait } from '../waiting/waitForRun';
import { park } from './park';
import type { ParkedItem, ParkedWait } from './parkedBatch';

/** How long before the workflow's own timeout a parked wait ends, in ms: n8n then has to resume first. */
const BEFORE_WORKFLOW_TIMEOUT_MS = 30_000;

/** The wait of one item. */
export interface ItemWait extends Wait {
	itemIndex: number;
	lastSeen: Run;
	options: WaitOptions;
}

/** Where a node's items stand when all that are left wait. */
export interface Standing {
	/** When the node began, in ms since the epoch. */
	startedOn: number;
	offers: Array<Offer<ItemWait>>;
	/** By item; empty for those that wait. */
	results: Array<Result<IDataObject[]> | undefined>;
	runs: StartedRun[];
}

/**
 * Parks the waits of a node's items, if the host can and nothing speaks against it. Where n8n does not
 * let it, a hint in the output panel says so. Never throws.
 *
 * @returns what the node outputs while it is parked; undefined when the waits stay in the node
 */
export async function parkItems(
	context: IExecuteFunctions,
	standing: Standing,
): Promise<INodeExecutionData[] | undefined> {
	try {
		const obstacle = await obstacleOf(context);
		if (obstacle !== undefined) return stayInNode(context, obstacle);
		const latestEnd = endOfWorkflow(context, standing.startedOn);
		if (latestEnd - clock.date() < 2 * SHORTEST_PARKED_DELAY_MS) {
			return stayInNode(context, "the workflow's own timeout is near");
		}

		const { id, name, type, typeVersion, credentials } = context.getNode();
		return await park(context, {
			items: itemsOf(standing, latestEnd),
			runs: standing.runs,
			stopsAtFailure: !context.continueOnFail(),
			node: { id, name, type, typeVersion, ...(credentials && { credentials }) },
			executionId: context.getExecutionId(),
		});
	} catch (thrown) {
		const { message } = asError(thrown);
		return stayInNode(context, `n8n did not start the sub-workflow (${message})`);
	}
}

function stayInNode(context: IExecuteFunctions, reason: string): undefined {
	context.addExecutionHints({
		message: `The wait stayed in the node: ${reason}.`,
		location: 'outputPane',
	});
}

// The modes in which nobody takes what a node outputs while its execution waits for its result.
const PARKED_MODES = ['manual', 'trigger', 'webhook', 'retry', 'error'];

/** Why this execution is not to be parked, if something speaks against it. */
async function obstacleOf(context: IExecuteFunctions): Promise<string | undefined> {
	// Before n8n-workflow 2.27, an execution is resumed before its sub-workflow has ended.
	const { major, minor } = await hostVersion();
	if (major < 2 || (major === 2 && minor < 27)) return 'n8n 2.27 and later can park it';
	// The tool's answer would be lost. Nothing but its type tells that a node is one.
	if (isTool(context)) return 'it is the tool of an AI Agent';
	if (!context.getExecutionId()) return 'n8n does not store this execution';
	if (!PARKED_MODES.includes(context.getMode()) || isAnsweredWithOutput(context)) {
		return 'whoever started this workflow waits for its answer';
	}
	return undefined;
}

/**
 * n8n answers a webhook or a chat as soon as the execution waits; in queue mode, one that a node below
 * is to answer as well.
 */
function isAnsweredWithOutput(context: IExecuteFunctions): boolean {
	const { name } = context.getNode();
	const before = context.getParentNodes(name, { includeNodeParameters: true });
	const modes = before.map(({ type, parameters = {} }) => {
		const options: unknown = parameters.options;
		const chosen =
			parameters.responseMode ?? (isJsonObject(options) ? options.responseMode : undefined);
		return chosen ?? (type.endsWith('.chatTrigger') ? 'lastNode' : undefined);
	});
	if (modes.includes('lastNode') || modes.includes('streaming')) return true;
	const below = context.getChildNodes(name);
	return (
		modes.includes('responseNode') && below.some(({ type }) => type.endsWith('.respondToWebhook'))
	);
}

/**
 * When a wait has to end because n8n ends the execution, in ms since the epoch: its timeout counts
 * parked time. A retry has the beginning of the execution that it repeats.
 *
 * @param startedOn when the node began, where the host does not tell when the execution did
 */
function endOfWorkflow(context: IExecuteFunctions, startedOn: number): number {
	const { executionTimeout = 0 } = context.getWorkflowSettings();
	if (executionTimeout <= 0) return Infinity;
	const isRetry = context.getMode() === 'retry';
	const beganOn = isRetry ? undefined : context.getExecutionContext()?.establishedAt;
	return (beganOn ?? startedOn) + executionTimeout * 1_000 - BEFORE_WORKFLOW_TIMEOUT_MS;
}

function itemsOf({ results, offers }: Standing, latestEnd: number): ParkedItem[] {
	const waits = new Map(offers.map((offer) => [offer.wait.itemIndex, offer]));
	return [...results].map((result, itemIndex) => {
		const offer = waits.get(itemIndex);
		if (offer) return { wait: parkedWait(offer, latestEnd) };
		return { result: result?.ok ? succeed(result.value[0] ?? {}) : (result ?? succeed({})) };
	});
}

function parkedWait({ wait, dueAt }: Offer<ItemWait>, latestEnd: number): ParkedWait {
	const { agentId, runId, lastSeen, pollIntervalMs, options } = wait;
	const [date, now] = [clock.date(), clock.now()];
	const startedOn = date - (now - wait.startedAt);
	const own = wait.timeoutMs || Infinity;
	const limit = Math.min(own, latestEnd - startedOn);
	return {
		agentId,
		runId,
		lastSeen,
		startedOn,
		timeoutMs: limit === Infinity ? 0 : limit,
		endsWithWorkflow: limit < own,
		pollIntervalMs,
		lookOn: date + Math.max(dueAt - now, SHORTEST_PARKED_DELAY_MS),
		options,
	};
}
