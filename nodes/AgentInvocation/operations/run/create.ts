import type { IDataObject, IExecuteFunctions, INodeProperties } from 'n8n-workflow';

import { readBoolean, readNumber, readParameter, readSwitch } from '../../readValue';
import { AUTOMATIC, fixedAt, ofDryRuns, type Concurrency } from '../../items/concurrency';
import { UnansweredError, UnsafeError } from '../../failure';
import { done, type Item, type NotBegun } from '../../item';
import { dryRun } from '../../service/endpoints';
import { bodyOf } from '../../service/read';
import { READ_PATIENCE_MS } from '../../service/retryPolicy';
import { sendWithRetry } from '../../service/sendWithRetry';
import { statusOf } from '../../service/runStatus';
import { isJsonObject, isRun } from '../../service/types';
import { agentField } from '../agentField';
import { agentOf, findAgent, readAgent } from '../findAgent';
import type { Check, CheckItem, ItemWork, Operation } from '../../items/operation';
import { displayOptions, notInTools, parameterFields } from './parameterFields';
import { readBindings } from './parameters';
import {
	fingerprintOf,
	continueFrom,
	identify,
	startRun,
	whyTooLate,
	type Wanted,
} from './startRun';
import { waitForCompletion, waitOptionFields, whileWaiting } from './waitOptionFields';
import { beginsUntil, readWaitPlan } from '../../items/waitPlan';

/** The range of 'Max Concurrency'. 0 is automatic. */
const CONCURRENCY_RANGE = { minValue: 0, maxValue: 1_000 };

const WAS_DRY_RUN =
	'This was a dry run. Its output is the prompt and the parameters that a run would get.';

const createOptionFields: INodeProperties[] = [
	// Without waiting, this node sees no run finished, so none of these options has an effect.
	...waitOptionFields.map((field) => ({ ...field, ...whileWaiting })),
	{
		displayName: 'Check All Items First',
		name: 'checkFirst',
		type: 'boolean',
		default: false,
		description:
			'Whether to check the values of all input items with the service before any run is started, by a dry run for each different agent and set of values. An expression is evaluated for the first item.',
		displayOptions: { show: { '/dryRun': [false] }, ...notInTools },
	},
	{
		displayName: 'Max Concurrency',
		name: 'maxConcurrency',
		type: 'number',
		typeOptions: CONCURRENCY_RANGE,
		default: 0,
		description:
			'How many input items the node works on at a time. An expression is evaluated for the first item. 0 is automatic: ten items begin. Once one of their runs has succeeded, or all have lasted 4 seconds, the others begin as fast as the service accepts them.',
	},
	{
		displayName: 'Retry Create on Server Error',
		name: 'retryCreateOnServerError',
		type: 'boolean',
		default: false,
		description:
			'Whether to send the request that starts a run up to four more times after a status of 500 or more. Each request may have started a run, so there can be several.',
		displayOptions: { show: { '/dryRun': [false] } },
	},
];

export const createFields: INodeProperties[] = [
	{
		...agentField,
		description: 'The published agent. Each input item starts a run of its own.',
		displayOptions,
	},
	...parameterFields,
	{
		displayName: 'Dry Run',
		name: 'dryRun',
		type: 'boolean',
		default: false,
		description:
			'Whether to get the prompt that the agent would get, with its parameters filled in, without running the agent',
		displayOptions: { ...displayOptions, ...notInTools },
	},
	{
		...waitForCompletion,
		displayOptions: { show: { ...displayOptions.show, dryRun: [false] }, ...notInTools },
	},
	{
		...waitForCompletion,
		// Without expressions, the editor offers no button to let the model fill it in.
		noDataExpression: true,
		displayOptions: { show: { ...displayOptions.show, '@tool': [true] } },
	},
	{
		displayName: 'Options',
		name: 'options',
		type: 'collection',
		placeholder: 'Add option',
		default: {},
		options: createOptionFields.sort((a, b) => a.displayName.localeCompare(b.displayName)),
		displayOptions,
	},
];

/** Starts a run for each input item and, unless told otherwise, waits for it. */
export const create: Operation = {
	concurrency,
	checks,
	runs: 'starts',
	mayStartRuns: (context) => context.getNode().parameters?.dryRun !== true,
	startsRun,
	sendsAgain,
	begin,
};

function concurrency(context: IExecuteFunctions): Concurrency {
	const given = readParameter(context, 0, 'options.maxConcurrency', 0);
	const count = readNumber(given, 'maxConcurrency', { ...CONCURRENCY_RANGE, whole: true });
	if (!startsRun(context, 0)) return ofDryRuns(count || Infinity);
	return count > 0 ? fixedAt(count) : AUTOMATIC;
}

function startsRun(context: IExecuteFunctions, itemIndex: number): boolean {
	try {
		return !readSwitch(context, itemIndex, 'dryRun');
	} catch {
		// 'Dry Run' has a wrong value: the item fails when it begins.
		return true;
	}
}

function sendsAgain(context: IExecuteFunctions, itemIndex: number): boolean {
	const given = readParameter(context, itemIndex, 'options.retryCreateOnServerError', false);
	return readBoolean(given, 'retryCreateOnServerError');
}

function checks(context: IExecuteFunctions): CheckItem | undefined {
	const checkFirst = readParameter(context, 0, 'options.checkFirst', false);
	return readBoolean(checkFirst, 'checkFirst') ? check : undefined;
}

async function begin(item: NotBegun, work: ItemWork): Promise<Item> {
	const given = await readItem(item, work);
	if ('is' in given) return given;
	if (!given.isDry) return await startRun(item, given, work);
	const agentId = await findAgent(given.agent, work, beginsUntil(given.plan, work));
	const answered = await sendDryRun(item, agentId, given, work);
	work.parking.hints.add(WAS_DRY_RUN);
	// Exactly what the service answered. What is not an object goes under `result`.
	return done(item, [(isJsonObject(answered) ? answered : { result: answered }) as IDataObject]);
}

/** The check of an item is its dry run. It passes if the service answers with success and has started no run. */
async function check(item: NotBegun, work: ItemWork): Promise<Check | undefined> {
	const given = await readItem(item, work);
	if ('is' in given || given.isDry) return undefined;
	const identified = await identify(item, given, work);
	if ('is' in identified) return undefined;
	const { agentId } = identified;
	return {
		key: fingerprintOf(work.service.key, agentId, given.bindings),
		ask: () => sendDryRun(item, agentId, given, work),
	};
}

/** What the user wants of an item. */
interface GivenItem extends Wanted {
	isDry: boolean;
}

/** Reads what an item is to start. If it goes on from an earlier attempt, that is given instead. */
async function readItem(item: NotBegun, work: ItemWork): Promise<Item | GivenItem> {
	const { context, itemIndex } = work;
	const waitPlan = await readWaitPlan(work, true);
	const continued = continueFrom(item, work, waitPlan);
	if (continued) return continued;
	const agent = readAgent(readParameter(context, itemIndex, 'agentId', ''));
	const isDry = readSwitch(context, itemIndex, 'dryRun');
	// A dry run is not waited for. The service may be busy for as long as a run would be.
	const plan = { ...waitPlan, waits: waitPlan.waits && !isDry };
	const listed = async () => (await agentOf(agent, work, beginsUntil(plan, work))).parameters;
	const bindings = await readBindings(context, itemIndex, listed, work.parking.hints);
	const retryOnServerError = sendsAgain(context, itemIndex);
	const waitsMs = plan.waits ? plan.options.timeoutMs || Infinity : 0;
	const patienceMs = Math.max(waitsMs, READ_PATIENCE_MS);
	return { plan, isDry, agent, bindings, retryOnServerError, patienceMs };
}

/**
 * Gives what the service answers to a dry run.
 *
 * @throws UnsafeError if this or an earlier dry run has started a run; UnansweredError if a check ends too late for
 * the create that follows it; a FailureError for any other answer
 */
async function sendDryRun(
	item: NotBegun,
	agentId: number,
	{ bindings, patienceMs, plan }: GivenItem,
	work: ItemWork,
): Promise<unknown> {
	const { service, signal, note, dryRuns } = work;
	dryRuns.refuseIfUnsafe();
	// A check has the time and the patience of the create that it comes before.
	const deadline = beginsUntil(plan, work);
	const patience = { patienceMs, deadline, signal };
	const answer = await sendWithRetry(service, dryRun(agentId, bindings), 'read', patience);
	const tooLate = whyTooLate(answer, deadline, agentId);
	if (tooLate) throw new UnansweredError(tooLate);
	const { baseUrl } = service;
	const answered = bodyOf(answer, { agentId, bindings, baseUrl });
	// The answer to a dry run has no documented shape; the answer to a create always has this status.
	if (!isRun(answered) || statusOf(answered) !== 'pending') return answered;
	const run = { baseUrl, agentId, runId: String(answered.run_id) };
	// The item is noted as in doubt, so that no later attempt begins it and an error names the run.
	note({ ...item, is: 'inDoubt', agentId, run });
	throw new UnsafeError(dryRuns.noteRun(run));
}
