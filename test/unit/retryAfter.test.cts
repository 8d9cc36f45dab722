import { SimulatedHost } from '../support/simulation/simulatedHost.cts';
import {
	json,
	SimulatedService,
	type Behaviour,
	type SimulatedResponse,
} from '../support/simulation/simulatedService.cts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const SECOND = 1_000;

const putOff = (
	answer: SimulatedResponse,
	seconds: number | string,
	date?: string,
): SimulatedResponse => ({
	...answer,
	headers: { 'retry-after': String(seconds), ...(date && { date }) },
});
const running = json(200, { status: 'running', completed_at: null });
const notFound = json(404, {
	error: { code: 'run_not_found', message: 'Not found', request_id: 'r' },
});

/** When a run of so many seconds was polled, in whole seconds after its creation. */
async function polls(durationS: number, trouble: Behaviour['trouble'], count = 1) {
	const service = new SimulatedService({
		runOf: () => ({ durationMs: durationS * SECOND }),
		trouble: (seen) => trouble?.(seen),
	});
	const host = new SimulatedHost({ service, count });
	const outputs = await host.execute();
	expect(outputs.map(({ json: { status } }) => status)).toEqual(outputs.map(() => 'succeeded'));
	return { at: service.polledAt.map((ms) => Math.round(ms / SECOND)), rests: host.rests };
}

test('a run is left alone for as long as the answer asks that creates it', async () => {
	const service = new SimulatedService({ runOf: () => ({ durationMs: SECOND }) });
	const request = service.request.bind(service);
	service.request = async (...given) => {
		const answer = await request(...given);
		return service.requests.length === 1 ? { ...answer, headers: { 'retry-after': '40' } } : answer;
	};
	await new SimulatedHost({ service, count: 1 }).execute();
	expect(service.polledAt.map((ms) => Math.round(ms / SECOND))).toEqual([40]);
});

test('and as long as a poll asks', async () => {
	const { at } = await polls(1, ({ number }) => (number === 1 ? putOff(running, 40) : undefined));
	expect(at).toEqual([0, 40]);
});

test('also where it says that the run is not known yet', async () => {
	const { at } = await polls(1, ({ number }) => (number === 1 ? putOff(notFound, 30) : undefined));
	expect(at).toEqual([0, 30]);
});

test.each(['9999999999999999999999', 'Fri, 31 Dec 9999 23:59:59 GMT', '86400'])(
	'%s is an hour, on an answer that says it still runs too',
	async (retryAfter) => {
		const { at } = await polls(60, ({ number }) =>
			number === 1 ? putOff(running, retryAfter) : undefined,
		);
		expect(at).toEqual([0, 3_600]);
	},
);

test('a date is one of the clock of the service', async () => {
	const [asked, sent] = ['Sun, 06 Nov 1994 08:49:37 GMT', 'Sun, 06 Nov 1994 08:48:57 GMT'];
	const { at } = await polls(1, ({ number }) =>
		number === 1 ? putOff(running, asked, sent) : undefined,
	);
	expect(at).toEqual([0, 40]);
});

test('a poll that was put off is not made earlier so that the others can be stored', async () => {
	// Delays are long by now: of two runs, each is polled early whenever the other one is due.
	let putOffAt = Infinity;
	const isSecond = ({ url }: { url: string }) => url.endsWith('000000000001');
	const service = new SimulatedService({
		runOf: () => ({ durationMs: 2_000 * SECOND }),
		trouble(seen) {
			if (!isSecond(seen) || seen.at < 900 * SECOND || putOffAt < Infinity) return undefined;
			putOffAt = seen.at;
			return putOff(running, 220);
		},
	});
	await new SimulatedHost({ service, count: 2 }).execute();
	const next = service.requests.find((seen) => isSecond(seen) && seen.at > putOffAt);
	expect(next?.at).toBeGreaterThanOrEqual(putOffAt + 220 * SECOND);
});
