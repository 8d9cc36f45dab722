// Runs the engine tests in the engines of older versions of n8n, which hosts/engines names.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

import { findNode, HostUnavailable, installLocked } from '../../hosts/install.cts';
import { projectRoot } from '../../hosts/pack.cts';

async function main(): Promise<void> {
	const folder = await installLocked('engines', (line) => console.log(line));
	const { dependencies } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as {
		dependencies: Record<string, string>;
	};
	const failed = Object.keys(dependencies).filter((name) => {
		console.log(`\n== ${name}`);
		return !passes(findNode(folder), path.join(folder, 'node_modules', name), testsWithout(name));
	});
	if (failed.length > 0) throw new HostUnavailable(`Failed in ${failed.join(', ')}`);
	console.log(`\nPassed in ${Object.keys(dependencies).join(', ')}`);
}

/** The names of the test files that cannot run in an engine. */
function testsWithout(engine: string): string[] {
	return [
		// They ask the editor's helpers, which older versions have in another form or not at all, or evaluate what
		// only the editor does: n8n 1.85 shows no text for a stored execution.
		...['messages', 'hostileNames', 'nodeTexts'],
		// n8n's own agents are new, and so is the context in which they run a node.
		'alone',
		// In n8n 1.85 to 1.115 and 2.0.0 every wait stays in memory. The e2e suite tries how 1.123 stores them.
		...(/^n8n-(1\.|2\.0\.)/.test(engine) ? ['storedExecution'] : []),
	];
}

function passes(node: string, engine: string, without: string[]): boolean {
	const args = [
		// Some engines require ES modules, which Jest can do with this.
		'--experimental-vm-modules',
		path.join(projectRoot, 'node_modules/jest/bin/jest.js'),
		'--selectProjects=engine',
		// Some keep timers, which would keep Jest.
		'--forceExit',
		`--resolver=${path.join(__dirname, 'resolver.cjs')}`,
		`--testPathIgnorePatterns=engine/(${without.join('|')})`,
		...process.argv.slice(2),
	];
	const env = { ...process.env, N8N_ENGINE: engine };
	return spawnSync(node, args, { cwd: projectRoot, env, stdio: 'inherit' }).status === 0;
}

main().catch((thrown: unknown) => {
	console.error(thrown instanceof HostUnavailable ? thrown.message : thrown);
	process.exitCode = 1;
});
