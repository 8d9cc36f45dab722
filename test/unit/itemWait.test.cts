import { systemClock as clock } from '../../nodes/AgentInvocation/clock.ts';
import type { Parking } from '../../nodes/AgentInvocation/engine/parking.ts';
import type { ItemWork, Operation } from '../../nodes/AgentInvocation/items/operation.ts';
import { pollItem, resumeWait, waitFor } from '../../nodes/AgentInvocation/items/itemWait.ts';
import type { ItemMemory } from '../../nodes/AgentInvocation/itemMemory.ts';
import { failed, type Step, type Wait } from '../../nodes/AgentInvocation/itemState.ts';
import { RunMemory } from '../../nodes/AgentInvocation/items/memory.ts';
import { readWaitOptions } from '../../nodes/AgentInvocation/waiting/options.ts';
import type { Answer } from '../../nodes/AgentInvocation/service/answer.ts';
import { RUN_ID, simulateRun } from '../support/simulation/simulatedRun.cts';
import { contextOf } from '../support/simulation/fakeContext.cts';
import { settle } from '../support/virtualTime.cts';

const SECOND = 1_000;
const DAY = 24 * 3_600 * SECOND;
const ALIVE = { run_id: RUN_ID, status: 'running' };
const FINISHED = { run_id: RUN_ID, status: 'succeeded' };

beforeEach(() => jest.useFakeTimers({ now: DAY }));
afterEach(() => jest.useRealTimers());

/** What the node of one item works with, with these options, at a service that gives this answer in place of its own. */
function workOf(options: object = {}, parking: Partial<Parking> = {}, answer?: Answer): ItemWork {
	const context = contextOf({ parameters: { options } });
	const memory = RunMemory.open(context, clock.date());
	if (!memory.ok) throw new Error(memory.failure.message);
	const wide = { latestEndOn: Infinity, pollsFrom: 0, parksFrom: 0 };
	return {
		context,
		itemIndex: 0,
		service: simulateRun(DAY, () => answer).service,
		memory: memory.value,
		parking: { obstacle: undefined, checkpoints: false, hints: new Set(), ...wide, ...parking },
		signal: new AbortController().signal,
	};
}

function optionsOf({ context }: ItemWork) {
	const options = readWaitOptions(context, 0);
	if (!options.ok) throw new Error(options.failure.message);
	return options.value;
}

function waitIn(step: Step): Wait {
	if (step.is !== 'waiting') throw new Error(`The item is ${step.is}`);
	return step.wait;
}

const knownRun = () => ({
	baseUrl: 'https://agents.example.com/api/v1',
	agentId: 7,
	runId: RUN_ID,
	startedOn: clock.date(),
});

describe('a wait that begins', () => {
	const begin = (work: ItemWork, lastSeen?: Wait['lastSeen'], isEarlier?: boolean) =>
		waitIn(waitFor(knownRun(), optionsOf(work), work, { lastSeen, isEarlier }));

	test('is for the run, from now on', () => {
		const work = workOf({ timeout: 90 });
		expect(begin(work, ALIVE)).toMatchObject({
			agentId: 7,
			runId: RUN_ID,
			options: { timeoutMs: 90 * SECOND },
			startedAt: clock.now(),
			deadline: clock.now() + 90 * SECOND,
			lastSeen: ALIVE,
			isEarlier: false,
			troubles: 0,
			doubts: 0,
		});
	});

	test.each<[string, number, Wait['lastSeen'], boolean]>([
		['has just been started is due after its first delay', 300, ALIVE, false],
		['was not asked for yet is due at once', 0, undefined, false],
		['has finished already is due at once, for its output', 0, FINISHED, false],
		['an earlier attempt has started is due at once', 0, ALIVE, true],
	])('for a run that %s', (_, ms, lastSeen, isEarlier) => {
		const wait = begin(workOf(), lastSeen, isEarlier);
		expect(wait.dueAt - clock.now()).toBe(ms);
		expect(wait.isEarlier).toBe(isEarlier);
	});

	test('without a time limit ends when the workflow does', () => {
		expect(begin(workOf({ timeout: 0 }), ALIVE).deadline).toBe(Infinity);
		const endsSoon = { latestEndOn: clock.date() + 40 * SECOND };
		for (const timeout of [0, 90]) {
			expect(begin(workOf({ timeout }, endsSoon), ALIVE).deadline).toBe(clock.now() + 40 * SECOND);
		}
		expect(begin(workOf({ timeout: 30 }, endsSoon), ALIVE).deadline).toBe(
			clock.now() + 30 * SECOND,
		);
	});

	test.each([
		['auto', {}, undefined, 'auto'],
		['auto', { pollInterval: 64 }, undefined, 'memory'],
		['auto', { pollInterval: 65 }, undefined, 'auto'],
		['auto', {}, 'an obstacle', 'auto'],
		['stored', {}, undefined, 'stored'],
		['stored', { pollInterval: 64 }, undefined, 'stored'],
		['stored', {}, 'an obstacle', 'auto'],
		['stored', { pollInterval: 64 }, 'an obstacle', 'memory'],
		['memory', {}, undefined, 'memory'],
		['memory', { pollInterval: 65 }, 'an obstacle', 'memory'],
	])('set to %s, with %j and %s, is in %s', (whereToWait, options, obstacle, where) => {
		const work = workOf({ whereToWait, ...options }, { obstacle });
		expect(begin(work, ALIVE).where).toBe(where);
	});
});

describe('a poll', () => {
	const notFound: Answer = {
		kind: 'rejected',
		status: 404,
		serviceError: { code: 'run_not_found', message: '', requestId: 'r' },
	};
	const refused: Answer = { kind: 'rejected', status: 401 };
	const ended = (status: string): Answer => ({
		kind: 'ok',
		status: 200,
		body: { run_id: RUN_ID, status },
	});

	/** Polls the run of an item whose execution has noted it; tells whether it was begun anew. */
	async function poll(answer: Answer, isEarlier: boolean, runs: Operation['runs'] = 'starts') {
		const work = workOf({}, {}, answer);
		work.memory.note(0, { is: 'started', fingerprint: '', run: knownRun() });
		const begunAnew = failed({ failure: { message: 'Begun anew', description: '', details: {} } });
		const operation = { runs, begin: () => Promise.resolve(begunAnew) } as unknown as Operation;
		const wait = waitIn(waitFor(knownRun(), optionsOf(work), work, { lastSeen: ALIVE, isEarlier }));
		jest.advanceTimersByTime(20 * SECOND);
		const step = await settle(pollItem(wait, work, operation));
		return { step, isBegunAnew: step === begunAnew, known: work.memory.item(0) };
	}

	test.each([ended('failed'), ended('cancelled'), notFound])(
		'begins the item anew where the run of an earlier attempt is of no use: %j',
		async (answer) => {
			const { isBegunAnew, known } = await poll(answer, true);
			expect(isBegunAnew).toBe(true);
			expect(known).toBeUndefined();
		},
	);

	test.each([ended('failed'), notFound])(
		'fails where this attempt has started it: %j',
		async (answer) => {
			const { step, isBegunAnew, known } = await poll(answer, false);
			expect([step.is, isBegunAnew, known?.is]).toEqual(['failed', false, 'started']);
		},
	);

	test('fails where the operation starts no runs', async () => {
		const { step, isBegunAnew } = await poll(ended('failed'), true, 'gets');
		expect([step.is, isBegunAnew]).toEqual(['failed', false]);
	});

	test('fails, and keeps the run, where nothing is known of its end', async () => {
		const { step, isBegunAnew, known } = await poll(refused, true);
		expect([step.is, isBegunAnew, known?.is]).toEqual(['failed', false, 'started']);
	});

	test('gives what is there, and goes on with what is not', async () => {
		expect((await poll(ended('succeeded'), true)).step.is).toBe('done');
		expect((await poll(ended('running'), true)).step).toMatchObject({
			is: 'waiting',
			wait: { isEarlier: false },
		});
	});

	/** The hints after a poll so long after the wait has begun. */
	async function hintsAfter(seconds: number, options: object, parking: Partial<Parking> = {}) {
		// The clock has gone for longer than the wait.
		jest.advanceTimersByTime(600 * SECOND);
		const work = workOf({ timeout: 0, ...options }, parking, ended('running'));
		const wait = waitIn(waitFor(knownRun(), optionsOf(work), work, { lastSeen: ALIVE }));
		jest.advanceTimersByTime(seconds * SECOND);
		await settle(pollItem(wait, work, { runs: 'starts' } as Operation));
		return [...work.parking.hints];
	}

	test.each<[string, number, object, Partial<Parking>, string | undefined]>([
		['after 325 s, keeps the wait in memory, and is not yet named', 325, {}, {}, undefined],
		['after that, keeps the wait in memory', 326, {}, {}, 'The wait stayed in memory'],
		[
			'is not kept to in a stored wait',
			1,
			{ whereToWait: 'stored' },
			{},
			'polled every 65 seconds',
		],
		['is what the user wants, in memory only', 326, { whereToWait: 'memory' }, {}, undefined],
		['of 65 s is in the way of nothing', 326, { pollInterval: 65 }, {}, undefined],
		[
			'is not what keeps the wait in memory: an obstacle does',
			326,
			{},
			{ obstacle: 'An AI tool' },
			undefined,
		],
	])('an interval under 65 s %s', async (_, seconds, options, parking, hint) => {
		const hints = await hintsAfter(seconds, { pollInterval: 64, ...options }, parking);
		expect(hints).toEqual(hint ? [expect.stringContaining(hint)] : []);
	});
});

describe('a wait that is resumed', () => {
	const stored = { troubles: 2, doubts: 1, isEarlier: true, isLong: true };

	/** Resumes the wait for a run that was started 200 s ago. */
	function resume(
		wait: (ItemMemory & { is: 'started' })['wait'],
		options: object = {},
		parking: Partial<Parking> = {},
	): Step {
		const run = { ...knownRun(), startedOn: clock.date() - 200 * SECOND };
		return resumeWait(
			{ is: 'started', fingerprint: '', run, wait },
			workOf(options, parking),
			false,
		);
	}

	test('goes on as it was', () => {
		const dueOn = clock.date() + 30 * SECOND;
		expect(
			waitIn(resume({ ...stored, dueOn, leftMs: 30 * SECOND, status: 'running' })),
		).toMatchObject({
			...stored,
			agentId: 7,
			runId: RUN_ID,
			lastSeen: ALIVE,
			startedAt: clock.now() - 200 * SECOND,
			deadline: clock.now() + 3_400 * SECOND,
			dueAt: clock.now() + 30 * SECOND,
			where: 'auto',
		});
	});

	test('does not take a run that was never seen for one that was', () => {
		const wait = waitIn(resume({ ...stored, dueOn: clock.date(), leftMs: 0 }));
		expect(wait.lastSeen).toBeUndefined();
	});

	test('of a run that the node has started knows that there is one', () => {
		const memory = { is: 'started' as const, fingerprint: '', run: knownRun() };
		expect(waitIn(resumeWait(memory, workOf(), true)).lastSeen).toEqual({
			run_id: RUN_ID,
			status: 'pending',
		});
	});

	test('of which no more than the run is known is due at once', () => {
		expect(waitIn(resume(undefined))).toMatchObject({
			dueAt: clock.now(),
			troubles: 0,
			doubts: 0,
			isEarlier: false,
			isLong: false,
			lastSeen: undefined,
		});
	});

	test.each([
		['was put back: due after one delay at the latest', 10_000, 90],
		['was put ahead: due now', -10_000, 0],
		['was not changed: when it was due, as long as that may be', 90, 90],
	])('after a clock that %s', (_, seconds, dueIn) => {
		const dueOn = clock.date() + seconds * SECOND;
		const { dueAt } = waitIn(resume({ ...stored, dueOn, leftMs: 90 * SECOND }));
		expect(dueAt).toBe(clock.now() + dueIn * SECOND);
	});

	test('has not waited for less than no time', () => {
		const run = { ...knownRun(), startedOn: clock.date() + 200 * SECOND };
		const memory = { is: 'started' as const, fingerprint: '', run };
		expect(waitIn(resumeWait(memory, workOf(), false)).startedAt).toBe(clock.now());
	});

	test('is not polled before n8n has come up', () => {
		const pollsFrom = clock.now() + 12 * SECOND;
		expect(waitIn(resume(undefined, {}, { pollsFrom })).dueAt).toBe(pollsFrom);
	});

	test('fails where its options can no longer be read', () => {
		expect(resume(undefined, { timeout: -1 })).toMatchObject({
			is: 'failed',
			failure: { message: expect.stringContaining('Time Limit (Seconds)') as string },
		});
	});
});
