import type { IDataObject } from 'n8n-workflow';

import {
	isAgentPage,
	isCreatedRun,
	isRun,
	type AgentPage,
	type ParameterBinding,
	type Run,
} from './types';

/** One request of the service's interface (`sandbox/openapi.yaml`), and the shape of its 2xx answer. */
export interface ServiceRequest<T> {
	method: 'GET' | 'POST';
	/** Below the base URL. */
	path: string;
	query?: IDataObject;
	body?: IDataObject;
	/** Whether it is to start a run. */
	startsRun?: boolean;
	/** How long it may take, in ms; if absent, the usual time of its method. */
	timeoutMs?: number;
	/** How long its answer may take to arrive in all, in ms; if absent, twice as long. */
	longestMs?: number;
	hasShape(body: unknown): body is T;
}

/** `limit` is from 1 to 100 and always sent, since its default is not documented. */
export function listAgents(limit: number, offset: number): ServiceRequest<AgentPage> {
	return { method: 'GET', path: '/agents', query: { limit, offset }, hasShape: isAgentPage };
}

/** Starts a run, which the answer names. */
export function createRun(
	agentId: number,
	bindings: ParameterBinding[],
): ServiceRequest<{ run_id: string | number; status?: unknown }> {
	return {
		method: 'POST',
		path: `/agents/${agentId}/runs`,
		// null, not absent: the service requires the body, and n8n drops an empty object.
		body: { parameter_bindings: bindings.length > 0 ? bindings : null },
		startsRun: true,
		hasShape: isCreatedRun,
	};
}

/** With `dry_run` nothing is started, and the answer's shape is not documented. */
export function dryRun(agentId: number, bindings: ParameterBinding[]): ServiceRequest<unknown> {
	return {
		...createRun(agentId, bindings),
		query: { dry_run: true },
		startsRun: false,
		hasShape: (body: unknown): body is unknown => body !== undefined,
	};
}

/** Gets the status of a run, and its result once it has finished. An answer about another run does not count. */
export function getRun(agentId: number, runId: string): ServiceRequest<Run> {
	const isAsked = ({ run_id: id }: Run) => toComparable(String(id)) === toComparable(runId);
	return {
		method: 'GET',
		path: `/agents/${agentId}/runs/${encodeURIComponent(runId)}`,
		hasShape: (body): body is Run => isRun(body) && isAsked(body),
	};
}

/** The same text for all forms of a run ID: a UUID has several (RFC 9562, section 4). */
function toComparable(runId: string): string {
	const text = runId.toLowerCase();
	const digits = text.replace(/^urn:uuid:|[{}-]/g, '');
	return /^[0-9a-f]{32}$/.test(digits) ? digits : text;
}
