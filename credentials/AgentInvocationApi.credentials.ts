import type {
	ICredentialDataDecryptedObject,
	ICredentialTestRequest,
	ICredentialType,
	Icon,
	IHttpRequestOptions,
	INodeProperties,
} from 'n8n-workflow';

import { addApiKey, BASE_URL_REPLACEMENTS } from '../nodes/AgentInvocation/service/credential';

/** The base URL, made in an expression from what was entered, the same way as the node makes it. */
const BASE_URL = `={{ $credentials.baseUrl${BASE_URL_REPLACEMENTS.map(
	([pattern, by]) => `.replace(${pattern}, ${JSON.stringify(by)})`,
).join('')} }}`;

export class AgentInvocationApi implements ICredentialType {
	name = 'agentInvocationApi';

	displayName = 'Agent Invocation API';

	icon: Icon = {
		light: 'file:../icons/agentInvocation.svg',
		dark: 'file:../icons/agentInvocation.dark.svg',
	};

	documentationUrl = 'https://github.com/agent-invocation/n8n-nodes-agent-invocation#credential';

	properties: INodeProperties[] = [
		{
			displayName: 'Base URL',
			name: 'baseUrl',
			type: 'string',
			default: '',
			required: true,
			placeholder: 'e.g. https://agents.example.com/api/v1',
			description:
				"The service's address. https:// is added if it is missing, and /api/v1 if there is no path. This node sends the key there and nowhere else.",
			hint: 'If the test says ENOTFOUND, n8n cannot find this host: check its spelling. If it says ECONNREFUSED, nothing answers there: check the port.',
		},
		{
			displayName: 'API Key',
			name: 'apiKey',
			type: 'string',
			typeOptions: { password: true },
			default: '',
			required: true,
			description: "Your organization's API key. It can use all of its published agents.",
			hint: 'An admin creates it in the service under Settings, API Key, where it is shown once',
		},
	];

	// A function rather than an expression, which would cost n8n 2 half a millisecond for each request.
	async authenticate(
		credential: ICredentialDataDecryptedObject,
		request: IHttpRequestOptions,
	): Promise<IHttpRequestOptions> {
		return addApiKey(credential, request);
	}

	// n8n checks the answer against these rules. For a host that cannot be reached, it shows its own message.
	test: ICredentialTestRequest = {
		request: {
			baseURL: BASE_URL,
			url: '/agents',
			qs: { limit: 1 },
			disableFollowRedirect: true,
		},
		rules: [
			...Object.entries({
				401: 'The service does not accept this API key. It is mistyped, or it was revoked or regenerated: ask an admin for the current key (in the service under Settings, API Key).',
				404: 'There is no agent invocation service at this Base URL. Its address usually ends in /api/v1.',
				429: 'The service answers, but the rate limit of this API key is exceeded right now. Try again in a minute.',
				500: 'The service answers, but could not process the request. Try again in a minute.',
				502: 'A proxy answered instead of the service. Try again in a minute, or ask the people who run the service.',
				503: 'The service is not available right now. Try again in a minute.',
			}).map(([status, message]) => responseRule(Number(status), message)),
			...[301, 302, 303, 307, 308].map((status) =>
				responseRule(
					status,
					'This Base URL redirects to another address. The redirect is not followed, since the API key would be sent along. Enter the final address (often https instead of http).',
				),
			),
			// A web page has no field 'agents'.
			{
				type: 'responseSuccessBody',
				properties: {
					key: 'agents',
					value: undefined,
					message:
						'What answers at this Base URL is not the agent invocation service. Its address usually ends in /api/v1.',
				},
			},
			// n8n's type allows rules of one kind per list; n8n itself accepts both kinds together.
		] as ICredentialTestRequest['rules'],
	};
}

function responseRule(value: number, message: string) {
	return { type: 'responseCode' as const, properties: { value, message } };
}
