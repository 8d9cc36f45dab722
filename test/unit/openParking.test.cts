import { PassTime, clock } from '../../nodes/AgentInvocation/clock.ts';
import { hostStart, openParking } from '../../nodes/AgentInvocation/engine/parkingRules.ts';
import { contextOf, type Told } from '../support/simulation/world/context.cts';

const SECOND = 1_000;
const BEGAN_ON = 1_000_000;
const NOW = 50;
/** For all but what tests it, n8n has started long ago. */
beforeEach(() => {
	jest.spyOn(clock, 'now').mockReturnValue(NOW);
	hostLoaded(3_600 * SECOND);
});
afterEach(() => jest.restoreAllMocks());

/** n8n has loaded the node so long ago, and has resumed its first execution then, or none yet. */
function hostLoaded(ms: number, resumedAt = Infinity): void {
	jest.replaceProperty(hostStart, 'loadedAt', NOW - ms);
	jest.replaceProperty(hostStart, 'resumedAt', resumedAt);
}
/**
 * What an execution is allowed: at its beginning, or when it is resumed; `late` by so much after it was to be.
 * `after` is how long after the node's beginning it is.
 */
async function open({
	told = {},
	passes = true,
	resumes,
	late = 0,
	after = 0,
}: {
	told?: Told;
	passes?: boolean;
	resumes?: { until: number; isRetry?: boolean };
	late?: number;
	after?: number;
} = {}) {
	const date = resumes ? resumes.until + late : BEGAN_ON + after;
	jest.spyOn(clock, 'date').mockReturnValue(date);
	const opened = await openParking(contextOf(told), {
		passesResponse: passes,
		beganOn: BEGAN_ON,
		hasParked: resumes !== undefined,
		isResumed: resumes !== undefined && !resumes.isRetry,
	});
	return { ...opened, obstacle: await opened.obstacle() };
}

test('where nothing stands in the way, the node may be parked and make a checkpoint at once', async () => {
	expect(await open()).toEqual({
		time: expect.any(PassTime) as PassTime,
		obstacle: undefined,
		checkpoints: true,
		latestEndOn: Infinity,
		pollsFrom: -Infinity,
		parksFrom: -Infinity,
		hints: new Set(),
	});
});

describe('an obstacle', () => {
	test('of the engine keeps from parking and from checkpoints', async () => {
		const { obstacle, checkpoints } = await open({ told: { settings: { executionOrder: 'v0' } } });
		expect(obstacle).toMatch(/execution order v0/);
		expect(checkpoints).toBe(false);
	});

	test('to the pause alone leaves checkpoints', async () => {
		const { obstacle, checkpoints } = await open({ told: { mode: 'internal' } });
		expect(obstacle).toMatch(/waits for its result/);
		expect(checkpoints).toBe(true);
	});

	test('is a host that passes no response', async () => {
		expect((await open({ passes: false })).obstacle).toMatch(/too old/);
	});

	test('is somebody who waits only until the execution was parked', async () => {
		const told = { mode: 'integrated' } as const;
		expect((await open({ told })).obstacle).toMatch(/somebody may wait/);
		expect((await open({ told, resumes: { until: BEGAN_ON } })).obstacle).toBeUndefined();
	});
});

describe('a checkpoint', () => {
	test.each<[string, Told, boolean]>([
		['is made where n8n saves progress', { settings: { saveExecutionProgress: true } }, true],
		['is not where it does not', { settings: { saveExecutionProgress: false } }, false],
		['may be made by default', { settings: { saveExecutionProgress: 'DEFAULT' } }, true],
		['is not when somebody watches', { mode: 'manual' }, false],
		[
			'is when somebody watches and it is set',
			{ mode: 'manual', settings: { saveExecutionProgress: true } },
			true,
		],
	])('%s', async (_, told, expected) => {
		expect((await open({ told })).checkpoints).toBe(expected);
	});
});

describe("the workflow's own timeout", () => {
	const told = (executionTimeout: number, more: Told = {}): Told => ({
		...more,
		settings: { executionTimeout },
	});

	test.each<[string, Told]>([
		['cannot tell when the execution began', {}],
		['does not tell it', { establishedAt: undefined }],
	])('ends waits 30 s before it, where the host %s', async (_, more) => {
		const { latestEndOn } = await open({ told: told(600, more) });
		expect(latestEndOn).toBe(BEGAN_ON + 570 * SECOND);
	});

	test.each([0, -1])('of %d is none', async (timeout) => {
		expect((await open({ told: told(timeout) })).latestEndOn).toBe(Infinity);
	});

	test('counts from when the execution began', async () => {
		const { latestEndOn } = await open({ told: told(600, { establishedAt: BEGAN_ON - SECOND }) });
		expect(latestEndOn).toBe(BEGAN_ON + 569 * SECOND);
	});

	test("counts anew in n8n's Retry, which is told of the beginning of another execution", async () => {
		const { latestEndOn } = await open({ told: told(600, { mode: 'retry', establishedAt: 1 }) });
		expect(latestEndOn).toBe(BEGAN_ON + 570 * SECOND);
	});

	test('of under a minute and a half leaves no time for that, and n8n ends the execution', async () => {
		expect((await open({ told: told(89) })).latestEndOn).toBe(Infinity);
		expect((await open({ told: told(90) })).latestEndOn).toBe(BEGAN_ON + 60 * SECOND);
	});

	test('that is near keeps from parking', async () => {
		const inTime = await open({ told: told(600), after: 440 * SECOND });
		expect(inTime.obstacle).toBeUndefined();
		const near = await open({ told: told(600), after: 440 * SECOND + 1 });
		expect(near.obstacle).toMatch(/own timeout is near/);
	});
});

describe('an execution that is resumed', () => {
	const until = BEGAN_ON + 100 * SECOND;
	const justStarted = () => hostLoaded(5 * SECOND);

	test('leaves the recovery of n8n, after its start, some time before polls and before it parks', async () => {
		justStarted();
		expect(await open({ resumes: { until } })).toMatchObject({
			pollsFrom: NOW + 30 * SECOND,
			parksFrom: NOW + 60 * SECOND,
		});
	});

	test('leaves it no more than the first one did', async () => {
		hostLoaded(80 * SECOND, NOW - 20 * SECOND);
		expect(await open({ resumes: { until } })).toMatchObject({
			pollsFrom: NOW + 10 * SECOND,
			parksFrom: NOW + 40 * SECOND,
		});
	});

	test.each([
		[64_999, true],
		[65_000, false],
	])('%d ms after n8n has loaded the node was stored before: %s', async (ms, isStart) => {
		hostLoaded(ms);
		expect((await open({ resumes: { until } })).pollsFrom > NOW).toBe(isStart);
		// Those that follow are like the first one.
		hostLoaded(ms + 20 * SECOND, NOW - 20 * SECOND);
		expect((await open({ resumes: { until } })).pollsFrom > NOW).toBe(isStart);
	});

	test('goes on at once where n8n has started long ago, however late', async () => {
		const { pollsFrom, parksFrom } = await open({ resumes: { until }, late: 600 * SECOND });
		expect(pollsFrom).toBeLessThan(NOW);
		expect(parksFrom).toBeLessThan(NOW);
	});

	test("polls at the latest when its wait has to end, before the workflow's own timeout", async () => {
		justStarted();
		const told = { settings: { executionTimeout: 200 } };
		expect((await open({ told, resumes: { until }, late: 60 * SECOND })).pollsFrom).toBe(
			NOW + 10 * SECOND,
		);
		const { pollsFrom } = await open({ told, resumes: { until }, late: 90 * SECOND });
		expect(pollsFrom).toBeLessThan(NOW);
	});

	test.each([
		["by n8n's Retry", { resumes: { until, isRetry: true } }],
		['for the first time', {}],
	])('%s goes on at once', async (_, pass) => {
		justStarted();
		expect(await open(pass)).toMatchObject({ pollsFrom: -Infinity, parksFrom: -Infinity });
	});
});
