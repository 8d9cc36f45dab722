import { createHash } from 'node:crypto';

import type { IExecuteFunctions } from 'n8n-workflow';

import type { ParameterBinding } from '../api/types';

/**
 * What an item has started, under the fingerprint of what it was to start: the ID of its run, or
 * `unknown` when a create may or may not have started one.
 */
export interface StartedBefore {
	fingerprint: string;
	runId: string;
	/** When it was noted, in ms since the epoch. */
	notedOn: number;
}

/** Stands for the ID of a run that may exist. */
export const UNKNOWN_RUN = 'unknown';

/**
 * Which runs this node has started, kept in the node's context. n8n hands that context on to the tries
 * of Retry On Fail and to the editor's Retry, and stores it with the execution, so that a retry finds
 * the runs of the try before.
 *
 * Entries belong to the node's run index, so that every turn of a loop has its own.
 */
export class RunMemory {
	private readonly entries: Record<string, StartedBefore>;

	private readonly prefix: string;

	constructor(context: IExecuteFunctions) {
		const stored = context.getContext('node') as { runs?: Record<string, StartedBefore> };
		this.entries = stored.runs ??= {};
		this.prefix = `${String(context.getWorkflowDataProxy(0).$runIndex)}:`;
	}

	/** What the item has started with this very fingerprint. */
	recall(itemIndex: number, fingerprint: string): StartedBefore | undefined {
		const entry = this.entries[this.prefix + itemIndex];
		return entry?.fingerprint === fingerprint ? entry : undefined;
	}

	note(itemIndex: number, entry: StartedBefore): void {
		this.entries[this.prefix + itemIndex] = entry;
	}

	/** Lets the next try start another run. */
	forget(itemIndex: number): void {
		delete this.entries[this.prefix + itemIndex];
	}

	/** Forgets what this run of the node has started: it has succeeded, and n8n retries it no more. */
	clear(): void {
		for (const key of Object.keys(this.entries)) {
			if (key.startsWith(this.prefix)) delete this.entries[key];
		}
	}
}

/** A short text that is the same for the same service, agent and bindings. */
export function fingerprintOf(
	baseUrl: string,
	agentId: number,
	bindings: ParameterBinding[],
): string {
	const text = JSON.stringify([baseUrl, agentId, bindings.map(({ name, value }) => [name, value])]);
	return createHash('sha256').update(text).digest('base64').slice(0, 16);
}
