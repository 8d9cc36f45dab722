/** What the editor calls the node's fields, by the names under which n8n stores them. */
export const labels: Partial<Record<string, string>> = {
	agentId: 'Agent',
	dryRun: 'Dry Run',
	limit: 'Limit',
	options: 'Options',
	parameterPairs: 'Parameters',
	parameters: 'Parameters',
	parametersJson: 'Parameters (JSON)',
	returnAll: 'Return All',
	runId: 'Run ID',
	specifyParameters: 'Specify Parameters',
	waitForCompletion: 'Wait for Completion',
};
