import { getRun } from '../../nodes/AgentInvocation/service/endpoints.ts';
import { durationsOf } from '../../nodes/AgentInvocation/waiting/durations.ts';
import { execute, OwnWorld, type Said } from '../support/simulation/ownWorld.cts';
import { answerOf, apiKeyOf, json, type Answered } from '../support/simulation/world/answers.cts';
import type { Hand } from '../support/simulation/world/hand.cts';
import type { SeenRequest } from '../support/simulation/world/history.cts';
import type { FaultKind } from '../support/simulation/world/world.cts';

// When a run is polled, and what becomes of a poll that meets something else than the run's state.
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

const inSeconds = (times: number[]) => times.map((ms) => Math.round(ms / SECOND));
const gapsOf = (times: number[]) => times.map((at, index, all) => at - (all[index - 1] ?? 0));

/** What a poll meets in place of the service's answer. */
type Met = FaultKind | Partial<Answered> | undefined;

function meeting(meets: (poll: number, seen: SeenRequest) => Met): Hand {
	let polls = 0;
	return {
		respond(seen) {
			if (seen.kind !== 'poll') return undefined;
			const met = meets(polls++, seen);
			return typeof met === 'string' ? answerOf(met, seen) : met;
		},
	};
}

/** Waits in memory for a run that takes so long. */
async function wait(
	durationMs: number,
	meets: (poll: number, seen: SeenRequest) => Met = () => undefined,
	{ options, ...said }: Said = {},
) {
	const seen = await execute({
		runOf: () => ({ durationMs }),
		onError: 'continueRegularOutput',
		hand: meeting(meets),
		options: { timeout: 0, whereToWait: 'memory', ...options },
		...said,
	});
	const [output = {}] = seen.jsons;
	const { polledAt } = seen.world;
	return { ...seen, output, polledAt, isDone: output.status === 'succeeded' };
}

const refused = (retryAfter?: string): Partial<Answered> => ({
	statusCode: 429,
	headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter },
});
const envelope = (statusCode: number, code: string) =>
	json(statusCode, { error: { code, message: 'No.', request_id: 'r' } });

test.each([0.2, 1, 2, 5, 10, 60, 600, 3_600, 24 * 3_600])(
	'a run of %d s is seen at most 20 %% late, or 1 s where that is more',
	async (seconds) => {
		const { output, ms } = await wait(seconds * SECOND);
		expect(output).toMatchObject({ status: 'succeeded', output: '0' });
		const late = ms - seconds * SECOND;
		expect(late).toBeGreaterThanOrEqual(0);
		expect(late).toBeLessThanOrEqual(Math.max(SECOND, seconds * SECOND * 0.2) + 1);
	},
);

test('an hour takes some forty requests', async () => {
	const { polledAt } = await wait(HOUR);
	expect(polledAt.length).toBeGreaterThan(30);
	expect(polledAt.length).toBeLessThan(50);
});

test('a poll interval of its own is kept to', async () => {
	const options = { pollInterval: 7 };
	const { polledAt } = await wait(60 * SECOND, undefined, { options });
	expect(inSeconds(polledAt)).toEqual([7, 14, 21, 28, 35, 42, 49, 56, 63]);
});

test('a run that was not created here is polled once before any waiting', async () => {
	const { isDone, ms } = await wait(0, undefined, { operation: 'get' });
	expect(isDone).toBe(true);
	expect(ms).toBeLessThan(10);
});

test('the last poll is at the time limit, and none comes after it', async () => {
	const { output, polledAt, ms } = await wait(HOUR, undefined, { options: { timeout: 10 } });
	expect(output).toMatchObject({ details: { status: 'running' } });
	expect(inSeconds([ms, polledAt.at(-1)!])).toEqual([10, 10]);
});

test('a run that finishes just before the time limit is still seen', async () => {
	expect((await wait(9_990, undefined, { options: { timeout: 10 } })).isDone).toBe(true);
});

describe('temporary failures do not end the wait for a healthy run', () => {
	test.each<[string, Met]>([
		['429', refused()],
		['429 with Retry-After', refused('3')],
		['502', { statusCode: 502 }],
		["a proxy's page", 'html200'],
		['a bare 404', { statusCode: 404 }],
		['a lost connection', 'reset'],
		['no answer in time', 'timeout'],
		['no connection', 'refused'],
		['a redirect', { statusCode: 302 }],
		['a certificate that is not trusted', 'certificate'],
	])('%s', async (_, met) => {
		const { isDone, polledAt } = await wait(30 * SECOND, (poll) => (poll < 8 ? met : undefined));
		expect(isDone).toBe(true);
		expect(polledAt.length).toBeGreaterThan(8);
	});

	test('but they do not last for ever, and the wait says what was in the way', async () => {
		const away = () => ({ statusCode: 503 });
		const { output, ms } = await wait(SECOND, away, { options: { timeout: 20 } });
		expect(output.error).toContain('did not say');
		expect(output).toMatchObject({ details: { http_status: 503 } });
		// A minute of grace, and the longest pause between two attempts.
		expect(ms).toBeGreaterThan(80 * SECOND);
		expect(ms).toBeLessThan(160 * SECOND);
	});
});

describe('an answer', () => {
	const ASKED = 'aaaaaaaa-2222-4333-8444-555555555555';
	const isAnswer = (body: object) =>
		getRun(1, ASKED).hasShape({ status: 'succeeded', output: 'Done.', ...body });

	test.each([
		...[{ run_id: '11111111-2222-4333-8444-555555555555' }, { run_id: 7 }],
		...[{}, { run_id: null }, { run_id: '' }, { run_id: ASKED, status: 1 }],
	])('with %j is not about the run that was asked for', (body) =>
		expect(isAnswer(body)).toBe(false),
	);

	test.each([{ run_id: ASKED }, { run_id: ASKED.toUpperCase() }])(
		'with %j is about the run that was asked for',
		(body) => expect(isAnswer(body)).toBe(true),
	);
});

test.each([
	['as many seconds as asked', () => '40'],
	['until the date asked for', () => new Date(Date.now() + 40 * SECOND).toUTCString()],
])('a rate limit pauses the wait for %s', async (_name, asked) => {
	const { isDone, polledAt } = await wait(SECOND, (poll) =>
		poll === 0 ? refused(asked()) : undefined,
	);
	expect(isDone).toBe(true);
	const pause = polledAt[1]! - polledAt[0]!;
	expect(pause).toBeGreaterThan(38 * SECOND);
	expect(pause).toBeLessThanOrEqual(40 * SECOND);
});

test.each([
	['300', true, 300, 2],
	['99999', false, 30, 1],
])(
	'a rate limit of %s s is waited out for five minutes beyond the time limit: %s',
	async (asked, isWaitedOut, seconds, polls) => {
		const meets = (poll: number) => (poll === 0 ? refused(asked) : undefined);
		const options = { timeout: 30 };
		const { isDone, ms, polledAt } = await wait(5 * SECOND, meets, { options });
		expect(isDone).toBe(isWaitedOut);
		expect(inSeconds([ms])).toEqual([seconds]);
		expect(polledAt).toHaveLength(polls);
	},
);

describe('at the time limit', () => {
	test.each<[string, Met]>([
		['a 503', { statusCode: 503 }],
		['a refusal', refused()],
		['a name that is not found', 'dns'],
		['a gateway', { statusCode: 404 }],
		["n8n's own refusal to send it", 'blocked'],
	])('a last poll that meets %s is repeated', async (_, met) => {
		// Fixed, so that the poll before the last one is answered.
		const options = { timeout: 120, pollInterval: 90 };
		const meets = (poll: number) => (poll === 1 ? met : undefined);
		const { isDone, ms } = await wait(100 * SECOND, meets, { options });
		expect(isDone).toBe(true);
		expect(ms).toBeLessThan(125 * SECOND);
	});

	test('a last poll that the service puts off for a minute is repeated after that like any other', async () => {
		const meets = (_: number, { sentAt }: SeenRequest) => {
			if (sentAt < 90 * SECOND || sentAt > 165 * SECOND) return undefined;
			return refused(sentAt < 150 * SECOND ? '60' : '5');
		};
		const { isDone } = await wait(99_700, meets, { options: { timeout: 100 } });
		expect(isDone).toBe(true);
	});

	test('what the service asks it to wait does not use up the time in which other failures are repeated', async () => {
		const meets = (_: number, { sentAt }: SeenRequest) => {
			if (sentAt < 90 * SECOND || sentAt > 190 * SECOND) return undefined;
			return sentAt < 150 * SECOND ? refused('60') : { statusCode: 503 };
		};
		const { isDone } = await wait(99_700, meets, { options: { timeout: 100 } });
		expect(isDone).toBe(true);
	});

	test('a last poll that is refused after a minute of other failures is repeated: its turn will come', async () => {
		let refusals = 0;
		const meets = (_: number, { sentAt }: SeenRequest) => {
			if (sentAt < 90 * SECOND) return undefined;
			if (sentAt < 145 * SECOND) return { statusCode: 503 };
			return refusals++ < 1 ? refused() : undefined;
		};
		const { isDone, ms } = await wait(99_700, meets, { options: { timeout: 100 } });
		expect([isDone, refusals]).toEqual([true, 2]);
		expect(ms).toBeGreaterThan(160 * SECOND);
	});

	test('nothing is polled at the very moment when n8n ends the execution', async () => {
		// The wait ends 30 s before n8n does; a refusal of that time ends with it.
		const meets = (_: number, { sentAt }: SeenRequest) =>
			sentAt > 60 * SECOND ? refused('25') : undefined;
		const said: Said = { workflowTimeoutS: 100, options: { timeout: 0, pollInterval: 10 } };
		const { attempt, polledAt, output } = await wait(90 * SECOND, meets, said);
		expect(attempt.status).toBe('success');
		expect(output.error).toContain('did not say');
		expect(polledAt.at(-1)).toBeLessThan(90 * SECOND);
	});

	test('a poll takes no longer than n8n leaves to the execution', async () => {
		const said: Said = { workflowTimeoutS: 100 };
		const meets = (_: number, { sentAt }: SeenRequest) =>
			sentAt >= 70 * SECOND ? ('timeout' as const) : undefined;
		const { world, attempt } = await wait(HOUR, meets, said);
		const { sentAt, timeoutMs } = world.requests.at(-1)!;
		expect(sentAt + timeoutMs).toBeLessThanOrEqual(90 * SECOND + 1);
		expect(attempt.status).toBe('success');
	});

	let worlds = 0;

	/** A last item begins so late that n8n stores the other while its last polls are repeated. */
	function storedMeanwhile(meets: (seen: SeenRequest) => Met) {
		const baseUrl = `https://agents${worlds++}.example.com/api/v1`;
		const hand: Hand = {
			...meeting((_, seen) => meets(seen)),
			credential: async (item) => {
				if (item === 1 && world.requests.length < 10) {
					await new Promise<void>((resolve) => world.later(10 * SECOND, resolve));
				}
				return { baseUrl, apiKey: apiKeyOf(0) };
			},
		};
		const world: OwnWorld = new OwnWorld({
			count: 2,
			savesProgress: true,
			onError: 'continueRegularOutput',
			hand,
			options: { timeout: 2 },
		});
		return world;
	}

	test('each attempt repeats last polls for a time of its own', async () => {
		let failures = Infinity;
		const world = storedMeanwhile(() => (failures-- > 0 ? { statusCode: 503 } : undefined));
		world.killAfter(30 * SECOND);
		const { attempt } = await world.execute();
		expect(attempt.saves.at(-1)!.memory).toContain('graceBeganOn');
		failures = 3;
		const { jsons } = await world.retry({ afterMs: 600 * SECOND });
		expect(jsons.map(({ output }) => output)).toEqual(['0', '1']);
	});

	test.each([3_600, -3_600])('n8n may set its clock by %d s meanwhile', async (by) => {
		const world = storedMeanwhile(({ sentAt }) =>
			sentAt < 35 * SECOND ? { statusCode: 503 } : undefined,
		);
		world.later(5 * SECOND, () => world.setClock(by * SECOND));
		const { jsons } = await world.execute();
		expect(jsons.map(({ output }) => output)).toEqual(['0', '1']);
	});

	test('an answer to what was sent before is none', async () => {
		// The last poll before it reaches the service just before the run's end, and is answered just after the limit.
		const { isDone } = await wait(120_200, undefined, {
			options: { timeout: 120, pollInterval: 119.5 },
			service: { tripMs: [600, 600] },
		});
		expect(isDone).toBe(true);
	});
});

test('runs are noticed as soon where the service dates their ends two hours off', async () => {
	const late = async (offMs: number) => {
		const hand: Hand = {
			respond({ kind }, own) {
				const answer = own();
				if (kind !== 'poll') return answer;
				const run = JSON.parse(answer.body) as { completed_at: string | null };
				const { completed_at: at } = run;
				const moved = at && new Date(Date.parse(at) + offMs).toISOString();
				return json(200, { ...run, completed_at: moved });
			},
		};
		const { ms } = await execute({ count: 5, options: { maxConcurrency: 1 }, hand });
		return ms;
	};
	expect(await late(2 * HOUR)).toBeLessThan((await late(0)) + 5 * SECOND);
});

test('a run that an earlier attempt has started counts for all that it lasted', async () => {
	const options = { timeout: 100 };
	const runOf = () => ({ durationMs: 300 * SECOND });
	const world = new OwnWorld({ options, runOf });
	expect((await world.execute()).error?.message).toContain('has not finished');
	await world.retry({ afterMs: 180 * SECOND });
	const baseUrl = world.requests[0]!.url.replace(/\/agents\/.*/, '');
	const { endsMs } = durationsOf({ baseUrl, agentId: 1 });
	expect(endsMs.length).toBeGreaterThan(0);
	expect(Math.min(...endsMs)).toBeGreaterThan(100 * SECOND);
});

test('a Retry-After of 0 is no invitation to hammer the service', async () => {
	const { polledAt } = await wait(HOUR, () => refused('0'), { options: { timeout: 60 } });
	expect(polledAt.length).toBeLessThan(30);
});

test.each([
	[401, 'invalid_api_key'],
	[404, 'agent_not_found'],
	[400, 'odd'],
])('what polling again cannot mend ends the wait at once: %d, %s', async (status, code) => {
	const { output, polledAt } = await wait(HOUR, () => envelope(status, code));
	expect(output).toMatchObject({ details: { http_status: status } });
	expect(polledAt).toHaveLength(1);
});

describe('run_not_found', () => {
	const unknownFor = (ms: number) => (_: number, seen: SeenRequest) =>
		seen.sentAt < ms ? envelope(404, 'run_not_found') : undefined;

	test('is not believed in the first seconds after the own create', async () => {
		expect((await wait(2 * SECOND, unknownFor(5 * SECOND))).isDone).toBe(true);
	});

	test('nor at a time limit that comes in these seconds', async () => {
		const options = { timeout: 2 };
		const { isDone, ms } = await wait(1.5 * SECOND, unknownFor(4 * SECOND), { options });
		expect(ms).toBeGreaterThan(2 * SECOND);
		expect(isDone).toBe(true);
	});

	test('is believed after that', async () => {
		const { isDone, ms } = await wait(HOUR, unknownFor(Infinity));
		expect(isDone).toBe(false);
		expect(ms).toBeGreaterThanOrEqual(10 * SECOND);
		expect(ms).toBeLessThan(40 * SECOND);
	});

	test.each<[Said['operation']]>([['create'], ['get']])(
		'is asked for again where the service has shown the run: %s',
		async (operation) => {
			let strays = 0;
			const stray = (_: number, { sentAt }: SeenRequest) =>
				sentAt > 60 * SECOND && ++strays % 6 < 4 ? envelope(404, 'run_not_found') : undefined;
			const { isDone } = await wait(HOUR / 4, stray, { operation, waits: true });
			expect(isDone).toBe(true);
			expect(strays).toBeGreaterThan(12);
		},
	);

	test('is believed at once of a run that was not created here', async () => {
		const said: Said = { operation: 'get' };
		const { isDone, world } = await wait(HOUR, unknownFor(Infinity), said);
		expect(isDone).toBe(false);
		expect(world.requests).toHaveLength(1);
	});
});

describe('the address of a run that was not created here', () => {
	const get: Said = { operation: 'get' };

	test.each<Met & string>(['refused', 'html200', 'redirect', 'certificate'])(
		'is given up soon where it never led to the service: %s',
		async (fault) => {
			const met = fault === 'redirect' ? { statusCode: 302 } : fault;
			const { isDone, ms } = await wait(HOUR, () => met, get);
			expect(isDone).toBe(false);
			expect(ms).toBeLessThan(15 * SECOND);
		},
	);

	test('loses no patience by what says nothing about it', async () => {
		const met: Met[] = [refused(), { statusCode: 503 }, 'timeout', 'reset'];
		const { isDone, polledAt } = await wait(
			0,
			(poll) => (poll < 8 ? met[poll % 4] : poll < 12 ? 'html200' : undefined),
			get,
		);
		expect(isDone).toBe(true);
		expect(polledAt).toHaveLength(13);
	});
});

test('an execution that is cancelled while it sleeps ends at once, and nothing more is sent', async () => {
	const { attempt, ms, polledAt } = await wait(HOUR, undefined, { cancelAtMs: 90 * SECOND });
	expect(attempt.status).toBe('canceled');
	expect(ms).toBe(90 * SECOND);
	expect(polledAt.filter((at) => at >= 90 * SECOND)).toEqual([]);
});

describe('a poll that meets a temporary failure', () => {
	const after = (ms: number, met: Met) => (_: number, seen: SeenRequest) =>
		seen.sentAt > ms ? met : undefined;
	const stored: Said = { options: { whereToWait: 'auto' } };

	test('is put off where delays are long: ever longer, and never beyond the usual delay', async () => {
		const { world } = await wait(3 * HOUR, after(2 * HOUR, { statusCode: 503 }), {
			...stored,
			cancelAtMs: 2.7 * HOUR,
		});
		const at = world.polledAt.filter((ms) => ms > 2 * HOUR);
		const gaps = inSeconds(gapsOf(at)).slice(1, 6);
		expect(gaps).toEqual([65, 130, 260, 520, 600]);
	});

	test('may take longer than one between long delays', async () => {
		const { world } = await wait(
			2 * HOUR,
			(_, { number }) => (number === 30 ? { statusCode: 503 } : undefined),
			stored,
		);
		const timeouts = world.requests.map(({ timeoutMs }) => timeoutMs).slice(30, 33);
		expect(timeouts).toEqual([10_000, 30_000, 10_000]);
	});

	test('is sent again soon where delays are short', async () => {
		const { polledAt } = await wait(60 * SECOND, (poll) =>
			poll === 10 ? { statusCode: 503 } : undefined,
		);
		expect(polledAt[11]! - polledAt[10]!).toBeLessThan(SECOND);
	});

	test.each([
		['memory', 20],
		['stored', 65],
	] as const)(
		'of 20 s of 429 comes after the pause, and where it is stored after 65 s at the earliest (%s)',
		async (whereToWait, seconds) => {
			const meets = (poll: number) => (poll === 0 ? refused('20') : undefined);
			const { polledAt } = await wait(HOUR, meets, { options: { whereToWait } });
			expect(inSeconds([polledAt[1]! - polledAt[0]!])).toEqual([seconds]);
		},
	);
});

test('a poll that would have to wait for a long pause of others is put off, and the execution stored meanwhile', async () => {
	const { parks } = await execute({
		runOf: () => ({ durationMs: HOUR }),
		options: { pollInterval: 70, timeout: 300, onTimeout: 'output' },
		hand: {
			respond: ({ execution, sentAt }) =>
				execution.index === 1 && sentAt < 65 * SECOND ? refused('100') : undefined,
		},
		beside: [{ startsAtMs: 60 * SECOND }],
	});
	expect(inSeconds(parks.slice(0, 2).map(({ at }) => at))).toEqual([0, 70]);
	expect(inSeconds(parks.slice(0, 2).map(({ until }) => until))).toEqual([70, 155]);
});
