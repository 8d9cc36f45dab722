import fc from 'fast-check';

import type { Answer } from '../../nodes/AgentInvocation/api/answer.ts';
import { succeed } from '../../nodes/AgentInvocation/api/failure.ts';
import {
	isSettled,
	lookAtDueRuns,
	secondsUntilNextLook,
	type ParkedBatch,
} from '../../nodes/AgentInvocation/parking/parkedBatch.ts';
import { systemClock as clock } from '../../nodes/AgentInvocation/waiting/clock.ts';
import { ParkingLot, type Offer } from '../../nodes/AgentInvocation/waiting/parkingLot.ts';
import type { Wait } from '../../nodes/AgentInvocation/waiting/waitForRun.ts';
import { RUN_ID, simulateRun } from './simulatedRun.cts';
import { settle } from './virtualTime.cts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

let began: number;
beforeEach(() => {
	jest.useFakeTimers();
	began = clock.now();
});
afterEach(() => jest.useRealTimers());

describe('a parked wait', () => {
	interface Case {
		durationMs: number;
		/** How long the wait has gone on in the node. */
		waitedMs: number;
		timeoutMs?: number;
		pollIntervalMs?: number;
		/** How late n8n wakes the execution up, in ms. */
		wakesLateMs?: number;
		/** What a look meets in place of an answer, by its number. */
		trouble?: (request: number) => Answer | undefined;
	}

	/** Waits as the watcher does, with nothing kept but the batch as JSON. Times since the creation, in ms. */
	async function waitParked({
		durationMs,
		waitedMs,
		timeoutMs = 0,
		pollIntervalMs = 0,
		wakesLateMs = 0,
		trouble,
	}: Case) {
		const createdOn = clock.date();
		const { service, askedAt } = simulateRun(durationMs, trouble);
		jest.advanceTimersByTime(waitedMs);
		const leftMs = timeoutMs > 0 ? timeoutMs - waitedMs : Infinity;
		let batch: ParkedBatch = {
			items: [
				{
					wait: {
						agentId: 1,
						runId: RUN_ID,
						lastSeen: { run_id: RUN_ID, status: 'running' },
						startedOn: createdOn,
						timeoutMs,
						pollIntervalMs,
						lookOn: clock.date() + Math.min(65 * SECOND, leftMs),
						endsWithWorkflow: false,
						options: {
							timeoutMs,
							pollIntervalMs,
							onTimeout: 'error',
							onUnsuccessfulRun: 'error',
							outputFormat: 'text',
							parksLongWaits: true,
						},
					},
				},
			],
			runs: [],
			stopsAtFailure: false,
			node: { id: '1', name: 'Run', type: 'agentInvocation', typeVersion: 1 },
			executionId: '1',
		};
		const delays: number[] = [];
		while (!isSettled(batch)) {
			const delay = secondsUntilNextLook(batch, clock.date()) * SECOND;
			delays.push(delay);
			jest.advanceTimersByTime(delay + wakesLateMs);
			const stored = JSON.parse(JSON.stringify(batch)) as ParkedBatch;
			batch = await settle(lookAtDueRuns(stored, succeed(service), clock));
		}
		return { batch, delays, askedAt, ms: clock.date() - createdOn };
	}

	test.each([
		[400, 0],
		[600, 0],
		[3_600, 0],
		[24 * 3_600, 0],
		[330, 450],
		[400, 500],
		[500, 650],
	])(
		'sees the end of a run of %d s at most 20 %% late, with a time limit of %d s',
		async (seconds, timeout) => {
			const durationMs = seconds * SECOND;
			const { batch, ms } = await waitParked({
				durationMs,
				waitedMs: 325 * SECOND,
				timeoutMs: timeout * SECOND,
			});
			expect(batch.items).toMatchObject([{ result: { ok: true, value: { output: 'Done.' } } }]);
			expect(ms - durationMs).toBeGreaterThanOrEqual(0);
			expect(ms - durationMs).toBeLessThanOrEqual(durationMs * 0.2);
		},
	);

	test.each<[string, Answer]>([
		['503', { kind: 'serverError', status: 503 }],
		['a lost connection', { kind: 'connectionLost' }],
		["a proxy's page", { kind: 'foreign', status: 200 }],
		['429', { kind: 'rateLimited', status: 429 }],
	])('goes on through an hour of %s', async (_, answer) => {
		const { batch, delays } = await waitParked({
			durationMs: HOUR,
			waitedMs: 325 * SECOND,
			trouble: () => (clock.now() - began < HOUR ? answer : undefined),
		});
		expect(batch.items).toMatchObject([{ result: { ok: true, value: { output: 'Done.' } } }]);
		// It is parked all the while, and not asking in memory.
		expect(Math.min(...delays)).toBeGreaterThanOrEqual(65 * SECOND);
	});

	test('a Retry-After longer than the delay is waited out, with one request and no more', async () => {
		const { delays, askedAt } = await waitParked({
			durationMs: HOUR,
			waitedMs: 325 * SECOND,
			trouble: (request) =>
				request === 0 ? { kind: 'rateLimited', status: 429, retryAfter: '900' } : undefined,
		});
		expect(delays[1]).toBeGreaterThanOrEqual(875 * SECOND);
		expect(askedAt[1]! - askedAt[0]!).toBeGreaterThanOrEqual(900 * SECOND);
	});

	test('looks at delays that grow from 65 s to ten minutes, some forty times an hour and six later on', async () => {
		const { delays } = await waitParked({ durationMs: 12 * HOUR, waitedMs: 325 * SECOND });
		expect(delays[0]).toBe(65.2 * SECOND);
		expect(delays.at(-1)).toBe(600_001);
		expect(delays).toEqual([...delays].sort((a, b) => a - b));
		expect(delays.length).toBeLessThan(90);
	});

	test('ends at the time limit, with a last look at it and none after it', async () => {
		await fc.assert(
			fc.asyncProperty(
				fc.integer({ min: 1, max: 20_000 }),
				fc.integer({ min: 1, max: 3_600 }),
				fc.integer({ min: 66, max: 20_000 }),
				fc.constantFrom(0, 65, 90, 1_000),
				async (duration, waited, left, pollInterval) => {
					const timeoutMs = (waited + left) * SECOND;
					const durationMs = duration * SECOND;
					const { batch, delays, askedAt } = await waitParked({
						durationMs,
						waitedMs: waited * SECOND,
						timeoutMs,
						pollIntervalMs: pollInterval * SECOND,
					});
					// What n8n is to store waits 0.2 s longer than the shortest that it does store.
					expect(Math.max(...askedAt)).toBeLessThanOrEqual(timeoutMs + 302);
					// Only the last, up to the time limit, may be too short to be parked.
					expect(Math.min(...delays.slice(0, -1), Infinity)).toBeGreaterThanOrEqual(65 * SECOND);
					const inTime = durationMs <= timeoutMs;
					expect(batch.items).toMatchObject([{ result: { ok: inTime } }]);
					if (!inTime) expect(askedAt.at(-1)).toBeGreaterThanOrEqual(timeoutMs);
				},
			),
			// n8n cuts the last 64.6 s to 64,599 ms.
			{ examples: [[9_557, 2_387, 4_433, 65]] },
		);
	});

	test('a watcher that wakes up after the time limit still has its last look', async () => {
		const { batch } = await waitParked({
			durationMs: 600 * SECOND,
			waitedMs: 325 * SECOND,
			timeoutMs: HOUR,
			wakesLateMs: 48 * HOUR,
		});
		expect(batch.items).toMatchObject([{ result: { ok: true, value: { output: 'Done.' } } }]);
	});
});

describe('where the waits of a batch meet', () => {
	const wait = (timeoutMs = 0): Wait => ({
		agentId: 1,
		runId: RUN_ID,
		startedAt: clock.now(),
		timeoutMs,
		pollIntervalMs: 0,
	});

	function meet(undone: number, parks: boolean, askingMs = 100) {
		const attempts: Array<Array<Offer<Wait>>> = [];
		const lot = new ParkingLot<Wait>(clock, undone, async (offers) => {
			attempts.push(offers);
			await clock.sleep(askingMs);
			return parks;
		});
		return { lot, attempts };
	}

	test('they are parked together once the last item has nothing to do for 65 s', async () => {
		const { lot, attempts } = meet(3, true);
		const first = lot.pause(100 * SECOND, wait());
		const second = lot.pause(10 * SECOND, wait()).then((end) => {
			lot.leave();
			return end;
		});
		await jest.advanceTimersByTimeAsync(20 * SECOND);
		expect(attempts).toEqual([]);
		const third = lot.pause(65 * SECOND, wait());
		expect(await settle(Promise.all([first, second, third]))).toEqual(['parked', 'over', 'parked']);
		expect(attempts).toHaveLength(1);
		expect(attempts[0]).toHaveLength(2);
	});

	test('where the host refuses, each sleeps to its end and nobody asks again', async () => {
		const { lot, attempts } = meet(2, false);
		const pauses = [lot.pause(65 * SECOND, wait()), lot.pause(90 * SECOND, wait())];
		expect(await settle(Promise.all(pauses))).toEqual(['over', 'over']);
		expect(clock.now() - began).toBe(90 * SECOND);
		expect(await settle(lot.pause(90 * SECOND, wait()))).toBe('over');
		expect(attempts).toHaveLength(1);
	});

	test('a wait that is due sooner than it could be woken has its look first', async () => {
		const { lot, attempts } = meet(2, true);
		const early = lot.pause(100 * SECOND, wait());
		await jest.advanceTimersByTimeAsync(50 * SECOND);
		const late = lot.pause(100 * SECOND, wait());
		expect(await early).toBe('over');
		expect(attempts).toEqual([]);
		const again = lot.pause(100 * SECOND, wait());
		expect(await settle(Promise.all([again, late]))).toEqual(['parked', 'parked']);
		expect(attempts).toHaveLength(1);
	});

	test('a delay that ends while the host is being asked waits for the answer', async () => {
		const { lot } = meet(1, true, 80 * SECOND);
		expect(await settle(lot.pause(65 * SECOND, wait()))).toBe('parked');
		expect(clock.now() - began).toBe(80 * SECOND);
	});

	test('a wait whose time limit is near has its last look before the others are parked', async () => {
		const { lot, attempts } = meet(2, true);
		const near = lot.pause(65 * SECOND, wait(70 * SECOND));
		await jest.advanceTimersByTimeAsync(30 * SECOND);
		const far = lot.pause(100 * SECOND, wait());
		expect(await settle(near)).toBe('over');
		expect(attempts).toEqual([]);
		lot.leave();
		expect(await settle(far)).toBe('parked');
	});

	test('a wait that is cancelled while the host is being asked is not taken for parked', async () => {
		const { lot } = meet(1, true);
		const cancelling = new AbortController();
		const pause = lot.pause(100 * SECOND, wait(), cancelling.signal);
		cancelling.abort();
		expect(await settle(pause)).toBe('over');
	});

	test('a wait that was halted before it began ends at once and parks nothing', async () => {
		const { lot, attempts } = meet(1, true);
		expect(await settle(lot.pause(100 * SECOND, wait(), AbortSignal.abort()))).toBe('over');
		expect(clock.now()).toBe(began);
		expect(attempts).toEqual([]);
	});
});
