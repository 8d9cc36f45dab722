import type { ChildProcess } from 'node:child_process';
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
 * The memory of a process in MB, from Linux's own account of it.
 *
 * @param what resident now, or at the peak
 */
export function memoryMb(pid: number | undefined, what: 'VmRSS' | 'VmHWM'): number {
	const status = readFileSync(`/proc/${pid}/status`, 'utf8');
	return Number(new RegExp(`${what}:\\s+(\\d+)`).exec(status)?.[1]) / 1_024;
}
