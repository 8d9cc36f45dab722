import { fail, sentences, type Failed, type Failure } from '../result';
import type { Answer } from './answer';
import { answerKinds, type Says, type Subject } from './answerKinds';

const named = (what: string, id?: number | string) => (id === undefined ? what : `${what} ${id}`);
const agentOf = ({ agentId }: Subject) =>
	agentId === undefined ? 'the agent' : `agent ${agentId}`;

// The error codes that `sandbox/openapi.yaml` lists.
const BY_CODE: Record<string, Says> = {
	missing_api_key: {
		message: 'The service received no API key',
		description:
			"Open this node's credential and enter your organization's API key in 'API Key'. If a proxy stands between n8n and the service, it must let the x-api-key header pass.",
	},
	invalid_api_key: {
		message: 'The service does not accept the API key',
		description:
			"It is mistyped, or was revoked or regenerated. Ask an admin of your organization for the present key (in the service under Settings, API Key; it is shown once, when it is created) and enter it in this node's credential.",
	},
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
	internal_error: {
		message: 'The service could not process the request',
		description: 'Try again in a moment. If it stays, contact support with the request ID.',
	},
};

/** Fails with what an answer other than `ok` means, in a user's words. */
export function failWith(answer: Answer, subject: Subject): Failed {
	return fail(explainAnswer(answer, subject));
}

/** Says in a user's words what an answer other than `ok` means. */
export function explainAnswer(answer: Answer, subject: Subject): Failure {
	const { kind, status, serviceError, requestId, reason } = answer;
	const code = serviceError?.code ?? '';
	const says = (Object.hasOwn(BY_CODE, code) && BY_CODE[code]) || answerKinds[kind].says;
	const { message, description } = typeof says === 'function' ? says(subject) : says;
	const isInDoubt = subject.startsRun && answerKinds[kind].mayHaveStarted;

	return {
		// Of a failed item that the workflow goes on with, the message is all that is left.
		message: [
			message,
			subject.runId !== undefined && !message.includes(subject.runId) && ` (run ${subject.runId})`,
			isInDoubt && ' (a run may have been started)',
		]
			.filter(Boolean)
			.join(''),
		description: sentences(
			isInDoubt &&
				`A run of ${agentOf(subject)} may have been started all the same. Look at the service whether the run is there before you run this item again.`,
			description,
			serviceError?.message && `The service says: ${serviceError.message}`,
			reason && `Reason: ${reason}`,
			references(answer),
		),
		details: {
			...(code && { code }),
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
