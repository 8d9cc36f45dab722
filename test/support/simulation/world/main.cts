import { parseArgs } from 'node:util';

import { plantedDefects } from '../plantedDefects.cts';
import { search, worldOf } from './search.cts';
import { tellPlanted } from './planted.cts';
import { NodeCode, type Patch } from './nodeCode.cts';
import { reportPlanted, reportWorlds } from './report.cts';
import { simulate } from './simulate.cts';
import { traceOf } from './trace.cts';
import { violationsOf } from './invariants.cts';
import type { World } from './world.cts';

function say(line: string): void {
	process.stdout.write(`${line}\n`);
}

/**
 * `--worlds` and `--seed` search; `--world` replays a description, and `--replay` the world of a seed.
 * `--planted` searches for the planted defects, and `--patches` for the one that these make.
 */
async function main(): Promise<void> {
	const { values } = parseArgs({
		options: {
			worlds: { type: 'string', default: '1000' },
			seed: { type: 'string', default: '1' },
			world: { type: 'string' },
			replay: { type: 'string' },
			lines: { type: 'string', default: '200' },
			planted: { type: 'boolean', default: false },
			only: { type: 'string', default: '.' },
			patches: { type: 'string' },
			report: { type: 'boolean', default: false },
			'no-shrink': { type: 'boolean', default: false },
		},
	});
	const count = Number(values.worlds);
	const seed = Number(values.seed);
	if (values.report) {
		if (values.planted) return await reportPlanted({ seed, say });
		return await reportWorlds({ worlds: count, seed, say });
	}
	if (values.planted) {
		const only = new RegExp(values.only);
		const chosen = plantedDefects.filter(({ name }) => only.test(name));
		return await tellPlanted(chosen, { worlds: count, seed, say });
	}
	if (values.patches !== undefined) {
		const patches = JSON.parse(values.patches) as Patch[];
		return await tellPlanted([{ name: 'patches', patches }], { worlds: count, seed, say });
	}
	const code = new NodeCode();
	if (values.world !== undefined || values.replay !== undefined) {
		const world =
			values.world === undefined
				? worldOf(Number(values.replay))
				: (JSON.parse(values.world) as World);
		const history = await simulate(world, code);
		say(traceOf(history, Number(values.lines)));
		const violations = violationsOf(history);
		for (const { promise, what } of violations) say(`BROKEN ${promise}: ${what}`);
		process.exitCode = violations.length > 0 ? 1 : 0;
		return;
	}
	const began = performance.now();
	const found = await search(code, {
		worlds: count,
		seed,
		say,
		isShrunk: !values['no-shrink'],
	});
	const seconds = (performance.now() - began) / 1_000;
	say(
		`${count} worlds in ${seconds.toFixed(1)} s, ${(count / seconds).toFixed(0)} a second; ${found.length} kinds of violations`,
	);
	process.exitCode = found.length > 0 ? 1 : 0;
}

void main();
