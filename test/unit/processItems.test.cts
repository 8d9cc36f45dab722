import type { IDataObject, NodeExecutionHint } from 'n8n-workflow';

import {
	done as doneItem,
	failed as failedItem,
	type Item,
} from '../../nodes/AgentInvocation/item.ts';
import { Memory } from '../../nodes/AgentInvocation/items/memory.ts';
import type { ItemWork, Operation } from '../../nodes/AgentInvocation/items/operation.ts';
import { processItems } from '../../nodes/AgentInvocation/items/processItems.ts';
import { FailureError } from '../../nodes/AgentInvocation/failure.ts';
import { fixedAt } from '../../nodes/AgentInvocation/items/concurrency.ts';
import { contextOf, type Told } from '../support/simulation/world/context.cts';
import { settle } from '../support/virtualTime.cts';
import { waitingItem } from './waitingItem.cts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

interface Node extends Told {
	kept?: IDataObject;
	continues?: boolean;
	/** The host's word on what is asked of it. */
	response?: { actionResponses: []; metadata: object };
	operation?: Partial<Operation>;
}

const credential = { baseUrl: 'https://agents.example.com/api/v1', apiKey: 'key' };

/** What becomes of an item, as it stands by then; nothing where the signal came first. */
type Outcome = ((item: Item) => Item) | undefined;
type Act = (work: ItemWork) => Promise<Outcome>;

const fail =
	(message: string): Outcome =>
	(item) =>
		failedItem(item, { message, description: 'Mend it.', details: {} });
const done =
	(...outputs: IDataObject[]): Outcome =>
	(item) =>
		doneItem(item, outputs);
const runOf = (index: number) => ({
	baseUrl: credential.baseUrl,
	agentId: 7,
	runId: `run${index}`,
});
const waitingFor = (index: number, changes = {}): Item => ({
	...waitingItem(changes),
	run: runOf(index),
});

/** Notes that the item's run has been started. */
function noteRun({ note, itemIndex }: ItemWork): void {
	note(waitingFor(itemIndex));
}

/** Runs a node of so many items of which each does this; gives its outputs, or what it threw. */
async function run(count: number, act: Act, told: Node = {}) {
	const hints: NodeExecutionHint[] = [];
	const { kept = {}, continues = false } = told;
	const items = Array.from({ length: count }, (_, item) => ({ json: { item } }));
	const node = { ...(continues && { onError: 'continueRegularOutput' as const }), ...told.node };
	const context = contextOf({
		credential: () => Promise.resolve(credential),
		...told,
		kept,
		items,
		node,
		hint: (hint) => hints.push(hint),
	});
	const operation: Operation = {
		concurrency: () => fixedAt(10),
		runs: 'starts',
		async begin(item, work) {
			let latest: Item = item;
			const note = (noted: Item) => work.note((latest = noted));
			const outcome = await act({ ...work, note });
			return outcome ? outcome(latest) : latest;
		},
		...told.operation,
	};
	try {
		const outputs = await settle(processItems(context, told.response, operation));
		return { outputs, kept, hints, thrown: undefined };
	} catch (error) {
		const thrown = error as Error & { description: string; context: IDataObject };
		return { outputs: undefined, kept, hints, thrown };
	}
}

const GO_ON =
	"To go on with the other items, set 'On Error' to 'Continue' in this node's settings.";
const RETRY = "'Retry' in Executions keeps the runs of the other items.";

describe('an item that fails ends the node, and the message', () => {
	test('of an only item says no more than what is wrong', async () => {
		const { thrown } = await run(1, () => Promise.resolve(fail('Wrong')));
		expect(thrown).toMatchObject({ message: 'Wrong', description: 'Mend it.' });
		expect(thrown?.context).toMatchObject({ itemIndex: 0 });
		expect(thrown?.context.runs).toBeUndefined();
	});

	test('of one of several says how to go on with the others', async () => {
		const { thrown } = await run(2, ({ itemIndex }) =>
			Promise.resolve(itemIndex === 1 ? fail('Wrong') : done({})),
		);
		expect(thrown?.description).toBe(`Mend it. ${GO_ON}`);
		expect(thrown?.context).toMatchObject({ itemIndex: 1 });
	});

	test('names the runs of the others, and not its own', async () => {
		const { thrown } = await run(3, (work) => {
			if (work.itemIndex > 0) noteRun(work);
			return Promise.resolve(work.itemIndex === 1 ? fail('Wrong') : done({}));
		});
		expect(thrown?.description).toMatch(`Mend it. ${GO_ON} ${RETRY}`);
		expect(thrown?.context.runs).toEqual([{ ...runOf(2), itemIndex: 2 }]);
	});

	test('names the items of which nobody knows whether they have started a run', async () => {
		const { thrown } = await run(3, async ({ note, itemIndex }) => {
			if (itemIndex === 1) return done({});
			note({ is: 'inDoubt' });
			// The second to fail is noted as well, since the node waits for what is under way.
			if (itemIndex === 2) await new Promise((resolve) => setTimeout(resolve, 10));
			return fail(`Wrong ${itemIndex}`);
		});
		expect(thrown?.message).toBe('Wrong 0');
		expect(thrown?.description).toBe(
			`Mend it. To get the results of the other items, set 'On Error' to 'Continue' in this node's settings, save the workflow, and choose 'Retry with currently saved workflow' in Executions. Runs may have been started for these items too: 2.`,
		);
	});
});

describe('what is thrown', () => {
	const thrown = Object.assign(new Error('No such expression'), { description: 'Look at it.' });
	const throwing = (error: unknown) => () => {
		throw error;
	};

	test.each<[unknown, string, string]>([
		[thrown, 'No such expression', 'Look at it.'],
		[new Error('Odd'), 'Odd', ''],
		[Object.assign(new Error('Odd'), { description: 7 }), 'Odd', ''],
		['a text', 'a text', ''],
	])('by an item, %j, is its failure', async (error, message, description) => {
		const { outputs } = await run(
			2,
			({ itemIndex }) => {
				if (itemIndex === 0) throw error;
				return Promise.resolve(done({ item: itemIndex }));
			},
			{ continues: true },
		);
		expect(outputs).toMatchObject([[{ json: { error: message } }, { json: { item: 1 } }]]);
		const stopping = await run(1, throwing(error));
		expect(stopping.thrown).toMatchObject({ message, description });
	});

	test('by an item whose run is known names the run', async () => {
		const { thrown: seen } = await run(1, (work) => {
			noteRun(work);
			throw new Error('Odd');
		});
		expect(seen?.message).toBe('Odd (run run0 of agent 7)');
		expect(seen?.context.details).toEqual({ agent_id: 7, run_id: 'run0' });
	});

	test("by what is read for all items is each one's failure", async () => {
		const operation = { concurrency: throwing(thrown) };
		const { outputs } = await run(2, throwing(new Error('not begun')), {
			operation,
			continues: true,
		});
		const error = 'No such expression';
		expect(outputs).toMatchObject([[{ json: { error } }, { json: { error } }]]);
	});

	test('by the credential is too', async () => {
		const error = "This node's credential cannot be used";
		const { outputs } = await run(2, throwing(new Error('begun')), {
			credential: () => Promise.reject(new Error('Credential not found')),
			continues: true,
		});
		expect(outputs).toMatchObject([[{ json: { error } }, { json: { error } }]]);
	});
});

describe('notes of another version of the package', () => {
	const told = () => ({ kept: { agentInvocation: { format: 2, run_id: 'run7' } } });
	const begin = () => Promise.reject(new Error('begun'));
	const message = expect.stringMatching(/^Another version of this package/) as string;

	test('end the node, and name the runs in them', async () => {
		const { thrown } = await run(2, begin, told());
		expect(thrown).toMatchObject({
			message,
			description: expect.stringContaining('run7') as string,
		});
	});

	test('are the failure of each item where the node continues', async () => {
		const { outputs } = await run(2, begin, { ...told(), continues: true });
		expect(outputs).toMatchObject([[{ json: { error: message } }, { json: { error: message } }]]);
	});
});

describe('what has become of items', () => {
	/** Fails the only item of an operation that may be retried; gives what is remembered of it. */
	async function remembered(operation: Partial<Operation>) {
		const { kept } = await run(1, () => Promise.resolve(fail('Wrong')), {
			operation,
			continues: true,
			node: { retryOnFail: true },
		});
		return kept;
	}

	test('is remembered where they have runs', async () => {
		expect(JSON.stringify(await remembered({ runs: 'gets' }))).toContain('Wrong');
	});

	test('is not where they have none: n8n would store it', async () => {
		expect(await remembered({ runs: undefined })).toEqual({});
	});
});

describe('the outputs', () => {
	test('are in the order of the items, each paired with its own', async () => {
		const { outputs, kept } = await run(3, async ({ itemIndex }) => {
			await new Promise((resolve) => setTimeout(resolve, 100 - 10 * itemIndex));
			return done({ item: itemIndex }, { more: itemIndex });
		});
		expect(outputs).toEqual([
			[0, 1, 2].flatMap((item) => [
				{ json: { item }, pairedItem: { item } },
				{ json: { more: item }, pairedItem: { item } },
			]),
		]);
		expect(kept).toEqual({});
	});

	test('come with what the output panel is to say', async () => {
		const { hints } = await run(1, ({ parking }) => {
			parking.hints.add('It stayed in memory.');
			return Promise.resolve(done({}));
		});
		expect(hints).toEqual([{ message: 'It stayed in memory.', location: 'outputPane' }]);
	});

	test.each<[string, Partial<Told['node']> | undefined, IDataObject | undefined, boolean]>([
		['', undefined, { error: 'x' }, false],
		['', { retryOnFail: true }, { output: 'x' }, false],
		['', { retryOnFail: true }, { error: 'x' }, true],
		[' (without any)', { retryOnFail: true }, undefined, false],
	])(
		'leave a memory only where n8n may retry the node%s: %j, %j',
		async (_, node, output, isKept) => {
			const begin = () => Promise.resolve(done(...(output ? [output] : [])));
			const { kept } = await run(1, begin, { ...(node && { node }) });
			expect('agentInvocation' in kept).toBe(isKept);
		},
	);
});

describe('an execution that is cancelled', () => {
	const STOPPED: Outcome = undefined;

	interface Cancelling {
		isContinued?: boolean;
		second?: Outcome;
		node?: Partial<Told['node']>;
	}

	/** Cancels it while the second item is under way, and the first has done this. */
	async function cancel(
		first: (work: ItemWork) => Outcome,
		{ isContinued = false, second = STOPPED, node = {} }: Cancelling = {},
	) {
		const cancelling = new AbortController();
		setTimeout(() => cancelling.abort(), 100);
		const begin: Act = async (work) => {
			if (work.itemIndex === 0) return first(work);
			if (isContinued) noteRun(work);
			await new Promise((resolve) => work.signal.addEventListener('abort', resolve));
			return second;
		};
		return await run(2, begin, { cancel: cancelling.signal, continues: isContinued, node });
	}

	test('says so, and no more where nothing was begun', async () => {
		const { thrown } = await cancel(() => done({}));
		expect(thrown?.message).toBe('The execution was canceled');
		expect(thrown?.description ?? '').toBe('');
	});

	test('does not call an item failed whose request was given up', async () => {
		const cancelling = new AbortController();
		setTimeout(() => cancelling.abort(), 100);
		const { thrown } = await run(
			1,
			async ({ signal }) => {
				await new Promise((resolve) => signal.addEventListener('abort', resolve));
				throw new FailureError({ message: 'Given up', description: '', details: {} });
			},
			{ cancel: cancelling.signal },
		);
		expect(thrown?.message).toBe('The execution was canceled');
		expect(thrown?.description ?? '').toBe('');
	});

	test('names runs, and what has failed meanwhile', async () => {
		const first = (work: ItemWork) => {
			noteRun(work);
			return done({});
		};
		const { thrown } = await cancel(first, { second: fail('Wrong') });
		expect(thrown?.message).toBe('The execution was canceled');
		expect(thrown?.description).toMatch(/^Its runs go on at the service\./);
		expect(thrown?.description).toContain("Before, items had failed: 'Wrong'.");
		expect(thrown?.context.runs).toEqual([{ ...runOf(0), itemIndex: 0 }]);
	});

	test('fails each item that has not ended where the node continues, and names its run', async () => {
		const { outputs } = await cancel(() => done({ item: 0 }), { isContinued: true });
		expect(outputs).toMatchObject([
			[
				{ json: { item: 0 } },
				{
					json: {
						error: 'The execution was canceled (run run1 of agent 7)',
						details: { agent_id: 7, run_id: 'run1' },
					},
				},
			],
		]);
	});

	test('leaves an item that has failed before as it is', async () => {
		const { outputs } = await cancel(() => fail('Wrong'), { isContinued: true });
		expect(outputs).toMatchObject([
			[
				{ json: { error: 'Wrong' } },
				{ json: { error: expect.stringContaining('canceled') as string } },
			],
		]);
	});

	test('tells a model what becomes of the runs', async () => {
		const node = { type: 'agentInvocationTool' };
		const { outputs } = await cancel(() => done({}), { isContinued: true, node });
		const advice = 'Runs that were started go on at the service.';
		expect(outputs).toMatchObject([[{}, { json: { advice } }]]);
	});
});

describe('a suspension', () => {
	const response = { actionResponses: [] as [], metadata: {} };
	const settings = { saveExecutionProgress: true };

	/** Begins three items on a host that saves progress: one is done at once, two wait. */
	async function suspend(operation: Partial<Operation> = {}) {
		const begin: Act = ({ itemIndex, parking }) => {
			if (itemIndex === 0) return Promise.resolve(done({}));
			parking.hints.add('It waits.');
			const dueOn = Date.now() + 100_000;
			return Promise.resolve(() => waitingFor(itemIndex, { dueOn, isLong: true }));
		};
		const before = [{ name: 'Source', type: 'n8n-nodes-base.manualTrigger' }];
		return await run(3, begin, { response, settings, before, operation });
	}

	test('is asked for once the first runs have started, where progress is saved', async () => {
		const { outputs } = await suspend();
		expect(outputs).toMatchObject({
			actions: [
				{ input: { agentInvocationSuspension: { runs: 2, source: [{ previousNode: 'Source' }] } } },
			],
		});
	});

	test('is not where no run is started: the wait is stored when it is long', async () => {
		const { outputs } = await suspend({ runs: 'gets' });
		const [action] = (outputs as { actions: Array<{ input: IDataObject }> }).actions;
		expect(action?.input.agentInvocationSuspension).toMatchObject({ runs: 2 });
		expect(action?.input.agentInvocationSuspension).toHaveProperty('until', Date.now() + 100_000);
	});
});

describe('after a suspension', () => {
	const response = { actionResponses: [] as [], metadata: {} };
	const source = [{ previousNode: 'If' }];

	interface Before {
		/** Whether n8n ends the execution, and retries it. */
		isRetried?: boolean;
		/** Whether the node has failed and not been suspended. */
		hasFailed?: boolean;
	}

	/** Runs a node of two items that was suspended before, with these known. */
	async function resume(
		items: Record<number, Item>,
		told: Node = {},
		{ isRetried = false, hasFailed = false }: Before = {},
	) {
		const begun: number[] = [];
		const entry = { source: { main: [{ previousNode: 'Run' }] } };
		const kept: IDataObject = {};
		const executionId = isRetried ? '0' : '1';
		const { node = {} } = told;
		const memory = Memory.open(contextOf({ kept, executionId, node }), true);
		for (const [index, item] of Object.entries(items)) memory.note(Number(index), item);
		if (!hasFailed) memory.suspend({ source });
		const begin: Act = ({ itemIndex }) => {
			begun.push(itemIndex);
			return Promise.resolve(done({ began: itemIndex }));
		};
		return { ...(await run(2, begin, { response, entry, ...told, kept })), begun, entry };
	}

	test('the node begins what had not begun, and gives what was done', async () => {
		const outputs = [{ was: 'done' }];
		const seen = await resume({ 0: { is: 'done', outputs } });
		expect(seen.begun).toEqual([1]);
		expect(seen.outputs).toMatchObject([[{ json: { was: 'done' } }, { json: { began: 1 } }]]);
	});

	test('its input comes from where it came from before', async () => {
		const { entry } = await resume({});
		expect(entry.source.main).toEqual(source);
	});

	test('a Max Concurrency that cannot be read any more fails what has not ended', async () => {
		const unreadable = { message: 'Unreadable', description: '', details: {} };
		const outputs = [{ was: 'done' }];
		const { outputs: given } = await resume(
			{ 0: { is: 'done', outputs }, 1: waitingFor(1) },
			{
				operation: {
					concurrency: () => {
						throw new FailureError(unreadable);
					},
				},
				continues: true,
			},
		);
		expect(given).toMatchObject([
			[
				{ json: { was: 'done' } },
				{ json: { error: expect.stringMatching(/^Unreadable/) as string } },
			],
		]);
	});

	test('an item whose options cannot be read any more in a Retry has failed, and its run is named', async () => {
		const { thrown } = await resume(
			{ 0: { is: 'done', outputs: [] }, 1: waitingFor(1) },
			{ parameters: { options: { timeout: -1 } } },
			{ isRetried: true },
		);
		expect(thrown?.message).toMatch(/Time Limit \(Seconds\).*run1/);
	});

	test.each([
		['starts', true],
		['gets', false],
	] as const)(
		'of an execution that crashed, an operation that %s runs has items in doubt: %s',
		async (runs, isInDoubt) => {
			const begin: Operation['begin'] = async (item, { itemIndex }) => {
				await new Promise((resolve) => setTimeout(resolve, 10 * itemIndex));
				return fail('Wrong')!(item);
			};
			const { thrown } = await resume({}, { operation: { runs, begin } }, { isRetried: true });
			expect(/may have been started/.test(thrown?.description ?? '')).toBe(isInDoubt);
		},
	);

	const other = { ...credential, baseUrl: 'https://elsewhere.example.com/api/v1' };

	test('at another service than the runs are at, their items fail', async () => {
		const { thrown, begun } = await resume(
			{ 1: waitingFor(1) },
			{ credential: () => Promise.resolve(other) },
		);
		expect(thrown?.message).toMatch(/^This node.s credential was removed or changed/);
		expect(begun).not.toContain(1);
	});

	test('a retry begins anew, at whatever service', async () => {
		const node = { retryOnFail: true, maxTries: 2 };
		const { begun, thrown } = await resume(
			{},
			{ credential: () => Promise.resolve(other), node },
			{ hasFailed: true },
		);
		expect(thrown).toBeUndefined();
		expect(begun).toEqual([0, 1]);
	});
});
