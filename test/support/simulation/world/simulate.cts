import { apiKeyOf } from './answers.cts';
import { NEW_KEY, type History } from './history.cts';
import { N8n } from './n8n.cts';
import { Network } from './network.cts';
import type { NodeCode } from './nodeCode.cts';
import type { Surroundings } from './process.cts';
import { randomFrom } from './random.cts';
import { WorldService } from './service.cts';
import { VirtualClock } from './virtualClock.cts';
import type { World } from './world.cts';

/** Five times as many steps as the longest of 4,000 worlds takes, in which the node ends. */
const MOST_STEPS = 400_000;

/** How long a world may go on, in ms. */
const MOST_MS = 60 * 86_400_000;

/** Lets a world happen. The same world gives the same history. */
export async function simulate(world: World, code: NodeCode): Promise<History> {
	const random = randomFrom(world.seed);
	const clock = new VirtualClock(random);
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
	const service = new WorldService(world.service, clock, random, history);
	const network = new Network(world.service, service, clock, random, history);
	await clock.rule(random, async () => {
		const host: Surroundings = {
			clock,
			service,
			network,
			history,
			credential: (key: number) => ({
				baseUrl: 'https://agents.example.com/api/v1',
				apiKey: apiKeys[key] ?? '',
			}),
			agentName: (agent: number) => world.service.agents[agent] ?? '',
			stored: (id: string) => n8n.database.storedOf(id),
		};
		const n8n = new N8n(world, host, () => code.load(world.version));
		for (const { atMs, byMs } of world.clockChanges ?? []) {
			clock.after(atMs, () => (clock.shift += byMs));
		}
		n8n.start();
		const isOver = await clock.turnUntil(() => n8n.isIdle, MOST_STEPS, MOST_MS);
		history.ended = isOver ? 'ended' : 'stuck';
	});
	history.endedAt = clock.now;
	history.steps = clock.steps;
	return history;
}
