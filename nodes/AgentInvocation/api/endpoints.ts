import type { IDataObject } from 'n8n-workflow';

import {
	isAgentPage,
	isCreatedRun,
	isRun,
	type AgentPage,
	type ParameterBinding,
	type Run,
} from './types';

/** One request of the service's interface, and the shape that its 2xx answer has. */
export interface ServiceRequest<T> {
	method: 'GET' | 'POST';
	/** Below the base URL. */
	path: string;
	query?: IDataObject;
	body?: IDataObject;
	hasShape(body: unknown): body is T;
}

/** Section 4.1. `limit` is from 1 to 100 and always sent, since its default is not documented. */
export function listAgents(limit: number, offset: number): ServiceRequest<AgentPage> {
	return { method: 'GET', path: '/agents', query: { limit, offset }, hasShape: isAgentPage };
}

/** Section 4.2. */
export function createRun(agentId: number, bindings: ParameterBinding[]): ServiceRequest<Run> {
	return { ...runCreation(agentId, bindings), hasShape: isCreatedRun };
}

/** Section 4.2 with `dry_run`: nothing is started, and the answer's shape is not documented. */
export function dryRun(agentId: number, bindings: ParameterBinding[]): ServiceRequest<unknown> {
	return {
		...runCreation(agentId, bindings),
		query: { dry_run: true },
		hasShape: (body: unknown): body is unknown => body !== undefined,
	};
}

/** Section 4.3. */
export function getRun(agentId: number, runId: string): ServiceRequest<Run> {
	return { method: 'GET', path: `/agents/${agentId}/runs/${runId}`, hasShape: isRun };
}

function runCreation(agentId: number, bindings: ParameterBinding[]) {
	return {
		method: 'POST' as const,
		path: `/agents/${agentId}/runs`,
		// null and not left out: the body is required, and n8n drops an empty object.
		body: {
			parameter_bindings: bindings.length > 0 ? bindings.map((binding) => ({ ...binding })) : null,
		},
	};
}
