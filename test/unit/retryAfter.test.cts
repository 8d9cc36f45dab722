import { execute, type Said } from '../support/simulation/ownWorld.cts';
import { json, type Answered } from '../support/simulation/world/answers.cts';
import type { Hand } from '../support/simulation/world/hand.cts';

const SECOND = 1_000;

const putOff = (answer: Answered, seconds: number | string, date?: string): Answered => ({
	...answer,
	headers: { 'retry-after': String(seconds), ...(date && { date }) },
});
const runningAs = (runId: string | undefined) =>
	json(200, { run_id: runId, status: 'running', completed_at: null });
const notFound = json(404, {
	error: { code: 'run_not_found', message: 'Not found', request_id: 'r' },
});

/** The hand that puts off the first poll. */
const toFirstPoll = (...[seconds, date]: [seconds: number | string, date?: string]): Hand => ({
	respond: ({ number, runId }) =>
		number === 1 ? putOff(runningAs(runId), seconds, date) : undefined,
});

/** When a run of so many seconds was polled, in whole seconds after its creation. */
async function polls(durationS: number, hand: Hand, said: Said = {}) {
	const runOf = () => ({ durationMs: durationS * SECOND });
	const { world, jsons } = await execute({ runOf, hand, ...said });
	expect(jsons.map(({ status }) => status)).toEqual(jsons.map(() => 'succeeded'));
	return world.polledAt.map((ms) => Math.round(ms / SECOND));
}

test('a run is left alone for as long as the answer asks that creates it', async () => {
	const respond: Hand['respond'] = ({ kind }, own) =>
		kind === 'create' ? putOff(own(), 40) : undefined;
	expect(await polls(1, { respond })).toEqual([40]);
});

test('and as long as a poll asks', async () => {
	expect(await polls(1, toFirstPoll(40))).toEqual([0, 40]);
});

test('also where it says that the run is not known yet', async () => {
	expect(
		await polls(1, { respond: ({ number }) => (number === 1 ? putOff(notFound, 30) : undefined) }),
	).toEqual([0, 30]);
});

test.each(['9999999999999999999999', 'Fri, 31 Dec 9999 23:59:59 GMT', '86400'])(
	'%s is an hour, on an answer that says it still runs too',
	async (retryAfter) => {
		expect(await polls(60, toFirstPoll(retryAfter))).toEqual([0, 3_600]);
	},
);

test.each(['2026-01-01T00:00:40', `${Date.UTC(2026, 0, 1) / SECOND + 40}`])(
	'%s is a date, too',
	async (asked) => {
		expect(await polls(1, toFirstPoll(asked))).toEqual([0, 40]);
	},
);

test.each([
	'Sun, 06 Nov 1994 08:49:37 GMT',
	'Sunday, 06-Nov-94 08:49:37 GMT',
	'Sun Nov  6 08:49:37 1994',
	'Sun, 06 Nov 1994 09:49:37 +0100',
])('a date, %j, is one of the clock of the service', async (asked) => {
	const sent = 'Sun, 06 Nov 1994 08:48:57 GMT';
	expect(await polls(1, toFirstPoll(asked, sent))).toEqual([0, 40]);
});

test('a poll that was put off is not made earlier so that the others can be stored', async () => {
	// Delays are long by now: of two runs, each is polled early whenever the other one is due.
	let putOffAt = Infinity;
	const { world } = await execute({
		count: 2,
		runOf: () => ({ durationMs: 2_000 * SECOND }),
		hand: {
			respond({ runId, sentAt }) {
				const isSecond = runId?.endsWith('000000000001');
				if (!isSecond || sentAt < 900 * SECOND || putOffAt < Infinity) return undefined;
				putOffAt = sentAt;
				return putOff(runningAs(runId), 220);
			},
		},
	});
	const next = world.requests.find(
		({ runId, sentAt }) => runId === world.runs[1]?.id && sentAt > putOffAt,
	);
	// Dates are in whole ms.
	expect(next?.sentAt).toBeGreaterThanOrEqual(putOffAt + 220 * SECOND - 1);
});
