/** What of the node's parameters is read, as it is stored. */
interface Stored {
	agentId?: { mode?: string; value?: unknown; cachedResultName?: unknown };
	options?: { timeout?: unknown };
}

/**
 * Says what a stored execution waits for, and for how long at most. The editor evaluates it in an expression,
 * so it uses nothing from outside, and renders it as HTML. It is given none of the execution's data: only
 * n8n's own list of executions tells when the next poll is.
 */
function describeWait({ agentId: agent, options }: Stored): string {
	const isText = (value: unknown) => typeof value === 'string' && !value.startsWith('=');
	const named =
		agent?.mode === 'name' ? agent.value : String(agent?.cachedResultName ?? '').split(' — ')[0];
	const name = isText(named) ? String(named).replace(/&/g, '&amp;').replace(/</g, '&lt;') : '';
	const seconds = Number(options?.timeout ?? 3_600);
	const units = { hour: 3_600, minute: 60, second: 1 };
	const [unit, length] = Object.entries(units).find((entry) => seconds % entry[1] === 0) ?? [
		'second',
		1,
	];
	const count = seconds / length;
	const atMost = seconds > 0 ? `, for up to ${count} ${unit}${count === 1 ? '' : 's'}` : '';
	return `Waiting for ${name ? `'${name}'` : 'the agent'} to finish${atMost}. n8n has stored this execution and polls again by itself; the list of executions says when.`;
}

/** The editor's text while n8n has stored the execution. */
export const waitingTooltip = `={{ (${describeWait.toString()})($parameter.toJSON?.() ?? {}) }}`;
