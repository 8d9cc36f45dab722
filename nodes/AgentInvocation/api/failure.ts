import type { Answer, AnswerKind } from './answer';

/** What is known about a failure; a continued item carries it as `details`. */
export interface FailureDetails {
	code?: string;
	http_status?: number;
	request_id?: string;
	agent_id?: number;
	run_id?: string;
	status?: string;
	output?: string;
}

/**
 * Why an item has no result, as a value: it becomes one of n8n's errors, or a continued item, only at
 * the node's edge.
 */
export interface Failure {
	/** What went wrong, in the user's words. Plain text. */
	message: string;
	/** What to do about it. Plain text: it is escaped where n8n renders it. */
	description: string;
	details: FailureDetails;
	/** Set when n8n itself said why, for example about an expression. */
	cause?: Error;
}

export type Result<T> = { ok: true; value: T } | { ok: false; failure: Failure };

export function succeed<T>(value: T): Result<T> {
	return { ok: true, value };
}

export function fail(failure: {
	message: string;
	description: string;
	details?: FailureDetails;
	cause?: Error;
}): Result<never> {
	return { ok: false, failure: { details: {}, ...failure } };
}

/** What was thrown, as an error. */
export function asError(thrown: unknown): Error {
	return thrown instanceof Error ? thrown : new Error(asText(thrown));
}

/** Any value as a text for a message. Objects are not turned into text by their own means: some have none. */
export function asText(value: unknown): string {
	if (typeof value === 'string') return value;
	if (typeof value === 'object' && value !== null) {
		return Array.isArray(value) ? 'an array' : 'an object';
	}
	return typeof value === 'function' ? 'a function' : String(value);
}

/** What a request was about, as far as it is known. */
export interface Subject {
	agentId?: number;
	runId?: string;
	/** Whether the request was to start a run, so that one may exist whatever was answered. */
	startsRun?: boolean;
	/** The credential's base URL, for a word on its usual form. */
	baseUrl: string;
}

type Advice = (subject: Subject) => { message: string; description: string };

const named = (what: string, id?: number | string) => (id === undefined ? what : `${what} ${id}`);
const agentOf = ({ agentId }: Subject) =>
	agentId === undefined ? 'the agent' : `agent ${agentId}`;

// The service's documented error codes (interface document, section 7; keys: section 5).
const BY_CODE: Record<string, Advice> = {
	missing_api_key: () => ({
		message: 'The service received no API key',
		description:
			"Open this node's credential and enter your organization's API key in 'API Key'. If a proxy stands between n8n and the service, it must let the x-api-key header pass.",
	}),
	invalid_api_key: () => ({
		message: 'The service does not accept the API key',
		description:
			"It is mistyped, or was revoked or regenerated. Ask an admin of your organization for the present key (in the service under Settings, API Key; it is shown once, when it is created) and enter it in this node's credential.",
	}),
	agent_not_found: (subject) => ({
		message: `The service has no ${named('agent', subject.agentId)} for this organization`,
		description:
			"The agent does not exist, is not published, or belongs to another organization than the credential's. Choose one from the list in 'Agent'.",
	}),
	run_not_found: (subject) => ({
		message: `The service has no ${named('run', subject.runId)} of ${agentOf(subject)}`,
		description:
			"Check 'Run ID', and that 'Agent' is the agent that the run was created with and the credential is of the same organization.",
	}),
	unknown_parameter: (subject) => ({
		message: `A parameter's name is not one of ${agentOf(subject)}`,
		description:
			"Compare the names with the agent's own: set 'Specify Parameters' to 'Using Fields Below' to get them as fields. If the agent was changed, refresh the fields.",
	}),
	invalid_parameter_value: (subject) => ({
		message: `A parameter's value is not one that ${agentOf(subject)} knows`,
		description:
			'A value must be one of the options that the parameter has at the service, letter by letter.',
	}),
	internal_error: () => ({
		message: 'The service could not process the request',
		description: 'Try again in a moment. If it stays, contact support with the request ID.',
	}),
};

const BY_KIND: Record<Exclude<AnswerKind, 'ok'>, Advice> = {
	rejected: () => ({
		message: 'The service rejected the request',
		description: 'Check the values of this node, and the agent itself at the service.',
	}),
	rateLimited: () => ({
		message: "The service's rate limit was exceeded for longer than the node may wait",
		description: 'Try again later, or run fewer workflows with the same API key at a time.',
	}),
	serverError: () => ({
		message: 'The service, or a proxy before it, could not process the request',
		description: 'Try again in a moment. If it stays, contact support.',
	}),
	foreign: (subject) => ({
		message: 'The answer did not come from the agent invocation service',
		description: addressAdvice(subject),
	}),
	redirect: (subject) => ({
		message: 'The address redirects to another one, which the node does not follow',
		description: `The API key would be sent there too. Enter the final address in the credential's 'Base URL' (often only http in place of https). ${addressAdvice(subject)}`,
	}),
	notConnected: () => ({
		message: 'No connection to the service could be made',
		description:
			"Check the host and port of the credential's 'Base URL', and that n8n can reach it from where it runs.",
	}),
	connectionLost: () => ({
		message: 'The connection to the service was lost before its answer was complete',
		description: 'Try again in a moment.',
	}),
	timedOut: () => ({
		message: 'The service did not answer in time',
		description: 'Try again in a moment.',
	}),
	notTrusted: () => ({
		message: "The service's certificate is not trusted",
		description:
			"Check 'Base URL' in the credential. If the service uses a certificate of your own organization, give n8n that authority's certificate (NODE_EXTRA_CA_CERTS).",
	}),
	notSent: () => ({
		message: 'n8n could not send the request',
		description: "Check this node's credential.",
	}),
	cancelled: () => ({
		message: 'The execution was canceled during a request to the service',
		description: 'Nothing more was sent.',
	}),
	halted: () => ({
		message: 'The node ended before this request was sent',
		description: 'Nothing was started.',
	}),
};

// After these, nobody knows whether the service has started a run.
const MAY_HAVE_STARTED: AnswerKind[] = [
	'serverError',
	'foreign',
	'connectionLost',
	'timedOut',
	'cancelled',
];

/** Whether a run may exist after this answer to a create. */
export function mayHaveStarted({ kind }: Answer): boolean {
	return MAY_HAVE_STARTED.includes(kind);
}

/** Says in a user's words what an answer other than `ok` means. */
export function failureOf(answer: Answer, subject: Subject): Failure {
	const { kind, status, serviceError, requestId, reason } = answer;
	const byKind = BY_KIND[kind === 'ok' ? 'foreign' : kind];
	const known = serviceError && Object.hasOwn(BY_CODE, serviceError.code);
	const { message, description } = ((known && BY_CODE[serviceError.code]) || byKind)(subject);
	const isInDoubt = subject.startsRun && mayHaveStarted(answer);

	return {
		// Of a failed item that the workflow goes on with, the message is all that is left.
		message: [
			message,
			subject.runId !== undefined && !message.includes(subject.runId) && ` (run ${subject.runId})`,
			isInDoubt && ' (a run may have been started)',
		]
			.filter(Boolean)
			.join(''),
		description: [
			isInDoubt &&
				`A run of ${agentOf(subject)} may have been started all the same. Look at the service whether the run is there before you run this item again.`,
			description,
			serviceError?.message && `The service says: ${serviceError.message}`,
			reason && `Reason: ${reason}`,
			references(answer),
		]
			.filter(Boolean)
			.join(' '),
		details: {
			...(serviceError?.code && { code: serviceError.code }),
			...(status !== undefined && { http_status: status }),
			...(requestId !== undefined && { request_id: requestId }),
			...(subject.agentId !== undefined && { agent_id: subject.agentId }),
			...(subject.runId !== undefined && { run_id: subject.runId }),
		},
	};
}

function references({ serviceError, status, requestId }: Answer): string {
	const known = [
		serviceError?.code && `code: ${serviceError.code}`,
		status !== undefined && `HTTP status: ${status}`,
		requestId && `request ID: ${requestId}`,
	].filter(Boolean);
	return known.length > 0 ? `(${known.join(', ')})` : '';
}

function addressAdvice({ baseUrl }: Subject): string {
	return baseUrl.endsWith('/api/v1')
		? "Check 'Base URL' in the credential, and whether a proxy stands between n8n and the service."
		: "The credential's 'Base URL' usually ends in /api/v1, and this one does not.";
}
