import { parseArgs } from 'node:util';

import { search, worldOf } from './search.cts';
import { isKnown } from './known.cts';
import { tellPlanted } from './planted.cts';
import { NodeCode } from './nodeCode.cts';
import { report } from './report.cts';
import { simulate } from './simulate.cts';
import { traceOf } from './trace.cts';
import { violationsOf } from './invariants.cts';
import type { World } from './world.cts';

function say(line: string): void {
	process.stdout.write(`${line}\n`);
}

/** `--worlds` and `--seed` search; `--world` replays a description, and `--replay` the world of a seed. */
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
			'without-known': { type: 'boolean', default: false },
			report: { type: 'boolean', default: false },
			'no-shrink': { type: 'boolean', default: false },
		},
	});
	const count = Number(values.worlds);
	if (values.report) return await report(count, Number(values.seed), say);
	if (values.planted) {
		const only = new RegExp(values.only);
		return await tellPlanted({ worlds: count, seed: Number(values.seed), only, say });
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
		seed: Number(values.seed),
		say,
		isShrunk: !values['no-shrink'],
		...(values['without-known'] && { isKnown }),
	});
	const seconds = (performance.now() - began) / 1_000;
	say(
		`${count} worlds in ${seconds.toFixed(1)} s, ${(count / seconds).toFixed(0)} a second; ${found.length} kinds of violations`,
	);
	process.exitCode = found.length > 0 ? 1 : 0;
}

void main();
