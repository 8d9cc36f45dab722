import type { IDataObject } from 'n8n-workflow';

import {
	failed,
	failedForGood,
	isInDoubt,
	runOf,
	type Item,
} from '../../nodes/AgentInvocation/item.ts';
import { Memory } from '../../nodes/AgentInvocation/items/memory.ts';
import { outcomeOf } from '../support/outcome.cts';
import { contextOf, type Told } from '../support/simulation/world/context.cts';
import { RUN, waitingItem } from './waitingItem.cts';

beforeEach(() => jest.useFakeTimers({ now: 100 }));
afterEach(() => jest.useRealTimers());

const fingerprints = ['f'];
const waiting: Item = { ...waitingItem(), fingerprints };
const inDoubt: Item = { is: 'inDoubt', fingerprints };
const done: Item = { is: 'done', fingerprints, run: RUN, outputs: [{ a: 1 }] };
const notBegun: Item = { is: 'notBegun' };
const failure = { message: 'It failed', description: 'Mend it', details: { run_id: 'run' } };

/** Opens a memory as n8n would, which stores what it keeps as JSON in between. */
function host(told: Told = {}) {
	let kept: IDataObject = {};
	return {
		kept: () => kept,
		open(more: Told = {}, isKept = true) {
			kept = JSON.parse(JSON.stringify(kept)) as IDataObject;
			return Memory.open(contextOf({ ...told, kept, ...more }), isKept);
		},
	};
}

const twoItems = { items: [{ json: {} }, { json: {} }] };
const retrying = (maxTries?: number) => ({ node: { retryOnFail: true, maxTries: maxTries! } });
const another = { executionId: '2' };
const changed = { executionId: '2', node: { parameters: { a: 2 } } };

describe('the node begins', () => {
	test('for the first time where nothing is kept', () => {
		expect(host().open().opening.beginning).toBe('first');
		expect(host().open().opening.suspension).toBeUndefined();
	});

	test('by going on after a suspension, of which it is told once', () => {
		const n8n = host(retrying());
		n8n.open().suspend({ until: 7, source: 'there' });
		const memory = n8n.open();
		expect(memory.opening.beginning).toBe('resume');
		expect(memory.opening.suspension).toEqual({ until: 7, source: 'there' });
		expect(n8n.open().opening.suspension).toBeUndefined();
	});

	test('after a crash when another execution finds a suspension', () => {
		const n8n = host();
		n8n.open().suspend({ until: 7, source: null });
		expect(n8n.open(another).opening.beginning).toBe('afterCrash');
	});

	test.each([
		['finds no suspension', false, another],
		['finds one of a node that was entered otherwise', true, changed],
	])('with a retry when another execution %s', (_, suspends, more) => {
		const n8n = host();
		const memory = n8n.open();
		if (suspends) memory.suspend({ until: 7, source: null });
		expect(n8n.open(more).opening.beginning).toBe('retry');
	});

	test.each([
		['without Retry On Fail once', {}, 1],
		['three times by default', retrying(), 3],
		['twice at the least', retrying(1), 2],
		['as often as set', retrying(4), 4],
		['five times at the most', retrying(9), 5],
	])('%s, as n8n does', (_, told, attempts) => {
		const n8n = host(told);
		n8n.open();
		for (let attempt = 2; attempt <= attempts; attempt++) {
			expect(n8n.open().opening.beginning).toBe('retry');
		}
		expect(n8n.open().opening.beginning).toBe('exhausted');
	});

	test('as often as before after a suspension, which is no attempt, and in another execution', () => {
		const n8n = host(retrying(2));
		for (let time = 0; time < 5; time++) n8n.open().suspend({ until: 7, source: null });
		expect(n8n.open().opening.beginning).toBe('resume');
		expect(n8n.open().opening.beginning).toBe('retry');
		expect(n8n.open().opening.beginning).toBe('exhausted');
		expect(n8n.open(another).opening.beginning).toBe('retry');
	});

	test('no more often once it is exhausted', () => {
		const n8n = host(retrying(5));
		n8n.open().exhaust();
		expect(n8n.open().opening.beginning).toBe('exhausted');
	});

	test('with its date, which another execution counts anew', () => {
		const n8n = host();
		expect(n8n.open().beganOn).toBe(100);
		jest.setSystemTime(200);
		expect(n8n.open().beganOn).toBe(100);
		jest.setSystemTime(300);
		expect(n8n.open(another).beganOn).toBe(300);
	});

	test('at a host that passes a response, once it has passed one', () => {
		const n8n = host(retrying());
		expect(n8n.open().passesResponse(undefined)).toBe(false);
		expect(n8n.open().passesResponse({})).toBe(true);
		expect(n8n.open().passesResponse(undefined)).toBe(true);
	});
});

describe('after a crash', () => {
	const crash = (more: Told) => {
		const n8n = host(twoItems);
		const memory = n8n.open();
		memory.note(0, waiting);
		memory.suspend({ source: null });
		return n8n.open(more);
	};

	test.each([another, changed])(
		'what is not known to have begun may have started a run',
		(more) => {
			const memory = crash(more);
			memory.doubtOthers(2);
			expect(memory.item(1)).toEqual({ is: 'inDoubt' });
			expect(isInDoubt(memory.item(0))).toBe(false);
		},
	);

	test('what is known stays as it is', () => expect(crash(another).item(0)).toEqual(waiting));

	test('the execution that crashed is known, and no other one', () => {
		expect(crash(another).opening.crashedIn).toBe('1');
		expect(crash(changed).opening.crashedIn).toBe('1');
		expect(crash({}).opening.crashedIn).toBeUndefined();
		const n8n = host();
		n8n.open();
		expect(n8n.open(another).opening.crashedIn).toBeUndefined();
	});
});

describe('a retry', () => {
	const retried = (item: Item, more: Told = {}) => {
		const n8n = host(retrying());
		n8n.open().note(0, item);
		return n8n.open(more).item(0);
	};

	test('goes on from a result, and from a run that goes on', () => {
		expect(retried(done)).toEqual({ is: 'notBegun', earlier: done });
		expect(retried(waiting)).toEqual({ is: 'notBegun', earlier: waiting });
	});

	test('keeps doubt', () => expect(retried(inDoubt)).toEqual(inDoubt));

	test.each([waiting, done])('goes on from what there was before the failure: $is', (item) => {
		const earlier = { is: 'notBegun', earlier: item } as const;
		expect(retried(failed(item, failure))).toEqual(earlier);
		expect(retried(failed(earlier, failure))).toEqual(earlier);
	});

	test('stays in doubt after a failure', () => {
		expect(retried(failed(inDoubt, failure))).toEqual(inDoubt);
	});

	test('begins anew what has failed and left nothing', () => {
		expect(retried(failed(notBegun, failure))).toEqual(notBegun);
		expect(retried(failedForGood(waiting, failure))).toEqual(notBegun);
	});

	test('knows what was noted before the user changed the node', () => {
		expect(retried(done, changed)).toMatchObject({ earlier: { isOld: true } });
		expect(retried(done, another)).toEqual({ is: 'notBegun', earlier: done });
		const parameters = { a: 1, options: { timeout: 1 }, waitForCompletion: true };
		const n8n = host({ node: { parameters } });
		n8n.open().note(0, done);
		const node = { parameters: { a: 1, options: { timeout: 2 }, waitForCompletion: false } };
		expect(n8n.open({ ...another, node }).item(0)).toEqual({ is: 'notBegun', earlier: done });
	});

	test('that n8n will not make leaves all as it is', () => {
		const n8n = host();
		const item = failedForGood(waiting, failure);
		n8n.open().note(0, item);
		expect(n8n.open().item(0)).toEqual(item);
	});
});

describe('an item', () => {
	test('that has failed names its run', () => {
		const nameless = { ...failure, details: {} };
		expect(failed(waiting, nameless)).toMatchObject({
			failure: {
				message: 'It failed (run run-1 of agent 7)',
				details: { agent_id: 7, run_id: 'run-1' },
			},
		});
		expect(failed(inDoubt, nameless)).toMatchObject({ failure: nameless });
	});

	test('that has failed is plain JSON, and no longer than a message may be', () => {
		const long = { message: 'm'.repeat(9_000), description: 'd'.repeat(9_000), details: {} };
		const item = failed(notBegun, long);
		expect(JSON.parse(JSON.stringify(item))).toEqual(item);
		expect(item.failure.message.length).toBeLessThan(2_000);
		expect(item.failure.description.length).toBeLessThan(2_000);
	});

	test.each<[Item, boolean]>([
		[inDoubt, true],
		[failed(inDoubt, failure), true],
		[failed(waiting, failure), false],
		[notBegun, false],
		[done, false],
	])('%j may have a run that is not known: %s', (item, expected) => {
		expect(isInDoubt(item)).toBe(expected);
	});

	test.each<[Item, boolean]>([
		[waiting, true],
		[{ is: 'notBegun', earlier: done }, true],
		[failed({ is: 'notBegun', earlier: waiting }, failure), true],
		[failedForGood(waiting, failure), true],
		[inDoubt, false],
		[notBegun, false],
	])('%j has a run that is known: %s', (item, expected) => {
		expect(runOf(item)).toEqual(expected ? RUN : undefined);
	});
});

test('all known runs are told, in the order of their items', () => {
	const memory = host().open();
	memory.note(2, done);
	memory.note(1, inDoubt);
	memory.note(0, waiting);
	expect(memory.runs()).toEqual([
		{ ...RUN, itemIndex: 0 },
		{ ...RUN, itemIndex: 2 },
	]);
});

test('what has not begun takes no place', () => {
	const memory = host().open();
	memory.note(0, waiting);
	memory.note(0, notBegun);
	expect(memory.item(0)).toEqual(notBegun);
	memory.note(0, { is: 'notBegun', earlier: done });
	expect(memory.item(0)).toEqual({ is: 'notBegun', earlier: done });
});

test('each turn of a loop has its own memory, and the last one that succeeds leaves nothing', () => {
	const n8n = host();
	n8n.open({ runIndex: 0 }).note(0, waiting);
	expect(n8n.open({ runIndex: 1 }).item(0)).toEqual(notBegun);
	n8n.open({ runIndex: 1 }).clear();
	expect(runOf(n8n.open({ runIndex: 0, ...retrying() }).item(0))?.runId).toBe('run-1');
	n8n.open({ runIndex: 0 }).clear();
	expect(n8n.kept()).toEqual({});
});

test('what need not be kept is not', () => {
	const n8n = host();
	n8n.open({}, false).note(0, done);
	expect(n8n.kept()).toEqual({});
	expect(n8n.open({}, false).item(0)).toEqual(notBegun);
});

describe('what another version has noted', () => {
	test.each([
		[{ format: 2, byRunIndex: { 0: { items: [{ run_id: 'a' }, { runId: 'b' }] } } }, /a, b/],
		[{ format: 1, byRunIndex: 'c' }, /cannot be read\. Execute the workflow anew to start runs\.$/],
		['text', /cannot be read/],
		[0, /cannot be read/],
	])('%j starts nothing, and its runs are named', (agentInvocation, said) => {
		const opened = outcomeOf(() => Memory.open(contextOf({ kept: { agentInvocation } }), true));
		expect(opened).toMatchObject({
			ok: false,
			failure: {
				message: expect.stringContaining('Another version') as string,
				description: expect.stringMatching(said) as string,
			},
		});
	});
});
