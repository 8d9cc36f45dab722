import { sentences, type Failure } from '../failure';
import { nameRun, shorten, withoutPeriod } from '../wording';
import type { Answer } from './answer';
import { answerKinds, type Explanation } from './answerKinds';
import { isErrorCode, type ErrorCode, type ParameterBinding, type ServiceError } from './types';

/** What a request was about, as far as it is known. */
export interface Subject {
	agentId?: number;
	runId?: string;
	/** What was sent as the agent's parameters. */
	bindings?: ParameterBinding[];
	/** Whether the request was to start a run, so that one may exist whatever was answered. */
	startsRun?: boolean;
	/** The credential's base URL, for advice about its usual form. */
	baseUrl: string;
}

const nameAgent = ({ agentId }: Subject) =>
	agentId === undefined ? 'the agent' : `agent ${agentId}`;
const capitalizedAgentOf = (subject: Subject) =>
	nameAgent(subject).replace(/^./, (letter) => letter.toUpperCase());

type SaysOfError = (subject: Subject, error: ServiceError) => Explanation;

const REJECTED_KEY: Explanation = {
	message: 'The service does not accept the API key',
	description:
		"It may be mistyped, or was revoked or regenerated. Ask an admin of your organization for the current key (in the service under Settings, API Key; it is shown once, when it is created) and enter it in this node's credential.",
};

/** What is said about the error codes that the interface documents. */
export const explanationsByCode: Record<ErrorCode, SaysOfError> = {
	missing_api_key: () => ({
		message: 'The service received no API key',
		description:
			"Open this node's credential and enter your organization's API key in 'API Key'. If there is a proxy between n8n and the service, it must let the x-api-key header pass.",
	}),
	invalid_api_key: () => REJECTED_KEY,
	agent_not_found: (subject) => ({
		message: `${capitalizedAgentOf(subject)} was not found`,
		description:
			"It does not exist, is not published, or belongs to another organization than the API key in the credential. Choose an agent from the list in 'Agent'.",
	}),
	run_not_found: () => ({
		message: 'The run was not found',
		description:
			"If you entered its ID, check the ID, and make sure that 'Agent' is the agent that the run was created with. Also check that the API key in the credential belongs to the same organization.",
	}),
	unknown_parameter: (subject, error) => {
		const culprit = culpritOf(subject, error, ({ name }) => [name]);
		return {
			message: culprit
				? `${capitalizedAgentOf(subject)} has no parameter '${shorten(culprit.name)}'`
				: `${capitalizedAgentOf(subject)} does not have one of the parameters`,
			description:
				"This node shows the names of the agent's parameters below 'Parameters'. If the agent was changed, choose 'Refresh parameter list' there.",
		};
	},
	invalid_parameter_value: (subject, error) => {
		const culprit = culpritOf(subject, error, ({ name, value }) => [name, value]);
		return {
			message: culprit
				? `Parameter '${shorten(culprit.name)}' of ${nameAgent(subject)} cannot be '${shorten(culprit.value)}'`
				: `A parameter's value is not one that ${nameAgent(subject)} knows`,
			description: "The value must exactly match one of the parameter's options at the service.",
		};
	},
	internal_error: () => ({
		message: 'The service could not process the request',
		description: "If it keeps happening, contact the service's support with the request ID.",
	}),
};

/** Says in a user's words what an answer other than `ok` means. */
export function explainAnswer(answer: Answer, subject: Subject): Failure {
	const { kind, status, serviceError, requestId, reason } = answer;
	const { agentId, runId, startsRun } = subject;
	const { message, description } = explain(answer, subject);
	const isInDoubt = startsRun && answerKinds[kind].mayHaveStarted;
	const isRun = agentId !== undefined && runId !== undefined;
	const said = serviceError?.message ?? '';
	const details = {
		code: serviceError?.code || undefined,
		http_status: status,
		request_id: requestId,
		agent_id: agentId,
		run_id: runId,
	};
	return {
		message: `${message}${isInDoubt ? ' (a run may have been started)' : ''}${isRun ? nameRun({ agentId, runId }) : ''}`,
		description: sentences(
			isInDoubt &&
				`A run of ${nameAgent(subject)} may have been started all the same. Before you run this item again, check at the service whether the run is there.`,
			description,
			said !== '' && withoutPeriod(said) !== message && `The service says: ${said}`,
			reason && `Reason: ${reason}`,
		),
		details: Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined)),
	};
}

function explain({ kind, status, serviceError }: Answer, subject: Subject): Explanation {
	const { code = '', message = '' } = serviceError ?? {};
	const byCode = isErrorCode(code) ? explanationsByCode[code] : undefined;
	// A request that was not sent carries another request's error, whose code says nothing about this one.
	if (byCode && serviceError && kind !== 'late') return byCode(subject, serviceError);
	// By the interface, a 401 always means this.
	if (status === 401) return REJECTED_KEY;
	const ofGateway = serviceError ? undefined : ofGateways[status ?? 0];
	if (ofGateway) return ofGateway;
	// A request that was not sent because of a 429 is explained like the 429.
	const row = answerKinds[kind === 'late' && status === 429 ? 'rateLimited' : kind];
	if (status === 404 && serviceError && !serviceError.isPartial) {
		return {
			message: 'The service did not find what was asked for',
			description: addressAdvice(subject),
		};
	}
	return {
		// A 400 may be a bad configuration, whose code is not documented: the service knows best what is wrong.
		message: (status === 400 && withoutPeriod(message)) || row.message,
		description: sentences(row.description, row.isOfAddress && addressAdvice(subject)),
	};
}

const TOO_LARGE: Explanation = {
	message: 'The request is too large for the service, or for a proxy in front of it',
	description: "Give the agent's parameters shorter values.",
};

/** What is said about statuses that only something between n8n and the service gives. */
const ofGateways: Record<number, Explanation> = {
	403: {
		message: 'A firewall or a proxy in front of the service refused the request',
		description:
			"Check 'Base URL' in the credential. If it is right, whoever runs the firewall can let n8n's address pass.",
	},
	407: {
		message: 'The proxy that n8n uses asks for a user name and a password',
		description: "Whoever runs n8n can add them to its setting 'HTTPS_PROXY' or 'HTTP_PROXY'.",
	},
	413: TOO_LARGE,
	414: TOO_LARGE,
	431: TOO_LARGE,
};

function addressAdvice({ baseUrl }: Subject): string {
	return baseUrl.endsWith('/api/v1')
		? "Check 'Base URL' in the credential, and whether a proxy stands between n8n and the service."
		: "The credential's 'Base URL' usually ends in /api/v1, and this one does not.";
}

/** How much of a message is looked at for quotations, in UTF-16 units. */
const LOOKED_AT = 2_000;

const QUOTATION = /(?<!\w)(['"`])(.+?)\1(?!\w)/gs;

/** A quotation of what is wrong, and not of what would be right. */
const QUOTED_PARAMETER = /\b(?:parameter|name|value|unknown|invalid|wrong):?\s*['"`]/i;

/** A quotation of what would be right. */
const QUOTED_EXPECTATION = /\b(?:expected|valid|known|allowed|only)\b[^'"`]*['"`]/i;

/**
 * The parameter that the service means: the only one whose name or value its message mentions, if it quotes nothing
 * else. If several were given, it must be quoted as a parameter, since any word may be a name.
 *
 * @param textsOf what the message may mention of a parameter
 */
function culpritOf(
	{ bindings = [] }: Subject,
	{ message }: ServiceError,
	textsOf: (binding: ParameterBinding) => string[],
): ParameterBinding | undefined {
	const mentioned = bindings.filter((one) => textsOf(one).some((text) => mentions(message, text)));
	const [culprit] = mentioned;
	if (!culprit || mentioned.length > 1) return undefined;
	const { name, value } = culprit;
	const lookedAt = message.slice(0, LOOKED_AT);
	const quoted = [...lookedAt.matchAll(QUOTATION)].map(([, , text]) => text);
	const isQuoted = quoted.length > 0 && QUOTED_PARAMETER.test(lookedAt);
	if ((bindings.length > 1 && !isQuoted) || QUOTED_EXPECTATION.test(lookedAt)) return undefined;
	return quoted.every((text) => text === name || text === value) ? culprit : undefined;
}

/** Whether a text stands in a message, and not only within another word. */
function mentions(message: string, text: string): boolean {
	const isOfWord = (character = '') => /[\p{L}\p{N}_]/u.test(character);
	if (text === '') return false;
	for (let at = message.indexOf(text); at >= 0; at = message.indexOf(text, at + 1)) {
		if (!isOfWord(message[at - 1]) && !isOfWord(message[at + text.length])) return true;
	}
	return false;
}
