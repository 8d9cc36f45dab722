import type { INodeParameters } from 'n8n-workflow';

import { startSandbox } from '../sandbox/server.cts';
import { execute } from '../test/support/engine.cts';
import { createRun } from '../test/support/sandboxed.cts';

/** The agent of the sandbox whose runs take as long as their parameter `seconds` says. */
const TIMED_AGENT = 3;

/** What executions of the node in n8n's engine took, against the sandbox, over HTTP. */
export interface EngineCost {
	what: string;
	/** Of all executions together, in s. */
	seconds: number;
	requests: number;
	refused: number;
}

interface Load {
	what: string;
	executions?: number;
	items: number;
	/** How long each run takes, in s. */
	runS: number;
	options?: INodeParameters;
	/** Requests a second that the sandbox carries; 0 for all. */
	limit?: number;
}

/** What the results show. */
export const loads: Load[] = [
	{ what: '300 items of 1 s, defaults', items: 300, runS: 1 },
	{ what: '1,000 items of 2 s, defaults', items: 1_000, runS: 2 },
	{
		what: '100 items of 2 s, Max Concurrency 100',
		items: 100,
		runS: 2,
		options: { maxConcurrency: 100 },
	},
	{
		what: '20 executions of 10 items of 2 s, 20 requests a second',
		executions: 20,
		items: 10,
		runS: 2,
		limit: 20,
	},
];

/** Executes a load in n8n-core's engine. */
export async function inEngine({
	what,
	executions = 1,
	items,
	runS,
	options = {},
	limit = 0,
}: Load): Promise<EngineCost> {
	const sandbox = await startSandbox(0, {
		rateLimit: { requests: limit, windowMs: 1_000, retryAfter: 'seconds', body: 'envelope' },
	});
	try {
		const began = performance.now();
		const outcomes = await Promise.all(
			Array.from({ length: executions }, async () =>
				execute({
					credential: { baseUrl: sandbox.baseUrl, apiKey: 'sandbox-key' },
					parameters: createRun(TIMED_AGENT, { seconds: runS }, { options }),
					items: Array.from({ length: items }, (_, n) => ({ n })),
				}),
			),
		);
		const seconds = (performance.now() - began) / 1_000;
		for (const { output, error } of outcomes) {
			if (output.length !== items) throw new Error(`${what}: ${error?.message}`);
		}
		const refused = sandbox.requests.filter(({ status }) => status === 429).length;
		return { what, seconds, requests: sandbox.requests.length, refused };
	} finally {
		await sandbox.close();
	}
}
