import type { PlantedDefect } from '../planted/plant.cts';
import { violationsOf } from './invariants.cts';
import { NodeCode } from './nodeCode.cts';
import { kindOf, worldOf } from './search.cts';
import { simulate } from './simulate.cts';
import { standstill } from './virtualClock.cts';
import type { World } from './world.cts';

/** The most items of a world in which planted defects are looked for. */
const MOST_ITEMS = 155;

/** How a planted defect was noticed. */
interface Noticed {
	/** In which world, counted from 1. */
	after: number;
	what: string;
}

interface Asked {
	/** The most for each defect. */
	worlds: number;
	seed: number;
	say: (line: string) => void;
}

/** Says of each defect after how many worlds the simulation notices it, once it is planted. */
export async function tellPlanted(defects: PlantedDefect[], asked: Asked): Promise<void> {
	const code = new NodeCode();
	const usual = new Map<number, Set<string>>();
	asked.say('| Planted defect | Worlds until noticed | As |\n| --- | --- | --- |');
	let missed = 0;
	for (const defect of defects) {
		const noticed = await notice(defect, asked, async (seed) => {
			const known = usual.get(seed) ?? (await kindsIn(worldOf(seed), code));
			usual.set(seed, known);
			return known;
		});
		if (!noticed) missed++;
		const result = noticed ? `${noticed.after} | ${noticed.what}` : `NOT after ${asked.worlds} |`;
		asked.say(`| ${defect.name} | ${result} |`);
	}
	asked.say(`${defects.length - missed} of ${defects.length} are noticed`);
	process.exitCode = missed > 0 ? 1 : 0;
}

/** A world shows a defect if it breaks a promise in a way in which it does not without the defect. */
async function notice(
	defect: PlantedDefect,
	{ worlds, seed, say }: Asked,
	usualKinds: (seed: number) => Promise<Set<string>>,
): Promise<Noticed | undefined> {
	const code = new NodeCode(defect.patches);
	let after = 0;
	standstill.tell = () => say(`| ${defect.name} | ${after} | The node ends: it stands still |`);
	for (let own = seed; after < worlds; own++) {
		const world = worldOf(own);
		if (!isSmall(world)) continue;
		after++;
		const kinds = await kindsIn(world, code);
		if (kinds.size === 0) continue;
		const usual = await usualKinds(own);
		const [what] = [...kinds].filter((kind) => !usual.has(kind));
		if (what !== undefined) return { after, what: what.slice(0, 80).replaceAll('|', '/') };
	}
	return undefined;
}

/** Most defects show in small worlds, of which many more can be looked at. */
function isSmall({ executions }: World): boolean {
	return executions.reduce((sum, { items, turns }) => sum + items.length * turns, 0) <= MOST_ITEMS;
}

async function kindsIn(world: World, code: NodeCode): Promise<Set<string>> {
	const violations = violationsOf(await simulate(world, code));
	// By the promise and the beginning, since the rest depends on the moment.
	return new Set(violations.map((violation) => kindOf(violation).slice(0, 80)));
}
