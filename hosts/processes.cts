import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** How a process is ended. */
export type Signal = 'SIGTERM' | 'SIGKILL';

const PATIENCE_MS = 20_000;

/** Whether a process has ended, by itself or by a signal. */
export function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
	return exitCode !== null || signalCode !== null;
}

/** Ends a process, on the spot if it does not end by itself in time. Resolves when it is gone. */
export async function end(child: ChildProcess, signal: Signal): Promise<void> {
	if (hasEnded(child)) return;
	const gone = new Promise((resolve) => child.once('close', resolve));
	child.kill(signal);
	const impatient = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
	await gone;
	clearTimeout(impatient);
}

/**
 * Leaves something to be done once this process is gone, however it ended: by a second Ctrl-C, a hang-up, or
 * killed. A shell in a session of its own has it to do, and sees that its input ends.
 *
 * @param script of the shell, with `$1` for the argument
 * @returns takes it back
 */
function onceWeAreGone(script: string, argument: string): () => void {
	const args = ['-c', `read _; ${script}`, 'keeper', argument];
	const keeper = spawn('/bin/sh', args, { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
	keeper.unref();
	return () => void keeper.kill('SIGKILL');
}

/** Ends a process that was spawned just now, and its own children, once this one is gone. Gives it back. */
export function endsWithUs<C extends ChildProcess>(child: C): C {
	if (child.pid === undefined) return child;
	child.once('exit', onceWeAreGone('kill -s KILL -- "-$1" "$1"', String(child.pid)));
	return child;
}

/** Removes a folder once this process is gone, and whoever of its processes still writes into it. */
export function goesWithUs(folder: string): () => void {
	const script = '[ -e "$1" ] || exit 0; for again in 1 2 3 4 5; do rm -rf -- "$1"; sleep 1; done';
	return onceWeAreGone(script, folder);
}

/**
 * The memory of a process in MB, from Linux's own account of it.
 *
 * @param what resident now, or at the peak
 */
export function memoryMb(pid: number | undefined, what: 'VmRSS' | 'VmHWM'): number {
	const status = readFileSync(`/proc/${pid}/status`, 'utf8');
	return Number(new RegExp(`${what}:\\s+(\\d+)`).exec(status)?.[1]) / 1_024;
}
