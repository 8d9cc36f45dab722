import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import path from 'node:path';

import { projectRoot } from '../../hosts/pack.cts';
import type { Patch } from '../support/simulation/world/nodeCode.cts';

/** How many worlds are tried for each mutant: as many as in `npm test`. */
export const WORLDS = 300;

/** In a process of its own, after which a mutant goes on for ever, in ms. */
const LONGEST = 20 * 60_000;

/** Which of these changes of the node the simulation notices. */
export async function noticedInWorlds(changes: Patch[]): Promise<boolean[]> {
	const noticed: boolean[] = [];
	let next = 0;
	const work = async () => {
		for (let own = next++; own < changes.length; own = next++) {
			noticed[own] = await isNoticed(changes[own]!);
			console.log(`${own + 1} of ${changes.length} in worlds: ${noticed[own] ? 'noticed' : 'not'}`);
		}
	};
	await Promise.all(Array.from({ length: availableParallelism() }, work));
	return noticed;
}

/** A simulation that cannot be carried out to its end has noticed the change as well. */
async function isNoticed(change: Patch): Promise<boolean> {
	const main = path.join(projectRoot, 'test/support/simulation/world/main.cts');
	const given = ['--worlds', String(WORLDS), '--patches', JSON.stringify([change])];
	return await new Promise((resolve) => {
		execFile(
			process.execPath,
			['--require', 'tsx/cjs', main, ...given],
			{ cwd: projectRoot, timeout: LONGEST, maxBuffer: 2 ** 28 },
			(_, stdout) => resolve(!stdout.includes(`NOT after ${WORLDS}`)),
		);
	});
}
