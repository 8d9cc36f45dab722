const shared = {
	rootDir: __dirname,
	testEnvironment: '<rootDir>/test/support/environment.cjs',
	moduleFileExtensions: ['cts', 'ts', 'js', 'mjs', 'cjs', 'json', 'node'],
	transform: {
		'\\.c?ts$': ['ts-jest', { tsconfig: 'tsconfig.tooling.json', diagnostics: false }],
	},
};

// The node runs in the tests' own process.
const inProcess = { ...shared, setupFiles: ['<rootDir>/test/support/startedLongAgo.cts'] };

module.exports = {
	// Against tests that hang: a slow machine must not fail one.
	testTimeout: 900_000,
	testSequencer: '<rootDir>/test/support/waitingBesideBusy.cjs',
	// Of one file's tests in real hosts, of which each starts its own.
	maxConcurrency: 3,
	projects: [
		{ ...inProcess, displayName: 'unit', testMatch: ['<rootDir>/test/unit/**/*.test.cts'] },
		{ ...inProcess, displayName: 'engine', testMatch: ['<rootDir>/test/engine/**/*.test.cts'] },
		{ ...shared, displayName: 'e2e', testMatch: ['<rootDir>/test/e2e/**/*.test.cts'] },
		{ ...shared, displayName: 'faults', testMatch: ['<rootDir>/test/faults/**/*.test.cts'] },
		{ ...shared, displayName: 'queue', testMatch: ['<rootDir>/test/queue/**/*.test.cts'] },
		{ ...shared, displayName: 'browser', testMatch: ['<rootDir>/test/browser/**/*.test.cts'] },
	],
};
