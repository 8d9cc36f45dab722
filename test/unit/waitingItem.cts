import type { Wait, Waiting } from '../../nodes/AgentInvocation/item.ts';

const options = {
	timeoutMs: 3_600_000,
	pollIntervalMs: 0,
	onUnsuccessfulRun: 'error',
	onTimeout: 'error',
	outputFormat: 'text',
	whereToWait: 'auto',
} as const;

export const RUN = { baseUrl: 'https://agents.example.com/api/v1', agentId: 7, runId: 'run-1' };

/** An item whose wait begins now. */
export function waitingItem(changes: Partial<Wait> = {}): Waiting {
	return {
		is: 'waiting',
		run: RUN,
		wait: {
			options,
			where: 'auto',
			beganOn: Date.now(),
			dueOn: Date.now(),
			delayMs: 0,
			isLong: false,
			failuresInARow: 0,
			doubtfulAnswers: 0,
			...changes,
		},
	};
}
