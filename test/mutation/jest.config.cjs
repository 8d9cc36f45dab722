const { projects } = require('../../jest.config.js');

const unit = { ...projects.find(({ displayName }) => displayName === 'unit') };
// StrykerJS knows no projects.
delete unit.displayName;

/** Tests that look at no code, or at random, or for minutes. */
const leftOut = [
	...[
		'build',
		'crowdAtTheLimit',
		'fuzz',
		'imports',
		'keySearch',
		'links',
		'load',
		'memory',
		'pages',
		'planted',
		'processes',
		'quotaOfRuns',
		'sharedKey',
	],
	...['simulation', 'words'],
];

/** What n8n-core loads and no test here uses: half of the time that a file of tests takes to load. */
const unused = [
	...['@langchain/core', '@modelcontextprotocol', '@n8n/backend-network', '@n8n/blob-storage'],
	...['@n8n/client-oauth2', 'axios', 'fast-glob', 'form-data', 'https-proxy-agent', 'jsonwebtoken'],
	...['langsmith', 'ssh2', 'transliteration', 'undici'],
];

/** The unit tests, as StrykerJS takes them. */
module.exports = {
	...unit,
	testTimeout: 60_000,
	// No test here turns more, but for one that says so.
	globals: { MOST_TIMERS: 5_000, MOST_STEPS: 50_000 },
	testPathIgnorePatterns: [`/unit/(${leftOut.join('|')})\\.test`],
	moduleNameMapper: {
		'^n8n-workflow$': require.resolve('./n8n-workflow.cjs'),
		[`^(${unused.join('|')})(/.*)?$`]: require.resolve('./nothing.cjs'),
	},
	testEnvironment: require.resolve('./environment.cjs'),
	runner: require.resolve('./runner.cjs'),
};
