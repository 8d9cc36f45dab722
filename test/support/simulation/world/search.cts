import fc from 'fast-check';

import { violationsOf, type Violation } from './invariants.cts';
import type { NodeCode } from './nodeCode.cts';
import { simulate } from './simulate.cts';
import { traceOf } from './trace.cts';
import type { World } from './world.cts';
import { worlds as anyWorld } from './worlds.cts';

/** A promise that was broken, in the smallest world that was found for it. */
export interface Found extends Violation {
	world: World;
	/** How many worlds it took. */
	after: number;
}

interface Search {
	worlds: number;
	seed: number;
	say: (line: string) => void;
	/** How many attempts a shrink may take. */
	mostShrinks?: number;
	/** And how long it may take, in ms. */
	mostShrinkMs?: number;
	/** Ends with the first one found. */
	isOneEnough?: boolean;
	isShrunk?: boolean;
}

/** Two violations are of one kind if they differ in numbers and names alone. */
export function kindOf({ promise, what }: Violation): string {
	return `${promise}: ${what
		.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'run')
		.replace(/e\d+t\d+i\d+/g, 'item')
		.replace(/\d+(\.\d+)?/g, 'n')
		.replace(/[,:] (n, )*n$/, '')}`;
}

/** The world of a seed, which depends on nothing else. */
export function worldOf(seed: number): World {
	return fc.sample(anyWorld, { seed, numRuns: 1 })[0]!;
}

/** Lets worlds happen until so many have, and shrinks one for each kind of violation. */
export async function search(code: NodeCode, asked: Search): Promise<Found[]> {
	const {
		worlds,
		seed,
		say,
		mostShrinks = 400,
		mostShrinkMs = 20_000,
		isOneEnough = false,
		isShrunk = true,
	} = asked;
	const found: Found[] = [];
	const known = new Set<string>();
	for (let done = 1; done <= worlds; done++) {
		const own = seed + done - 1;
		const world = worldOf(own);
		const news = (await violationsIn(world, code)).filter((one) => !known.has(kindOf(one)));
		if (done % 500 === 0) say(`${done} worlds`);
		for (const violation of news) {
			const kind = kindOf(violation);
			if (known.has(kind)) continue;
			known.add(kind);
			const smallest = isShrunk
				? await shrink(own, code, kind, { mostShrinks, mostShrinkMs })
				: world;
			const history = await simulate(smallest, code);
			const shown = violationsOf(history).find((one) => kindOf(one) === kind) ?? violation;
			found.push({ ...shown, world: smallest, after: done });
			say(
				`\nBROKEN ${shown.promise}: ${shown.what}\nseed ${own}, after ${done} worlds\n${traceOf(history)}\n--world '${JSON.stringify(smallest)}'\n`,
			);
		}
		if (isOneEnough && found.length > 0) return found;
	}
	return found;
}

async function violationsIn(world: World, code: NodeCode): Promise<Violation[]> {
	return violationsOf(await simulate(world, code));
}

/** The smallest world that breaks the same promise in the same way. */
async function shrink(
	seed: number,
	code: NodeCode,
	kind: string,
	most: { mostShrinks: number; mostShrinkMs: number },
): Promise<World> {
	let tries = 0;
	const began = performance.now();
	const result = await fc.check(
		fc.asyncProperty(anyWorld, async (world) => {
			if (tries++ > most.mostShrinks || performance.now() - began > most.mostShrinkMs) return true;
			return !(await violationsIn(world, code)).some((one) => kindOf(one) === kind);
		}),
		{ seed, numRuns: 1 },
	);
	const [smallest] = result.counterexample ?? [worldOf(seed)];
	return smallest;
}
