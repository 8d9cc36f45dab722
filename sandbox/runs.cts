import { randomUUID } from 'node:crypto';

import type { SandboxAgent, Script } from './agents.cts';
import type { Settings } from './settings.cts';

/** A run that was created, with all that the sandbox knows of it. */
export interface SandboxRun {
	runId: string;
	agentId: number;
	bindings: Record<string, string>;
	script: Script;
	createdAt: number;
}

/** The runs of the organization. Time alone moves them on. */
export class Runs {
	readonly all: SandboxRun[] = [];

	private readonly byId = new Map<string, SandboxRun>();

	create(agent: SandboxAgent, bindings: Record<string, string>): SandboxRun {
		const run: SandboxRun = {
			runId: randomUUID(),
			agentId: agent.id,
			bindings,
			script: agent.script(bindings),
			createdAt: Date.now(),
		};
		this.all.push(run);
		this.byId.set(run.runId, run);
		return run;
	}

	/** Forgets a run, as if it had been deleted. */
	forget(runId: string): boolean {
		return this.byId.delete(runId);
	}

	find(agentId: number, runId: string, settings: Settings): SandboxRun | undefined {
		const run = this.byId.get(runId);
		if (!run || run.agentId !== agentId) return undefined;
		return Date.now() - run.createdAt < settings.notFoundMs ? undefined : run;
	}
}

/** A run as the status endpoint shows it now. */
export function showRun({ runId, createdAt, script }: SandboxRun, settings: Settings) {
	const age = Date.now() - createdAt;
	const times = { run_id: runId, created_at: new Date(createdAt).toISOString() };
	if (age < script.durationMs) {
		const status = age < settings.pendingMs ? 'pending' : 'running';
		return { ...times, status, completed_at: null };
	}
	const hasEnd = script.status !== 'cancelled' || settings.cancelledHasEnd;
	return {
		...times,
		status: script.status,
		completed_at: hasEnd ? new Date(createdAt + script.durationMs).toISOString() : null,
		...(script.output !== undefined && { output: script.output }),
		...(script.error !== undefined && { error: script.error }),
	};
}
