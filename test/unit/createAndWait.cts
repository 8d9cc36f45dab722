import { createRun } from '../../nodes/AgentInvocation/api/endpoints.ts';
import { fail, succeed } from '../../nodes/AgentInvocation/api/failure.ts';
import { sendPatiently } from '../../nodes/AgentInvocation/api/sendPatiently.ts';
import type { Service } from '../../nodes/AgentInvocation/api/service.ts';
import { runBatch } from '../../nodes/AgentInvocation/waiting/batch.ts';
import { systemClock as clock } from '../../nodes/AgentInvocation/waiting/clock.ts';
import { Durations } from '../../nodes/AgentInvocation/waiting/durations.ts';
import { waitForRun } from '../../nodes/AgentInvocation/waiting/waitForRun.ts';

/**
 * Creates a run for each item and waits for all as the node does, without n8n around it. Each run has its
 * item's number as the value of its parameter `item`. Gives their outputs, in the order of the items.
 */
export async function createAndWait(service: Service, count: number, concurrency: number) {
	const durations = new Durations();
	const outputs = new Array<unknown>(count);
	await runBatch({ count, concurrency, stopAtFailure: false }, async (index, signal) => {
		const request = createRun(1, [{ name: 'item', value: String(index) }]);
		const patience = { clock, deadline: Infinity, signal };
		const { body } = await sendPatiently(service, request, 'create', patience);
		if (!body) return fail({ message: 'not created', description: '' });
		const wait = {
			agentId: 1,
			runId: body.run_id,
			lastSeen: body,
			startedAt: clock.now(),
			timeoutMs: 0,
			pollIntervalMs: 0,
		};
		const waited = await waitForRun(service, wait, { clock, durations, signal });
		outputs[index] = waited.why === 'finished' ? waited.run.output : waited.why;
		return succeed(index);
	});
	return outputs;
}
