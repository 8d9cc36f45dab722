import type { Failure } from '../failure';

/** What a request is for. It decides after which answers the request is retried. */
export type Purpose = 'read' | 'create' | 'createRetryingServerErrors' | 'firstPoll' | 'poll';

/** How a request is retried: until its deadline, or a few times. */
type Retry = 'untilDeadline' | 'briefly';

/** What a user reads about an answer. */
export type Explanation = Pick<Failure, 'message' | 'description'>;

interface Row extends Explanation {
	/** Whether a run may exist after this answer to a create. */
	mayHaveStarted: boolean;
	/** The purposes for which the request is sent again; for all others the answer is final. */
	retried: Partial<Record<Purpose, Retry>>;
	/** Whether the service has judged what was asked of it: asked again, it would say the same. */
	isVerdict?: boolean;
	/** Whether the address may be wrong, so that advice about its usual form helps. */
	isOfAddress?: boolean;
}

const REJECTED: Explanation = {
	message: 'The service rejected the request',
	description: 'Check the values in this node, and the agent itself at the service.',
};

const FOREIGN = {
	message: 'The answer did not come from the agent invocation service',
	description: '',
	isOfAddress: true,
};

const CHECK_THE_WAY =
	'If it keeps happening, check the network, and any proxy between n8n and the service.';

/** Once the service has shown a run, it is polled until the wait's time limit, whatever gets in the way. */
const POLLED = { poll: 'untilDeadline' } as const;
const POLLED_FROM_THE_FIRST = { ...POLLED, firstPoll: 'untilDeadline' } as const;
const SOON_GIVEN_UP_AT_FIRST = { ...POLLED, firstPoll: 'briefly' } as const;

const readOrCreated = (how: Retry) =>
	({ read: how, create: how, createRetryingServerErrors: how }) as const;

const REDIRECTED = {
	retried: POLLED,
	message: 'The address redirects to another one, which the node does not follow',
	description:
		'If it did, the API key would be sent there too. Enter the final address (often the same with https instead of http).',
	isOfAddress: true,
};

/**
 * The kinds of answers, and all that follows from each.
 *
 * - A create is retried only if the first one surely started nothing, or after a server error if the user wants
 *   that. The service has no idempotency key, so a run started twice stays started twice.
 * - A run is polled until the wait's time limit: a temporary failure never ends the wait for a healthy run.
 *   Before the service has shown that run even once, an address that cannot be reached or trusted, or
 *   that answers with somebody else's page or a redirect, is more likely wrong than failing for a moment.
 */
const KINDS = {
	/** A 2xx with the shape that was asked for, in `body`. No error is made of it; every row has texts. */
	ok: { mayHaveStarted: true, isVerdict: true, retried: {}, ...FOREIGN },
	/** The service's own error envelope, with a status below 500 or a code that the interface lists; or any 401. */
	rejected: { mayHaveStarted: false, isVerdict: true, retried: {}, ...REJECTED },
	/** The service does not know the run. If it has shown the run before, the instance that answered may not know it yet. */
	unknownRun: {
		mayHaveStarted: false,
		isVerdict: true,
		retried: { poll: 'briefly' },
		...REJECTED,
	},
	/** Any other 4xx in the service's own error envelope. The interface does not promise that it started nothing. */
	unlisted: { mayHaveStarted: true, isVerdict: true, retried: {}, ...REJECTED },
	/** 429. */
	rateLimited: {
		mayHaveStarted: false,
		retried: { ...POLLED_FROM_THE_FIRST, ...readOrCreated('untilDeadline') },
		message: "The service's rate limit was exceeded for longer than the node may wait",
		description: 'Try again later, or run fewer workflows at a time with the same API key.',
	},
	/** Not sent, since its turn would have come too late (see `Turn` in rateLimiter.ts). */
	late: {
		mayHaveStarted: false,
		retried: POLLED_FROM_THE_FIRST,
		message: 'The service accepted no further requests for longer than the node may wait',
		description: 'Try again later.',
	},
	/** 5xx, with or without an envelope. */
	serverError: {
		mayHaveStarted: true,
		retried: {
			...POLLED_FROM_THE_FIRST,
			read: 'briefly',
			createRetryingServerErrors: 'briefly',
		},
		message: 'The service, or a proxy in front of it, could not process the request',
		description: "If it keeps happening, contact the service's support.",
	},
	/**
	 * An answer that the service itself never gives: a 4xx without its error envelope, or a 2xx of another
	 * shape than the endpoint's. It comes from something in between.
	 */
	foreign: { mayHaveStarted: true, retried: SOON_GIVEN_UP_AT_FIRST, ...FOREIGN },
	/** Any other 3xx. No redirect is followed, since the API key would go along. */
	redirect: { mayHaveStarted: false, ...REDIRECTED },
	/**
	 * A 303: the request was carried out, and its result is elsewhere (RFC 9110, section 15.4.4). Many servers
	 * say the same by a 302.
	 */
	seeOther: { mayHaveStarted: true, ...REDIRECTED },
	/** No connection was made, so the service has seen nothing. */
	notConnected: {
		mayHaveStarted: false,
		retried: { ...SOON_GIVEN_UP_AT_FIRST, ...readOrCreated('briefly') },
		message: 'No connection to the service could be made',
		description:
			"Check the host and port of the credential's 'Base URL', and that n8n can reach it from where it runs.",
	},
	/** The request may or may not have reached the service. */
	connectionLost: {
		mayHaveStarted: true,
		retried: { ...POLLED_FROM_THE_FIRST, read: 'briefly' },
		message: 'The connection to the service was lost before its answer was complete',
		description: CHECK_THE_WAY,
	},
	/** No complete answer came in time. The request may or may not have reached the service. */
	timedOut: {
		mayHaveStarted: true,
		retried: { ...POLLED_FROM_THE_FIRST, read: 'briefly' },
		message: 'The service did not answer in time',
		description: CHECK_THE_WAY,
	},
	/** The two sides could not agree on a secure connection, so nothing was sent. */
	notSecured: {
		mayHaveStarted: false,
		retried: POLLED,
		message: 'No secure connection to the service could be made',
		description:
			"Check the host and port of the credential's 'Base URL', and whether it must begin with http:// instead of https://. The service may also ask for a certificate of n8n's own.",
	},
	/** The server's certificate was not accepted, so nothing was sent. */
	notTrusted: {
		mayHaveStarted: false,
		retried: POLLED,
		message: "The service's certificate is not trusted",
		description:
			"Check 'Base URL' in the credential. If your organization issues its own certificates, whoever runs n8n can set NODE_EXTRA_CA_CERTS to the file of the certificate that signs them.",
	},
	/** n8n could not send the request, for example because it cannot read the credential at the moment. */
	notSent: {
		mayHaveStarted: false,
		retried: SOON_GIVEN_UP_AT_FIRST,
		message: 'n8n could not send the request',
		description: "Check this node's credential, and whether n8n may reach its address.",
	},
	/** The credential is gone, or belongs to another address than the one that the node began with. */
	credentialChanged: {
		mayHaveStarted: false,
		retried: {},
		message: "This node's credential no longer exists, or its Base URL has changed",
		description:
			"The runs continue where they were started. To get their results, use 'Get a run' with a credential for that address.",
	},
	/** The execution was cancelled while the request was under way. */
	cancelled: {
		mayHaveStarted: true,
		retried: {},
		message: 'The execution was canceled during a request to the service',
		description: 'Nothing more was sent.',
	},
	/** The request was given up before it was sent, or it started nothing and its answer is not needed any more. */
	aborted: {
		mayHaveStarted: false,
		retried: {},
		message: 'The node ended before this request was sent',
		description: 'Nothing was started.',
	},
} as const satisfies Record<string, Row>;

export type AnswerKind = keyof typeof KINDS;

/** What follows from each kind of answer. */
export const answerKinds: Record<AnswerKind, Row> = KINDS;

/** Whether a run may have been started by a create with such an answer, which does not say so. */
export function leavesDoubt({ kind }: { kind: AnswerKind }): boolean {
	const { mayHaveStarted, isVerdict } = answerKinds[kind];
	return mayHaveStarted && !isVerdict && kind !== 'cancelled';
}
