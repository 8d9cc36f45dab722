import type {
	IAuthenticateGeneric,
	ICredentialTestRequest,
	ICredentialType,
	Icon,
	INodeProperties,
} from 'n8n-workflow';

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
			description: "The service's address. The key is sent there and nowhere else.",
			hint: 'It ends in /api/v1',
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

	authenticate: IAuthenticateGeneric = {
		type: 'generic',
		properties: { headers: { 'x-api-key': '={{ $credentials.apiKey.trim() }}' } },
	};

	// n8n compares the answer with these rules; a host that cannot be reached gets n8n's own message.
	test: ICredentialTestRequest = {
		request: {
			baseURL: '={{ $credentials.baseUrl.trim().replace(/\\/+$/, "") }}',
			url: '/agents',
			qs: { limit: 1 },
			disableFollowRedirect: true,
		},
		rules: [
			...Object.entries({
				401: 'The service does not accept this API key. It is mistyped, or was revoked or regenerated: ask an admin for the present one (Settings, API Key).',
				404: 'No agent invocation service at this Base URL. Its address ends in /api/v1.',
				429: 'The service is reached, but the rate limit of this API key is exceeded right now. Try again in a minute.',
				500: 'The service is reached, but could not process the request. Try again in a minute.',
				502: 'A proxy answered in place of the service. Try again in a minute, or ask whoever runs the service.',
				503: 'The service is not available right now. Try again in a minute.',
			}).map(([status, message]) => responseRule(Number(status), message)),
			...[301, 302, 303, 307, 308].map((status) =>
				responseRule(
					status,
					'The Base URL redirects to another address, which is not followed, since the key would go along. Enter the final address (often https in place of http).',
				),
			),
			// A web page has no agents.
			{
				type: 'responseSuccessBody',
				properties: {
					key: 'agents',
					value: undefined,
					message:
						'Something else than the agent invocation service answers at this Base URL. Its address ends in /api/v1.',
				},
			},
			// n8n's type knows lists of one kind only, n8n itself both kinds together.
		] as ICredentialTestRequest['rules'],
	};
}

function responseRule(value: number, message: string) {
	return { type: 'responseCode' as const, properties: { value, message } };
}
