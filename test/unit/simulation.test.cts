import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

const ROOT = path.join(__dirname, '../..');

/** `npm run simulate`, in a process of its own: it replaces the clock and loads n8n's engine. */
async function simulate(...given: string[]): Promise<string> {
	const main = path.join(ROOT, 'test/support/simulation/world/main.cts');
	const run = promisify(execFile)(process.execPath, ['--require', 'tsx/cjs', main, ...given], {
		cwd: ROOT,
		maxBuffer: 2 ** 28,
	});
	const { stdout } = await run.catch((thrown: { stdout: string; stderr: string }) => ({
		stdout: `${thrown.stdout}\n${thrown.stderr}`,
	}));
	return stdout;
}

test('in worlds that nobody wrote, every promise is kept', async () => {
	const said = await simulate('--worlds', '300', '--seed', '20260101');
	expect(said).not.toContain('BROKEN');
	expect(said).toContain('300 worlds');
});

test('the same seed gives the same world, to the last answer', async () => {
	const tracesOf = async () =>
		await Promise.all(['5124', '5125', '5126'].map((seed) => simulate('--replay', seed)));
	const [traces, again] = [await tracesOf(), await tracesOf()];
	// In the world of a seed, wrong values may keep everything from being sent.
	expect(traces.join('')).toContain('request 0: ');
	expect(again).toEqual(traces);
});
