import fc from 'fast-check';

import type { WorkflowFile } from '../../hosts/n8n.cts';
import type { Fault } from '../../sandbox/faults.cts';
import {
	agentNode,
	collectWorkflow,
	createForRow,
	loopWorkflow,
	rowsWorkflow,
	savingProgress,
	type NodeFile,
} from '../support/workflows.cts';

/** A row that starts a run of the scripted agent. Its text is the run's output, and no other row has it. */
export interface Row {
	agent: 3;
	values: { seconds: number; status: 'succeeded' | 'failed' | 'cancelled'; text: string };
}

/** An execution that is to be begun. */
export interface Begin {
	kind: string;
	/** The workflow's ID. */
	workflow: string;
	rows: Row[];
}

interface Kind {
	make: (id: string) => WorkflowFile;
	/** The longest run, in s. */
	longest: number;
	/** Whether failed items go to the error output; else the first one ends the execution. */
	continues?: boolean;
	/**
	 * What n8n has of an execution that waits, once n8n itself is ended: nothing (when absent), the runs
	 * that were started, or the whole wait, so that the execution goes on by itself.
	 */
	keeps?: 'progress' | 'wait';
}

const continuing = { onError: 'continueErrorOutput' } as const;
const run = (options = {}, more: Partial<NodeFile> = {}) =>
	agentNode('Run', { ...createForRow, options }, more);

/** Every way in which the node is used. */
export const kinds: Record<string, Kind> = {
	waits: { make: (id) => rowsWorkflow(id, run({}, continuing)), longest: 8, continues: true },
	saves: {
		make: (id) => savingProgress(rowsWorkflow(id, run({}, continuing))),
		longest: 40,
		continues: true,
		keeps: 'progress',
	},
	parks: {
		make: (id) => rowsWorkflow(id, run({ whereToWait: 'stored' }, continuing)),
		longest: 150,
		continues: true,
		keeps: 'wait',
	},
	parksSaving: {
		make: (id) => savingProgress(rowsWorkflow(id, run({ whereToWait: 'stored' }, continuing))),
		longest: 150,
		continues: true,
		keeps: 'wait',
	},
	retries: {
		make: (id) => rowsWorkflow(id, run({}, { retryOnFail: true, waitBetweenTries: 500 })),
		longest: 4,
	},
	loops: { make: (id) => loopWorkflow(id, run()), longest: 2 },
	collects: { make: (id) => collectWorkflow(id), longest: 6 },
};

/** A workflow of each kind for each credential. */
export function workflowsFor(credentialIds: string[]): WorkflowFile[] {
	return credentialIds.flatMap((credentialId) =>
		Object.entries(kinds).map(([kind, { make }]) => {
			const workflow = make(idOf(kind, credentialId));
			for (const { credentials } of workflow.nodes) {
				if (credentials?.agentInvocationApi) {
					credentials.agentInvocationApi = { id: credentialId, name: credentialId };
				}
			}
			return workflow;
		}),
	);
}

function idOf(kind: string, credentialId: string): string {
	return `${kind}-${credentialId}`;
}

/** As many executions as asked for, with each credential in turn, the same for the same seed. */
export function makeExecutions(count: number, seed: number, credentialIds: string[]): Begin[] {
	const execution = fc.constantFrom(...Object.keys(kinds)).chain((kind) => {
		const { longest, continues } = kinds[kind]!;
		const row = fc.record({
			seconds: fc.integer({ min: 1, max: longest * 10 }).map((tenths) => tenths / 10),
			status: continues
				? fc.constantFrom('succeeded', 'succeeded', 'succeeded', 'failed', 'cancelled')
				: fc.constant('succeeded'),
		});
		const rows = fc.array(row, { minLength: 1, maxLength: 5 });
		return rows.map((all) => ({ kind, rows: all }));
	});
	return fc.sample(execution, { numRuns: count, seed }).map(({ kind, rows }, n) => ({
		kind,
		workflow: idOf(kind, credentialIds[n % credentialIds.length]!),
		rows: rows.map((values, item) => ({
			agent: 3,
			values: { ...values, text: `execution ${n}, item ${item}` },
		})),
	}));
}

/** Temporary failures, after which every run can still be output; a create alone may fail for good. */
export function makeFaults(count: number, seed: number): Fault[] {
	const what = fc.constantFrom<Omit<Fault, 'method' | 'times'>>(
		{ kind: 'reset' },
		{ kind: 'reset', carriedOut: true },
		{ kind: 'truncated', carriedOut: true },
		{ kind: 'stall', delayMs: 5_000 },
		{ kind: 'delay', delayMs: 3_000 },
		{ kind: 'html', status: 502 },
		{ kind: 'html', status: 200 },
		{ kind: 'answer', status: 500, body: '' },
		{ kind: 'answer', status: 429, body: '', headers: { 'retry-after': '1' } },
		{ kind: 'answer', status: 429, body: '' },
	);
	const fault = fc.record({
		what,
		// Polls are more frequent than creates, and a create whose answer is lost tells less.
		method: fc.constantFrom('GET', 'GET', 'GET', 'POST'),
		times: fc.integer({ min: 1, max: 3 }),
	});
	return fc
		.sample(fault, { numRuns: count, seed })
		.map(({ what: kind, ...rest }) => ({ ...kind, ...rest }));
}
