import type { Clock } from '../../nodes/AgentInvocation/clock.ts';
import { openParking } from '../../nodes/AgentInvocation/parking/parking.ts';
import { RunMemory } from '../../nodes/AgentInvocation/runs/runMemory.ts';
import { contextOf, type Told } from '../support/simulation/fakeContext.cts';

const SECOND = 1_000;
const BEGAN_ON = 1_000_000;
const NOW = 50;
const response = { actionResponses: [], metadata: {} };

/** The node's first pass, and the parking of a later one; `late` by so much after the rest, if any. */
async function open({
	told = {},
	passes = true,
	rests,
	late = 0,
	executionId = '1',
	after = 0,
}: {
	told?: Told;
	passes?: boolean;
	rests?: { until?: number };
	late?: number;
	executionId?: string;
	after?: number;
} = {}) {
	const kept = {};
	const pass = (more: Told = {}) => {
		const context = contextOf({ ...told, kept, ...more });
		const opened = RunMemory.open(context, true, BEGAN_ON);
		if (!opened.ok) throw new Error(opened.failure.message);
		return { context, memory: opened.value };
	};
	const clock = (date: number): Clock => ({
		now: () => NOW,
		date: () => date,
		sleep: () => Promise.resolve(),
	});
	const { context, memory } = pass();
	const first = await openParking(
		context,
		passes ? response : undefined,
		memory,
		clock(BEGAN_ON + after),
	);
	if (!rests) return first;
	memory.rest({ ...rests, source: null });
	const next = pass({ executionId });
	return await openParking(next.context, undefined, next.memory, clock((rests.until ?? 0) + late));
}

test('where nothing stands in the way, the node may be parked and make a checkpoint at once', async () => {
	expect(await open()).toEqual({
		obstacle: undefined,
		checkpoints: true,
		latestEndOn: Infinity,
		pollsFrom: NOW,
		parksFrom: NOW,
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

	test('is a host that passes no response, but not one that has passed one before', async () => {
		expect((await open({ passes: false })).obstacle).toMatch(/too old/);
		expect((await open({ rests: { until: BEGAN_ON } })).obstacle).toBeUndefined();
	});

	test('is a call for each item only until the execution has paused', async () => {
		const told = { mode: 'integrated' } as const;
		expect((await open({ told })).obstacle).toMatch(/once for each item/);
		expect((await open({ told, rests: {} })).obstacle).toMatch(/once for each item/);
		expect((await open({ told, rests: { until: BEGAN_ON } })).obstacle).toBeUndefined();
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

	test('is made once', async () => {
		expect((await open({ rests: {} })).checkpoints).toBe(false);
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

	test('in time goes on at once', async () => {
		expect(await open({ rests: { until }, late: 5_000 })).toMatchObject({
			pollsFrom: NOW,
			parksFrom: NOW,
		});
	});

	test('late leaves the recovery of n8n half a minute before polls, and a minute before it parks', async () => {
		expect(await open({ rests: { until }, late: 5_001 })).toMatchObject({
			pollsFrom: NOW + 30 * SECOND,
			parksFrom: NOW + 60 * SECOND,
		});
	});

	test.each([
		['after a checkpoint', { rests: {}, late: BEGAN_ON }],
		["by n8n's Retry", { rests: { until }, late: 5_001, executionId: '2' }],
	])('%s goes on at once', async (_, pass) => {
		expect(await open(pass)).toMatchObject({ pollsFrom: NOW, parksFrom: NOW });
	});
});
