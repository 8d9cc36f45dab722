import { apiKeyOf } from './answers.cts';
import type { Hand } from './hand.cts';
import { NEW_KEY, type History } from './history.cts';
import { N8n } from './n8n.cts';
import { Network } from './network.cts';
import type { LoadedPackage, NodeCode } from './nodeCode.cts';
import type { Surroundings } from './process.cts';
import { randomFrom } from './random.cts';
import { WorldService } from './service.cts';
import { VirtualClock } from './virtualClock.cts';
import type { World } from './world.cts';

/** More steps than a node takes that polls a few runs each second and is tried five times for an hour each. */
const MOST_STEPS = 4_000_000;

/** How long a world may go on, in ms. */
const MOST_MS = 60 * 86_400_000;

/** A world before anything happens in it. */
export interface Setting extends Surroundings {
	random: () => number;
	n8n: N8n;
}

/** @param baseUrl of the service */
export function settingOf(
	world: World,
	load: () => LoadedPackage,
	hand: Hand = {},
	baseUrl = 'https://agents.example.com/api/v1',
): Setting {
	const random = randomFrom(world.seed);
	// Its own numbers: one timer more must not change what the service and the network do.
	const clock = new VirtualClock(randomFrom(world.seed + 1));
	const apiKeys = Array.from({ length: 2 * NEW_KEY }, (_, key) => apiKeyOf(key));
	const history: History = {
		world,
		ended: 'ended',
		endedAt: 0,
		steps: 0,
		requests: [],
		runs: [],
		attempts: [],
		kills: [],
		faults: [],
		apiKeys,
	};
	const service = new WorldService(world.service, clock, random, history, hand);
	const network = new Network(world.service, service, clock, random, history, hand);
	const host: Surroundings = {
		clock,
		service,
		network,
		history,
		hand,
		credential: (key: number) => ({ baseUrl, apiKey: apiKeys[key] ?? '' }),
		agentName: (agent: number) => world.service.agents[agent] ?? '',
		stored: (id: string) => n8n.database.storedOf(id),
	};
	const n8n = new N8n(world, host, load);
	return { ...host, random, n8n };
}

/** Lets a world happen until nothing is left to happen. */
export async function pass(
	setting: Setting,
	until = () => setting.n8n.isIdle,
	mostSteps = MOST_STEPS,
): Promise<void> {
	const { clock, random, history } = setting;
	await clock.rule(random, async () => {
		const isOver = await clock.turnUntil(until, mostSteps, MOST_MS);
		history.ended = isOver ? 'ended' : 'stuck';
	});
	history.endedAt = clock.now;
	history.steps = clock.steps;
}

/** Lets a world happen from its beginning. The same world gives the same history. */
export async function simulate(world: World, code: NodeCode): Promise<History> {
	const setting = settingOf(world, () => code.load(world.version));
	const { clock, n8n, history } = setting;
	for (const { atMs, byMs } of world.clockChanges ?? []) {
		clock.after(atMs, () => (clock.shift += byMs));
	}
	await clock.rule(setting.random, () => Promise.resolve(n8n.start()));
	await pass(setting);
	return history;
}
