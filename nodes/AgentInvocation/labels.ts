/** What the editor calls the node's fields and options, by the names under which n8n stores them. */
export const labels: Partial<Record<string, string>> = {
	agentId: 'Agent',
	checkFirst: 'Check All Items First',
	dryRun: 'Dry Run',
	filter: 'Filter',
	limit: 'Limit',
	maxConcurrency: 'Max Concurrency',
	offset: 'Offset',
	onTimeout: 'If Time Limit Is Reached',
	onUnsuccessfulRun: 'If Run Does Not Succeed',
	options: 'Options',
	outputFormat: 'Output Format',
	parameterPairs: 'Parameters',
	parameters: 'Parameters',
	parametersJson: 'Parameters (JSON)',
	pollInterval: 'Poll Interval (Seconds)',
	retryCreateOnServerError: 'Retry Create on Server Error',
	returnAll: 'Return All',
	runId: 'Run ID',
	specifyParameters: 'Specify Parameters',
	timeout: 'Time Limit (Seconds)',
	waitForCompletion: 'Wait for Completion',
	whereToWait: 'Where to Wait',
};

/**
 * What the editor calls a field or an option.
 *
 * @param name as n8n stores it; that of an option may begin with `options.`
 */
export function labelOf(name: string): string {
	return labels[name.replace(/^options\./, '').replace(/\..*/, '')] ?? name;
}
