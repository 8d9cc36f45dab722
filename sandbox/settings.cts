import type { SandboxAgent } from './agents.cts';

/** How the sandbox behaves where the interface document says 'not shown', and under load. */
export interface Settings {
	/** Keys that are accepted; any other is `invalid_api_key`. */
	apiKeys: string[];
	/** How many agents the organization has in all; those beyond the named ones are fillers. */
	agentCount: number;
	/** Agents that stand before all others in the list. */
	moreAgents: SandboxAgent[];
	/** The names of agents that were renamed, by ID. */
	agentNames: Record<number, string>;
	/** `limit` when the request has none. */
	defaultLimit: number;
	/** A page never holds more than this, whatever was asked for. */
	largestPage: number;
	/** Added to the true `total`. */
	totalOffBy: number;
	agentOrder: 'ascending' | 'descending';
	/** For how long, in ms, the status endpoint says `pending`; 0 for never. */
	pendingMs: number;
	/** What becomes of a create without a required parameter. */
	missingRequired: 'reject' | 'accept';
	/** The undocumented codes of section 4.2 and 8. */
	badConfigurationCode: string;
	missingParameterCode: string;
	dryRun: { status: 200 | 202; shape: 'object' | 'text' };
	/** Whether a cancelled run has a `completed_at`. */
	cancelledHasEnd: boolean;
	/** For how long, in ms, a run that was just created is `run_not_found`. */
	notFoundMs: number;
	/** Requests a key may make in `windowMs`; 0 for no limit. */
	rateLimit: {
		requests: number;
		windowMs: number;
		retryAfter: 'none' | 'seconds' | 'date';
		body: 'envelope' | 'empty';
	};
}

export const defaultSettings: Settings = {
	apiKeys: ['sandbox-key'],
	agentCount: 130,
	moreAgents: [],
	agentNames: {},
	defaultLimit: 50,
	largestPage: 100,
	totalOffBy: 0,
	agentOrder: 'ascending',
	pendingMs: 200,
	missingRequired: 'reject',
	badConfigurationCode: 'agent_configuration_invalid',
	missingParameterCode: 'missing_parameter',
	dryRun: { status: 200, shape: 'object' },
	cancelledHasEnd: true,
	notFoundMs: 0,
	rateLimit: { requests: 0, windowMs: 1_000, retryAfter: 'seconds', body: 'envelope' },
};
