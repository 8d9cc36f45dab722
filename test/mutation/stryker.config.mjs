/**
 * What decides about money and loss, mutated; the unit tests have to see it.
 *
 * @type {import('@stryker-mutator/api/core').PartialStrykerOptions}
 */
export default {
	testRunner: 'jest',
	jest: { configFile: 'test/mutation/jest.config.cjs' },
	coverageAnalysis: 'perTest',
	mutate: [
		'nodes/AgentInvocation/{parking,runs,service}/*.ts',
		'nodes/AgentInvocation/resources/processItems.ts',
		'nodes/AgentInvocation/resources/run/{itemWait,parameters,startRun}.ts',
	],
	ignorePatterns: ['dist', 'docs', 'screenshots'],
	// A mutant without an end has all of the tests' own time, and this.
	timeoutFactor: 1.2,
	timeoutMS: 5_000,
	concurrency: 2,
	incremental: true,
	incrementalFile: 'test/mutation/results.json',
	reporters: ['clear-text', 'json'],
	jsonReporter: { fileName: 'test/mutation/results.json' },
	cleanTempDir: 'always',
};
