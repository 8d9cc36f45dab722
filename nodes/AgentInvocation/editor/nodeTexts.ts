/** The value of 'Agent' as it is stored. */
interface StoredAgent {
	mode?: string;
	value?: unknown;
	cachedResultName?: unknown;
}

/** `$parameter` in an expression. Its `agentId` is only the agent's ID or name; `toJSON` gives all that is stored. */
interface Parameters {
	resource?: string;
	operation?: string;
	returnAll?: boolean;
	limit?: unknown;
	dryRun?: boolean;
	toJSON?(): { agentId?: StoredAgent; options?: { timeout?: unknown } };
}

// The editor evaluates the text of these functions in expressions, so they may use nothing but their
// arguments.

/** The chosen agent's name, or 'agent' and its ID; empty if it is not chosen or is an expression. */
function nameOf({ mode, value, cachedResultName }: StoredAgent = {}): string {
	const name = mode === 'list' ? String(cachedResultName ?? '').split('\u2060 — ')[0] : value;
	const text = String(name || '');
	if (text.startsWith('=')) return '';
	return mode === 'id' && text !== '' ? `agent ${text}` : text;
}

function describeNode(parameters: Parameters, agentName: typeof nameOf): string {
	const { resource, operation, returnAll, limit, dryRun } = parameters;
	if (resource === 'agent' && operation === 'list')
		return returnAll ? 'all agents' : `up to ${String(limit)} agent${limit === 1 ? '' : 's'}`;
	const named = [dryRun ? 'dry run' : '', agentName(parameters.toJSON?.().agentId)];
	return named.filter(Boolean).join(': ') || `${operation} run`;
}

function describeWait(parameters: Parameters, agentName: typeof nameOf): string {
	const { agentId, options } = parameters.toJSON?.() ?? {};
	const name = agentName(agentId).replace(/&/g, '&amp;').replace(/</g, '&lt;');
	const seconds = Number(options?.timeout ?? 3_600);
	const units = { hour: 3_600, minute: 60, second: 1 };
	const whole = Object.entries(units).find((entry) => seconds % entry[1] === 0);
	const [unit, length] = whole ?? ['second', 1];
	const count = seconds / length;
	const atMost = seconds > 0 ? `, for up to ${count} ${unit}${count === 1 ? '' : 's'}` : '';
	return `Waiting for ${name ? `'${name}'` : 'the agent'} to finish${atMost}. n8n has stored this execution and polls again by itself; the list of executions says when.`;
}

function expressionOf(describe: typeof describeNode): string {
	return `={{ (${describe.toString()})($parameter, ${nameOf.toString()}) }}`;
}

/** The text below the node's name: the agent, since n8n already names the node after its operation. */
export const subtitle = expressionOf(describeNode);

/**
 * What a stored execution waits for, and for how long at most. The editor renders this as HTML. The
 * expression has none of the execution's data, so only n8n's list of executions can tell when the next poll
 * is.
 */
export const waitingTooltip = expressionOf(describeWait);
