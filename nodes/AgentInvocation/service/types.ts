// The service's resources, as `sandbox/openapi.yaml` describes them.

/** A parameter that an agent accepts. */
export interface AgentParameter {
	name: string;
	required: boolean;
	description: string;
}

/**
 * A published agent of the organization that owns the API key. Each field has its type, whatever the service
 * sent.
 */
export interface Agent {
	/** Undefined if what the service sent cannot be part of a path. */
	id: number | undefined;
	name: string;
	description: string;
	/** Those that have a name; of several with the same name, the first. */
	parameters: AgentParameter[];
	asItCame: Record<string, unknown>;
}

/** The value given to one parameter of a run. */
export interface ParameterBinding {
	name: string;
	value: string;
}

/** A run as the status endpoint gives it, or as its creation does (then with `run_id` and `status` alone). */
export interface Run {
	run_id: string;
	status: string;
	created_at?: string;
	completed_at?: string | null;
	output?: string;
	/** Documented as text. Any other JSON is shown as well. */
	error?: unknown;
	[field: string]: unknown;
}

/** One page of the agents' list. */
export interface AgentPage {
	agents: unknown[] | null;
	pagination?: { total?: unknown } | null;
}

/** What an error envelope says. */
export interface ServiceError {
	code: string;
	message: string;
	requestId: string;
	/** Whether something of it is missing, so that it may be a gateway's. */
	isPartial?: boolean;
}

export function isJsonObject(value: unknown): value is Record<string, unknown> {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isAgentPage(value: unknown): value is AgentPage {
	if (!isJsonObject(value)) return false;
	const { agents, pagination } = value;
	// Some languages write an empty list as null.
	if (agents === null) return isJsonObject(pagination);
	return Array.isArray(agents) && (agents.length === 0 || agents.some(isJsonObject));
}

export function toAgent(asItCame: Record<string, unknown>): Agent {
	const { id, name, description, parameters } = asItCame;
	const named = new Map<string, AgentParameter>();
	for (const one of (Array.isArray(parameters) ? parameters : []).filter(isJsonObject)) {
		const [own, about] = [toText(one.name), toText(one.description)];
		const parameter = { name: own, required: one.required === true, description: about };
		if (own !== '' && !named.has(own)) named.set(own, parameter);
	}
	return {
		id: toAgentId(id),
		name: toText(name),
		description: toText(description),
		parameters: [...named.values()],
		asItCame,
	};
}

/**
 * The ID as a number, if the value is a whole number or the text of one; otherwise undefined, since it
 * becomes part of a path.
 */
export function toAgentId(value: unknown): number | undefined {
	const text = toText(value).trim();
	const id = Number(text);
	return /^(0|[1-9]\d*)$/.test(text) && Number.isSafeInteger(id) ? id : undefined;
}

/** The value as text. A number or a boolean is converted; anything else that is not text gives an empty one. */
export function toText(value: unknown): string {
	return ['string', 'number', 'boolean', 'bigint'].includes(typeof value) ? String(value) : '';
}

/** Whether this is a run. Pages about the health of a proxy have a `status` too, but no `run_id`. */
export function isRun(value: unknown): value is Run {
	return isCreatedRun(value) && 'status' in value && typeof value.status === 'string';
}

/** Whether this is a created run. Only the ID is checked, since without it the run would be lost. */
export function isCreatedRun(
	value: unknown,
): value is { run_id: string | number; status?: unknown } {
	if (!isJsonObject(value)) return false;
	const { run_id: id } = value;
	return typeof id === 'number' || (typeof id === 'string' && id.trim() !== '');
}

/**
 * Whether a text can be used as a run ID. The service documents a UUID; any other text that is one plain
 * segment of a path is taken too, and escaped.
 */
export function isRunId(text: string): boolean {
	return /^(?!\.{1,2}$)[^\s/\\?#%\p{Cc}\p{Cf}\p{Cs}]{1,200}$/u.test(text);
}

/** The error codes that the interface documents. */
const ERROR_CODES = [
	'missing_api_key',
	'invalid_api_key',
	'agent_not_found',
	'run_not_found',
	'unknown_parameter',
	'invalid_parameter_value',
	'internal_error',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

export function isErrorCode(code: unknown): code is ErrorCode {
	return ERROR_CODES.some((one) => one === code);
}

/**
 * Reads the error envelope of a body; undefined if it has none. Gateways have errors of a similar form, with a number
 * for a code, or without an ID: a documented code then explains the error, but proves nothing.
 */
export function readServiceError(body: unknown): ServiceError | undefined {
	if (!isJsonObject(body) || !isJsonObject(body.error)) return undefined;
	const { code, message, request_id: requestId } = body.error;
	const hasId = typeof requestId === 'string' || typeof requestId === 'number';
	const isWhole = hasId && typeof code === 'string';
	if (typeof message !== 'string' || !(isWhole || isErrorCode(code))) return undefined;
	return { code, message, requestId: toText(requestId), ...(!isWhole && { isPartial: true }) };
}
