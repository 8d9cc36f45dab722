import type { IDataObject } from 'n8n-workflow';

import type { ItemMemory } from '../../nodes/AgentInvocation/itemMemory.ts';
import type { Wait } from '../../nodes/AgentInvocation/itemState.ts';
import { RunMemory } from '../../nodes/AgentInvocation/items/memory.ts';
import { contextOf, type Told } from '../support/simulation/fakeContext.cts';

const BASE_URL = 'https://agents.example.com';
const run = { baseUrl: BASE_URL, agentId: 1, runId: 'run', startedOn: 5 };
const started: ItemMemory = { is: 'started', fingerprint: 'f', run };
const inDoubt: ItemMemory = { is: 'inDoubt', fingerprint: 'f' };
const done: ItemMemory = { is: 'done', fingerprint: 'f', run, outputs: [{ a: 1 }] };
const failure = { message: 'It failed', description: 'Mend it', details: { run_id: 'run' } };

/** Opens a memory as n8n would, which stores what it keeps as JSON in between. */
function host(told: Told = {}) {
	let kept: IDataObject = {};
	return {
		kept: () => kept,
		open(more: Told = {}, { date = 100 } = {}) {
			kept = JSON.parse(JSON.stringify(kept)) as IDataObject;
			const opened = RunMemory.open(contextOf({ ...told, kept, ...more }), date);
			if (!opened.ok) throw new Error(opened.failure.message);
			return opened.value;
		},
	};
}

const twoItems = { items: [{ json: {} }, { json: {} }] };
const retrying = (maxTries?: number) => ({ node: { retryOnFail: true, maxTries: maxTries! } });

describe('the node begins', () => {
	test('for the first time where nothing is kept', () => {
		const { beginning, goesOn, rested } = host().open();
		expect({ beginning, goesOn, rested }).toEqual({ beginning: 'first', goesOn: false });
	});

	test.each(['7', undefined])('without items, and in execution %p', (executionId) => {
		expect(host().open({ executionId }).stored).toEqual({
			executionId: executionId ?? '',
			entered: expect.stringMatching(/^.{16}$/) as string,
			attempts: 1,
			beganOn: 100,
			items: {},
		});
	});

	test('by going on after a rest, of which it is told once', () => {
		const n8n = host(retrying());
		n8n.open().rest({ until: 7, source: 'there' });
		const { beginning, goesOn, rested } = n8n.open();
		expect({ beginning, goesOn }).toEqual({ beginning: 'goingOn', goesOn: true });
		expect(rested).toEqual({ until: 7, source: 'there' });
		expect(n8n.open().rested).toBeUndefined();
	});

	test('after a crash when another execution finds a rest', () => {
		const n8n = host();
		n8n.open().rest({ until: 7, source: null });
		const { beginning, goesOn } = n8n.open({ executionId: '2' });
		expect({ beginning, goesOn }).toEqual({ beginning: 'afterCrash', goesOn: true });
	});

	test('with a retry when another execution finds no rest', () => {
		const n8n = host();
		n8n.open();
		const { beginning, goesOn } = n8n.open({ executionId: '2' });
		expect({ beginning, goesOn }).toEqual({ beginning: 'retry', goesOn: false });
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
			expect(n8n.open().beginning).toBe('retry');
		}
		const { beginning, goesOn } = n8n.open();
		expect({ beginning, goesOn }).toEqual({ beginning: 'exhausted', goesOn: true });
	});

	test('as often as before after a rest, which is no attempt, and in another execution', () => {
		const n8n = host(retrying(2));
		for (let rest = 0; rest < 5; rest++) n8n.open().rest({ until: 7, source: null });
		expect(n8n.open().beginning).toBe('goingOn');
		expect(n8n.open().beginning).toBe('retry');
		expect(n8n.open().beginning).toBe('exhausted');
		expect(n8n.open({ executionId: '2' }).beginning).toBe('retry');
	});

	test('with its date, which another execution counts anew', () => {
		const n8n = host();
		expect(n8n.open({}, { date: 100 }).stored.beganOn).toBe(100);
		expect(n8n.open({}, { date: 200 }).stored.beganOn).toBe(100);
		expect(n8n.open({ executionId: '2' }, { date: 300 }).stored.beganOn).toBe(300);
	});
});

describe('after a crash', () => {
	const crash = () => {
		const n8n = host(twoItems);
		const memory = n8n.open();
		memory.note(0, started);
		memory.rest({ source: null });
		return n8n.open({ executionId: '2' });
	};

	test('items that are not known to have begun may have started a run', () => {
		const memory = crash();
		memory.doubtOthers(2);
		expect(memory.item(0)).toEqual(started);
		expect(memory.recall(1, BASE_URL, 'any')).toEqual({ is: 'inDoubt', fingerprint: '' });
	});

	test('the execution that crashed is known, and no other one', () => {
		expect(crash().crashedIn).toBe('1');
		const n8n = host();
		n8n.open();
		expect(n8n.open({ executionId: '2' }).crashedIn).toBeUndefined();
		n8n.open().rest({ until: 7, source: null });
		expect(n8n.open().crashedIn).toBeUndefined();
	});
});

describe('a retry', () => {
	/** What is known of all items. */
	const allRetried = (item: ItemMemory) => {
		const n8n = host(retrying());
		n8n.open().note(0, item);
		return n8n.open({}, { date: 900 }).stored.items;
	};
	const retried = (item: ItemMemory) => allRetried(item)[0];

	test('keeps results', () => expect(retried(done)).toEqual(done));

	test('keeps doubt', () => expect(retried(inDoubt)).toEqual(inDoubt));

	test('waits for a run again, with its whole time limit and at once', () => {
		const wait = { dueOn: 1, leftMs: 5, troubles: 3, doubts: 0, isEarlier: false, isLong: true };
		const again = { ...started, run: { ...run, startedOn: 900 } };
		expect(retried({ ...started, wait })).toEqual(again);
		const failed = { is: 'failed', fingerprint: 'f', run, failure } as const;
		expect(retried({ ...failed, retriesFrom: started })).toEqual(again);
		expect(retried({ ...failed, retriesFrom: inDoubt })).toEqual(inDoubt);
	});

	test('begins anew what has failed and left nothing', () => {
		expect(allRetried({ is: 'failed', fingerprint: 'f', run, failure })).toStrictEqual({});
	});

	test('that n8n will not make leaves all as it is', () => {
		const n8n = host();
		const item = { is: 'failed', fingerprint: 'f', run, failure } as const;
		n8n.open().note(0, item);
		expect(n8n.open().item(0)).toEqual(item);
	});
});

describe('an item', () => {
	test('is known within its execution, whatever it would start now', () => {
		const memory = host().open();
		memory.note(0, started);
		expect(memory.recall(0, BASE_URL)).toEqual(started);
		expect(memory.recall(0, BASE_URL, 'other')).toEqual(started);
		expect(memory.recall(1, BASE_URL, 'f')).toBeUndefined();
	});

	test('is not known where its run is at another service', () => {
		const memory = host().open();
		memory.note(0, started);
		memory.note(1, inDoubt);
		expect(memory.recall(0, 'https://other.example.com')).toBeUndefined();
		expect(memory.recall(1, 'https://other.example.com')).toEqual(inDoubt);
	});

	test('is known in another execution, whatever it would start now, if the node is as it was', () => {
		const parameters = { a: 1, options: { timeout: 1 }, waitForCompletion: true };
		const n8n = host({ node: { parameters } });
		n8n.open().note(0, done);
		const node = { parameters: { a: 1, options: { timeout: 2 }, waitForCompletion: false } };
		expect(n8n.open({ executionId: '2', node }).recall(0, BASE_URL, 'other')).toEqual(done);
	});

	test('is known after the node has changed where it would start the same, and where it is in doubt', () => {
		const n8n = host();
		const memory = n8n.open();
		memory.note(0, done);
		memory.note(1, inDoubt);
		const other = n8n.open({ executionId: '2', node: { parameters: { a: 2 } } });
		expect(other.recall(0, BASE_URL, 'f')).toMatchObject(done);
		expect(other.recall(0, BASE_URL, 'other')).toBeUndefined();
		expect(other.recall(0, BASE_URL)).toBeUndefined();
		expect(other.recall(1, BASE_URL, 'other')).toMatchObject(inDoubt);
		// What is noted since then is known as before.
		other.note(0, done);
		expect(other.recall(0, BASE_URL, 'other')).toEqual(done);
	});

	test('that is forgotten is not known', () => {
		const memory = host().open();
		memory.note(0, started);
		memory.forget(0);
		expect(memory.item(0)).toBeUndefined();
	});

	test('that is done keeps its run and its output', () => {
		const memory = host().open();
		memory.note(0, started);
		memory.noteEnd(0, { is: 'done', outputs: [{ a: 1 }] });
		expect(memory.item(0)).toEqual(done);
		memory.noteEnd(1, { is: 'done', outputs: [] });
		expect(memory.item(1)).toEqual({ is: 'done', fingerprint: '', run: undefined, outputs: [] });
	});

	test('that has failed while its run goes on goes on from it', () => {
		const memory = host().open();
		memory.note(0, started);
		const cause = new Error('not to be stored');
		memory.noteEnd(0, { is: 'failed', failure: { ...failure, cause } });
		const item = { is: 'failed', fingerprint: 'f', run, failure, retriesFrom: started };
		expect(memory.item(0)).toStrictEqual(item);
		expect(memory.isInDoubt(0)).toBe(false);
	});

	test('whose run has failed leaves nothing to go on from', () => {
		const memory = host().open();
		memory.note(0, started);
		memory.noteEnd(0, { is: 'failed', failure, runEnded: true });
		expect(memory.item(0)).toEqual({ is: 'failed', fingerprint: 'f', run, failure });
	});

	test('that has failed in doubt stays in doubt', () => {
		const memory = host().open();
		memory.note(0, inDoubt);
		expect(memory.isInDoubt(0)).toBe(true);
		memory.noteEnd(0, { is: 'failed', failure });
		expect(memory.isInDoubt(0)).toBe(true);
		memory.noteEnd(1, { is: 'failed', failure });
		expect(memory.isInDoubt(1)).toBe(false);
		expect(memory.item(1)).toMatchObject({ retriesFrom: undefined });
	});
});

test('all known runs are told, in the order of their items', () => {
	const memory = host().open();
	memory.note(2, done);
	memory.note(1, inDoubt);
	memory.note(0, started);
	expect(memory.runs()).toEqual([
		{ ...run, itemIndex: 0 },
		{ ...run, itemIndex: 2 },
	]);
	expect(memory.runOf(1)).toBeUndefined();
	expect(memory.runOf(3)).toBeUndefined();
});

test('where a wait stands is noted by the date, for a run that was started', () => {
	const memory = host().open();
	memory.note(0, started);
	memory.note(1, done);
	const wait = { troubles: 2, doubts: 1, isEarlier: true, isLong: true } as Wait;
	const lastSeen = { run_id: 'run', status: 'running', output: 'not stored' };
	for (const index of [0, 1, 2]) memory.noteWait(index, { ...wait, lastSeen }, 10.4, 1_000);
	const noted = {
		dueOn: 1_010,
		leftMs: 10,
		status: 'running',
		troubles: 2,
		doubts: 1,
		isEarlier: true,
		isLong: true,
	};
	expect(memory.item(0)).toEqual({ ...started, wait: noted });
	expect(memory.item(1)).toEqual(done);
	expect(memory.item(2)).toBeUndefined();
	memory.noteWait(0, wait, 10.4, 1_000);
	expect(memory.item(0)).toEqual({ ...started, wait: { ...noted, status: undefined } });
});

test('each turn of a loop has its own memory, and the last one that succeeds leaves nothing', () => {
	const n8n = host();
	n8n.open({ runIndex: 0 }).note(0, started);
	expect(n8n.open({ runIndex: 1 }).item(0)).toBeUndefined();
	n8n.open({ runIndex: 1 }).clear();
	expect(n8n.open({ runIndex: 0, ...retrying() }).runOf(0)?.runId).toBe('run');
	n8n.open({ runIndex: 0 }).clear();
	expect(n8n.kept()).toEqual({});
});

describe('what another version has noted', () => {
	test.each([
		[{ format: 2, byRunIndex: { 0: { items: [{ run_id: 'a' }, { runId: 'b' }] } } }, /a, b/],
		[{ format: 1, byRunIndex: 'c' }, /cannot be read\. Execute the workflow anew to start runs\.$/],
		['text', /cannot be read/],
		[null, /cannot be read/],
	])('%j starts nothing, and its runs are named', (agentInvocation, said) => {
		const opened = RunMemory.open(contextOf({ kept: { agentInvocation } }), 0);
		expect(opened).toMatchObject({
			ok: false,
			failure: {
				message: expect.stringContaining('Another version') as string,
				description: expect.stringMatching(said) as string,
			},
		});
	});
});
